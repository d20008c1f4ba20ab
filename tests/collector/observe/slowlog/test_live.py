"""A real MariaDB, its slow log, and a collector that follows it: every entry joins, none is lost, none comes twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pymysql
import pytest
import walltime
from pymysql.cursors import Cursor
from shop.services import MariaDB

from tests.servers import Collector, CollectorDied, eventually, over_http
from tests.slowness import stretched

WALLTIME = Path(sys.executable).with_name("walltime")


@pytest.fixture(scope="module", autouse=True)
def stock(mariadb: MariaDB) -> None:
    with mariadb.admin() as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE stock (id INT PRIMARY KEY, amount INT, name VARCHAR(100))")
        cursor.executemany("INSERT INTO stock VALUES (%s, %s, %s)", [(at, at, f"name {at}") for at in range(200)])


@pytest.fixture(autouse=True)
def empty_log(mariadb: MariaDB) -> None:
    """Each test begins with a log of its own, begun by the server."""
    log = mariadb.slow_log
    assert log is not None
    log.unlink(missing_ok=True)
    with mariadb.admin() as admin, admin.cursor() as cursor:
        cursor.execute("FLUSH SLOW LOGS")


@pytest.fixture
def collector(mariadb: MariaDB, tmp_path: Path) -> Iterator[Collector]:
    with Collector(tmp_path / "data", slow_log=f"db={mariadb.slow_log}") as running:
        yield running


@pytest.fixture
def instrumented(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    monkeypatch.setenv("WALLTIME_TESTING_RAISE", "1")
    walltime.configure(service_name="shop", endpoint=collector.otlp_url, sample_probability=1.0)
    walltime.instrument()
    yield collector
    walltime.uninstrument()
    walltime.shutdown()


def ask(collector: Collector, path: str) -> Any:
    return over_http("GET", f"{collector.web_url}{path}").json()


def digest(collector: Collector) -> Any:
    return ask(collector, "/api/digest?since=all&limit=1000")


def entries_in(*logs: Path) -> int:
    """Counted as one would by hand."""
    return sum(log.read_bytes().count(b"\n# Query_time: ") for log in logs)


def wait_for_entries(collector: Collector, *logs: Path) -> None:
    deadline_s = time.monotonic() + 60
    while (stored := digest(collector)["entries"]) < (logged := entries_in(*logs)):
        assert time.monotonic() < deadline_s, f"{stored} of {logged} are stored; {collector.health()} {collector.log()}"
        time.sleep(0.3)


def settle(cursor: Cursor, log: Path) -> None:
    """Until all that was run here before is in the log: the server writes an entry after it has answered."""
    before = log.read_bytes().count(b"\nDO 0")
    cursor.execute("DO 0")
    eventually(lambda: log.read_bytes().count(b"\nDO 0") > before)


@contextmanager
def connected(mariadb: MariaDB) -> Iterator[pymysql.connections.Connection[Any]]:
    connection = pymysql.connect(**mariadb.account())
    try:
        yield connection
    finally:
        connection.close()


def test_every_statement_the_sdk_sends_joins_its_transaction(mariadb: MariaDB, instrumented: Collector) -> None:
    assert mariadb.slow_log is not None
    with mariadb.admin() as admin, admin.cursor() as cursor:
        cursor.execute("SELECT 1")
    before = entries_in(mariadb.slow_log)
    sent, transactions = 0, 150
    with connected(mariadb) as connection, connection.cursor() as cursor:
        for at in range(transactions):
            with walltime.transaction(f"GET /page/{at % 3}"):
                cursor.execute(
                    "SELECT * FROM stock WHERE id = %s AND name <> %s", (at, "it's /* no 'comment' */; \n# Time:")
                )
                cursor.execute("SELECT COUNT(*) FROM stock WHERE id IN %s", ([1, 2, at],))
                cursor.execute("REPLACE INTO stock VALUES (%s, %s, %s);", (1000 + at, None, "x"))
                cursor.executemany("REPLACE INTO stock VALUES (%s, %s, %s)", [(2000 + at, 1, "y"), (3000 + at, 2, "z")])
                if at % 10 == 0:
                    with pytest.raises(pymysql.err.ProgrammingError):
                        cursor.execute("SELECT * FROM no_such_table")
                connection.commit()
                sent += 5 + (at % 10 == 0)
        settle(cursor, mariadb.slow_log)
    assert walltime.flush(60)
    wait_for_entries(instrumented, mariadb.slow_log)
    instrumented.wait_until_loaded(instrumented.health()["spans"]["received"])
    answer = digest(instrumented)
    assert answer["entries"] == entries_in(mariadb.slow_log)
    logged = entries_in(mariadb.slow_log) - before
    of_sdk = [each["server"] for each in answer["statements"] if each["server"] and each["server"]["joined"]]
    joined = sum(each["joined"] for each in of_sdk)
    assert joined == sent
    outside = 4  # sent outside a transaction: SET NAMES and SET AUTOCOMMIT of connecting, DO 0, Quit
    assert joined >= 0.999 * (logged - outside)
    # the application's fingerprint is the log's, for all statements with text of their own
    both = {each["fingerprint"] for each in answer["statements"] if each["client"] and each["server"]}
    assert both == {
        "select * from stock where id = ? and name <> ?",
        "select count(*) from stock where id in(?+)",
        "replace into stock values(?+)",
        "select * from no_such_table",
    }
    for each in answer["statements"]:
        if each["fingerprint"] in both:
            assert each["client"]["calls"] == each["server"]["calls"] == each["server"]["joined"]
            assert {sender["name"] for sender in each["senders"]} <= {"GET /page/0", "GET /page/1", "GET /page/2"}
    replaced = next(each for each in answer["statements"] if each["fingerprint"].startswith("replace"))
    assert replaced["client"]["calls"] == 2 * transactions
    assert replaced["server"]["rows_affected"] == 3 * transactions


def test_a_wait_for_a_row_lock_is_shown_as_long_as_the_database_says(mariadb: MariaDB, instrumented: Collector) -> None:
    def row_lock_ms() -> int:
        with mariadb.admin() as admin, admin.cursor() as cursor:
            cursor.execute("SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_time'")
            row = cursor.fetchone()
            assert row is not None
            return int(row[1])

    def is_waiting() -> bool:
        with mariadb.admin() as admin, admin.cursor() as cursor:
            # Not information_schema.innodb_trx: asked more often than every 0.1 s, it never changes its answer.
            cursor.execute("SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_current_waits'")
            return bool(cursor.fetchone() == ("Innodb_row_lock_current_waits", "1"))

    trace_ids: list[str] = []

    def check_out() -> None:
        with walltime.transaction("POST /checkout"), connected(mariadb) as connection, connection.cursor() as cursor:
            trace_ids.append(walltime.current().request_id)
            for at in range(3):
                cursor.execute("SELECT amount FROM stock WHERE id = %s", (at,))
            cursor.execute("UPDATE stock SET amount = amount - %s WHERE id = %s", (2, 7))
            connection.commit()

    before_ms = row_lock_ms()
    with mariadb.admin() as blocker, blocker.cursor() as cursor:
        blocker.begin()
        cursor.execute("UPDATE stock SET amount = 5 WHERE id = 7")
        waiter = threading.Thread(target=check_out)
        waiter.start()
        eventually(is_waiting)
        time.sleep(0.3)
        blocker.commit()
        waiter.join(10)
    database_says_ns = (row_lock_ms() - before_ms) * 1_000_000
    assert database_says_ns > 300_000_000
    walltime.flush()
    path = f"/api/transactions/{trace_ids[0]}"

    def is_read_to_its_end() -> bool:
        answer = ask(instrumented, path)
        return "error" not in answer and "COMMIT" in {each["text"] for each in answer["transactions"][0]["logged"]}

    eventually(is_read_to_its_end)
    bill = ask(instrumented, path)["transactions"][0]
    update = next(each for each in bill["statements"] if each["text"].startswith("UPDATE"))
    side = update["server"]
    assert side["entries"] == side["calls"] == 1
    limit_ns = stretched(0.005) * 1e9
    assert abs(side["likely_row_lock_ns"] - database_says_ns) <= limit_ns
    assert abs(side["query_ns"] - database_says_ns) <= limit_ns
    assert side["network_ns"] == update["time_ns"] - side["query_ns"] >= 0
    select = next(each for each in bill["statements"] if each["text"].startswith("SELECT"))
    assert (select["server"]["entries"], select["server"]["calls"]) == (3, 3)
    assert select["server"]["rows_examined"] == 3
    assert select["server"]["likely_row_lock_ns"] == 0
    queries = [call for call in bill["calls"] if call["component"] == "mysql.query"]
    assert [call["server"]["entries"] for call in queries] == [1] * 4
    assert queries[3]["server"]["query_ns"] == side["query_ns"]
    assert "COMMIT" in {each["text"] for each in bill["logged"]}
    shown = subprocess.run(
        [WALLTIME, "show", trace_ids[0], "--url", instrumented.web_url], capture_output=True, text=True, check=True
    ).stdout
    assert "most likely for a row lock" in shown
    assert "network and driver" in shown


class Load:
    """Statements without an end, on two connections, while the block runs."""

    def __init__(self, mariadb: MariaDB) -> None:
        self._mariadb, self._stop = mariadb, threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(number,)) for number in range(2)]

    def __enter__(self) -> None:
        for each in self._threads:
            each.start()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for each in self._threads:
            each.join(10)

    def _run(self, number: int) -> None:
        with self._mariadb.admin() as connection, connection.cursor() as cursor:
            at = 0
            while not self._stop.wait(0.004):
                at += 1
                cursor.execute("SELECT name FROM stock WHERE id = %s /* %s */", (at, f"load {number}"))


def test_rotation_under_load_loses_nothing(mariadb: MariaDB, collector: Collector) -> None:
    log = mariadb.slow_log
    assert log is not None
    with Load(mariadb), mariadb.admin() as admin, admin.cursor() as cursor:
        for rotation in range(1, 5):
            time.sleep(0.5)
            log.rename(log.with_name(f"slow.log.{rotation}"))
            time.sleep(0.2)
            cursor.execute("FLUSH SLOW LOGS")
    logs = [log, *(log.with_name(f"slow.log.{rotation}") for rotation in range(1, 5))]
    wait_for_entries(collector, *logs)
    time.sleep(1.2)  # nothing more comes
    assert digest(collector)["entries"] == entries_in(*logs)
    assert "slow_log_gaps" not in collector.health()["counts"]
    for each in logs[1:]:
        each.unlink()


@pytest.mark.nightly
def test_a_truncated_log_is_read_from_its_new_beginning(mariadb: MariaDB, collector: Collector) -> None:
    log = mariadb.slow_log
    assert log is not None
    with mariadb.admin() as admin, admin.cursor() as cursor:
        for _ in range(20):
            cursor.execute("SELECT 'before'")
        settle(cursor, log)
        before = entries_in(log)
        wait_for_entries(collector, log)
        os.truncate(log, 0)
        for _ in range(20):
            cursor.execute("SELECT 'after', 1")
        settle(cursor, log)
    eventually(lambda: digest(collector)["entries"] >= before + entries_in(log))
    counted = {each["fingerprint"]: each["server"]["entries"] for each in digest(collector)["statements"]}
    assert counted["select ?, ?"] == 20


@pytest.mark.parametrize(
    "crashpoint",
    [
        pytest.param("", marks=pytest.mark.nightly),
        pytest.param("slow_log_journal_written", marks=pytest.mark.nightly),
        "slow_log_inserted",
    ],
)
def test_a_collector_killed_while_following_neither_loses_nor_doubles(
    mariadb: MariaDB, tmp_path: Path, crashpoint: str
) -> None:
    log = mariadb.slow_log
    assert log is not None
    with Load(mariadb):
        for turn in range(2):
            try:
                collector = Collector(tmp_path / "data", slow_log=str(log), crashpoint=crashpoint)
            except CollectorDied:  # there already, before it was ready
                assert crashpoint
                continue
            if crashpoint:
                eventually(lambda: collector.process.poll() is not None)  # noqa: B023 in the same turn
            else:
                time.sleep(0.7 + turn * 0.13)
            collector.kill()
    with Collector(tmp_path / "data", slow_log=str(log)) as collector:
        wait_for_entries(collector, log)
        time.sleep(1.2)  # nothing more comes
        assert digest(collector)["entries"] == entries_in(log)


def test_a_log_that_is_not_there_is_said_once_and_read_when_it_is(tmp_path: Path) -> None:
    log = tmp_path / "slow.log"
    with Collector(tmp_path / "data", slow_log=f"nowhere={log}") as collector:
        eventually(lambda: collector.health()["slow_logs"] == {str(log): "it does not exist yet"})
        time.sleep(2)
        assert collector.log().count("it does not exist yet") == 1
        assert collector.health()["ok"]
        log.write_text(
            "# User@Host: a[a] @ h []\n# Query_time: 1.5  Lock_time: 0  Rows_sent: 1  Rows_examined: 4\n"
            "select 'secret';\n"
        )
        eventually(lambda: digest(collector)["entries"] == 1)
        assert collector.health()["slow_logs"] == {str(log): ""}
        (statement,) = digest(collector)["statements"]
        assert statement["fingerprint"] == "select ?"
        assert statement["server"]["time_ns"] == 1_500_000_000
        assert "secret" not in json.dumps(digest(collector))
