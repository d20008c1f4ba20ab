"""A collector that reads a real server twice: from performance_schema and from its slow log; both say the same."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pymysql
import pytest
import walltime
from shop.services import MariaDB

from tests.collector.clickhouse.engine_processes import engines_of
from tests.mysql_server import MysqlServer, kind_of
from tests.server_folder import server_folder
from tests.servers import Collector, CollectorDied, eventually, over_http
from tests.unpacked import OTHER_MARIADB

OPTIONS: Any = {
    "performance_schema": "ON",
    "performance_schema_consumer_events_statements_history_long": "ON",
    "performance_schema_consumer_events_statements_current": "ON",
}
LONG = "x" * 2_000


@pytest.fixture(scope="module", params=["mysql", pytest.param("mariadb", marks=pytest.mark.nightly), *OTHER_MARIADB])
def server(request: pytest.FixtureRequest) -> Iterator[MariaDB]:
    with (
        server_folder() as folder,
        kind_of(request.param) as kind,
        kind(folder, slow_log_s=0.0, **OPTIONS) as server,
    ):
        with server.admin() as admin, admin.cursor() as cursor:
            cursor.execute(f"USE {server.database}")
            cursor.execute("CREATE TABLE stock (id INT PRIMARY KEY, name VARCHAR(2000))")
        yield server


def ask(collector: Collector, sql: str) -> list[list[Any]]:
    rows: list[list[Any]] = over_http("POST", f"{collector.web_url}/api/sql", json={"sql": sql}).json()["rows"]
    return rows


def settings(server: MariaDB) -> dict[str, str]:
    return {
        "mysql": f"db=mysql://admin@{server.address}",
        "mysql_password": server.admin_password,
        "mysql_setup": "true",
    }


TRACED = """
SELECT fingerprint, countIf(source = 'slow_log'), countIf(source = 'performance_schema'),
    sumIf(query_ns, source = 'slow_log'), sumIf(query_ns, source = 'performance_schema')
FROM slow_queries WHERE trace_id != toFixedString('', 16) GROUP BY fingerprint
"""


def test_both_agree_and_join_the_transactions(server: MariaDB, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WALLTIME_TESTING_RAISE", "1")
    transactions = 100
    with Collector(tmp_path / "data", slow_log=f"log={server.slow_log}", **settings(server)) as collector:
        eventually(lambda: collector.health()["servers"].get("db", ["?"])[0] == "")
        walltime.configure(service_name="shop", endpoint=collector.otlp_url, sample_probability=1.0)
        walltime.instrument()
        try:
            with pymysql.connect(**server.account()) as connection, connection.cursor() as cursor:
                for at in range(transactions):
                    with walltime.transaction("GET /page"):
                        cursor.execute("SELECT SLEEP(%s)", (0.02,))
                        cursor.execute("REPLACE INTO stock VALUES (%s, %s)", (at, "small"))
                        connection.commit()
            assert walltime.flush(60)
        finally:
            walltime.uninstrument()
            walltime.shutdown()
        sent = {"select sleep(?)", "replace into stock values(?+)", "commit"}
        eventually(
            lambda: (
                {row[0]: row[1:3] for row in ask(collector, TRACED) if row[0] in sent}
                == {text: [transactions, transactions] for text in sent}
            )
        )
        by_text = {row[0]: row[3:] for row in ask(collector, TRACED)}
        logged_ns, read_ns = (sum(by_text[text][at] for text in sent) for at in (0, 1))
        # MariaDB's performance_schema also times the end of the answer and the writing of the log's entry
        more_ns = 0 if isinstance(server, MysqlServer) else 200_000 * 3 * transactions
        assert abs(read_ns - logged_ns) <= 0.01 * logged_ns + more_ns, by_text
        digest = over_http("GET", f"{collector.web_url}/api/digest?since=all&service=shop").json()
        assert digest["sources"] == ["performance_schema", "slow_log"]
        assert all(
            bool(each["server"]["cpu_ns"]) == isinstance(server, MysqlServer)
            for each in digest["statements"]
            if each["fingerprint"] in sent
        )
        # it is read twice, under two names
        eventually(lambda: ask(collector, "SELECT count() FROM transactions") == [[transactions]])
        ((trace_id,),) = ask(collector, "SELECT lower(hex(trace_id)) FROM transactions LIMIT 1")

        def joined() -> list[int]:
            """Of the statements and of the calls with the server's side: how many entries each joined."""
            shown = over_http("GET", f"{collector.web_url}/api/transactions/{trace_id}").json()["transactions"][0]
            statements = [each["server"]["entries"] for each in shown["statements"] if each["server"]]
            return statements + [each["server"]["calls"] for each in shown["calls"] if each["server"]]

        with suppress(AssertionError):
            eventually(lambda: joined() == [1, 1, 1, 1])  # calls come later than bills
        assert joined() == [1, 1, 1, 1]
        assert ask(collector, "SELECT count() FROM slow_queries WHERE server = 'db' AND user = 'admin'") == [[0]]


def test_a_statement_whose_end_is_missing_joins_its_call(
    server: MariaDB, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WALLTIME_TESTING_RAISE", "1")
    with (
        Collector(tmp_path / "data", **settings(server)) as collector,
        pymysql.connect(**server.account()) as connection,  # open until it was seen
    ):
        eventually(lambda: collector.health()["servers"].get("db", ["?"])[0] == "")
        walltime.configure(service_name="shop", endpoint=collector.otlp_url, sample_probability=1.0)
        walltime.instrument()
        try:
            with walltime.transaction("GET /long"):
                trace_id = walltime.current().request_id
                connection.query(f"SELECT id FROM stock WHERE name = '{LONG}' AND id < 5 AND SLEEP(0.002) = 0")
            assert walltime.flush(60)
        finally:
            walltime.uninstrument()
            walltime.shutdown()

        def joined() -> int:
            answer = over_http("GET", f"{collector.web_url}/api/transactions/{trace_id}").json()
            calls = [each for bill in answer.get("transactions", ()) for each in bill["calls"]]
            return sum(each["server"] is not None for each in calls)

        eventually(lambda: joined() == 1)
        assert "xxx" not in str(ask(collector, "SELECT * FROM slow_queries"))


@pytest.mark.parametrize(
    "crashpoint",
    [
        "slow_log_inserted",
        pytest.param("statements_written", marks=pytest.mark.nightly),
        pytest.param("", marks=pytest.mark.nightly),
    ],
)
def test_a_collector_that_is_killed_neither_loses_nor_doubles(server: MariaDB, tmp_path: Path, crashpoint: str) -> None:
    is_over = threading.Event()
    sent: list[str] = []
    name = f"column_{crashpoint}"

    def work() -> None:
        with pymysql.connect(**server.account(), autocommit=True) as connection, connection.cursor() as cursor:
            while not is_over.wait(0.02):
                sent.append(f"{name}_{len(sent)}")
                cursor.execute(f"SELECT 1 AS {sent[-1]}")

    worker = threading.Thread(target=work)
    worker.start()
    try:
        for _ in range(2):
            try:
                collector = Collector(tmp_path / "data", crashpoint=crashpoint, **settings(server))
            except CollectorDied:
                assert crashpoint
                continue
            if crashpoint:
                collector.process.wait(60)
            else:
                time.sleep(4)
            collector.kill()
    finally:
        is_over.set()
        worker.join()
    with Collector(tmp_path / "data", **settings(server)) as collector:
        stored = f"SELECT fingerprint, count() FROM slow_queries WHERE fingerprint LIKE '% as {name}\\_%' GROUP BY 1"
        eventually(lambda: len(ask(collector, stored)) >= len(sent))
        rows = ask(collector, stored)
        assert {text.partition(" as ")[2] for text, _ in rows} == set(sent)
        assert {count for _, count in rows} == {1}


@pytest.mark.nightly
def test_what_waits_on_disk_while_the_engine_is_down_is_stored_once(server: MariaDB, tmp_path: Path) -> None:
    """The database hangs until statements wait, and is killed in the middle of what it was asked; three times."""
    sent: list[int] = []
    with (
        Collector(tmp_path / "data", **settings(server)) as collector,
        pymysql.connect(**server.account(), autocommit=True) as connection,
        connection.cursor() as cursor,
    ):
        stored = "SELECT fingerprint, count() FROM slow_queries WHERE fingerprint LIKE '% as waiting\\_%' GROUP BY 1"

        def waiting() -> int:
            return sum(b" AS waiting_" in each.read_bytes() for each in tmp_path.glob("data/statements/*/*.journal"))

        eventually(lambda: collector.health()["servers"].get("db", ["?"])[0] == "")
        for _ in range(3):
            (process,) = engines_of(collector.process.pid)
            os.kill(process, signal.SIGSTOP)
            before = waiting()
            while waiting() < before + 2:
                cursor.execute(f"SELECT 1 AS waiting_{len(sent)}")
                sent.append(1)
                time.sleep(0.02)
            os.kill(process, signal.SIGKILL)
            eventually(lambda: len(ask(collector, stored)) == len(sent), 60)
        assert {count for _, count in ask(collector, stored)} == {1}
