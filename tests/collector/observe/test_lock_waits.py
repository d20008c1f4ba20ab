"""Who holds a lock: requests of an instrumented application wait for each other, and the collector names the holder."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pymysql
import pytest
from shop.services import OBSERVED, MariaDB
from walltime_collector.health.counters import Health
from walltime_collector.observe.address import Address
from walltime_collector.observe.look import Lacking
from walltime_collector.observe.mysql.connection import connect
from walltime_collector.observe.mysql.locks.deadlocks import Deadlocks
from walltime_collector.observe.mysql.locks.look import LockWaits
from walltime_collector.observe.mysql.locks.wait import key_of
from walltime_collector.observe.writer import Row, Writer

from tests.collector.observe.lock_checks import SCENARIOS, Told, check, deadlocks, happened, waits_of
from tests.collector.observe.unreachable import everything_written, rows, said
from tests.mysql_server import MysqlServer
from tests.server_folder import server_folder
from tests.servers import Collector, eventually, over_http


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with server_folder() as folder:
        yield folder


@pytest.fixture(scope="module", params=["mysql", "mariadb"])
def database(request: pytest.FixtureRequest, folder: Path) -> Iterator[MariaDB]:
    server = MysqlServer(folder / "mysql") if request.param == "mysql" else MariaDB(folder / "mariadb", **OBSERVED)
    with server:
        yield server


@pytest.fixture(scope="module")
def collector(database: MariaDB, folder: Path) -> Iterator[Collector]:
    with Collector(
        folder / f"data-{database.name}",
        mysql=f"mysql://admin@{database.address}",
        mysql_password=database.admin_password,
    ) as running:
        eventually(lambda: not said(running).get(database.address, ("not yet", ""))[0])
        yield running


@pytest.fixture(scope="module")
def of_today(collector: Collector, database: MariaDB) -> Told:
    """Each scenario once, by one process."""
    every = happened(collector, database, ",".join((*SCENARIOS, "deadlock", "ring")), 1)
    return {name: [each for each in every if each["scenario"] == name] for name in (*SCENARIOS, "deadlock", "ring")}


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_request_that_holds_the_lock_is_named(
    collector: Collector, database: MariaDB, of_today: Told, scenario: str
) -> None:
    found = check(collector, of_today[scenario])
    sorts = {"metadata": "metadata", "table": "table"}
    assert {row[3] for row in found} == {sorts.get(scenario, "row")}
    assert {row[4] for row in found} == {"shop.stock"}
    longest = max(found, key=lambda row: row[7])
    assert (longest[7] > 0.2) == (scenario != "working")
    if scenario == "working" and "SLEEP" not in longest[8]:
        # a busy machine looked once, between two statements of the holder
        longest = max(check(collector, happened(collector, database, scenario, 3)), key=lambda row: row[8])
    assert ("SLEEP" in longest[8]) == (scenario == "working")


def test_who_commits_between_the_two_questions_of_a_look_was_idle(
    database: MariaDB, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[Row] = []
    look = LockWaits(database.address, cast("Any", SimpleNamespace(add=lambda _, added: written.extend(added))))
    update = f"UPDATE parcels SET n = n + 1 /*traceparent='00-{'5' * 32}-{'6' * 16}-01'*/"
    admin = Address("", "mysql", "127.0.0.1", database.port, "admin", database.admin_password)
    with (
        closing(connect(admin)) as link,
        pymysql.connect(**database.account()) as holder,
        pymysql.connect(**database.account()) as waiter,
        ThreadPoolExecutor(1) as pool,
    ):
        with holder.cursor() as cursor:
            cursor.execute("CREATE TABLE IF NOT EXISTS parcels (n INT)")
            cursor.execute("INSERT INTO parcels VALUES (1)")
            holder.commit()
            cursor.execute(update)
        waits = pool.submit(waiter.cursor().execute, "UPDATE parcels SET n = 5")
        time.sleep(0.3)
        look.opened(link)
        read = look._sessions.read

        def late(*asked: Any) -> Any:
            holder.commit()
            waits.result()
            return read(*asked)

        monkeypatch.setattr(look._sessions, "read", late)
        while not written:
            look.look(link)
    row = written[0]
    assert (row["holder_running"], row["holder_trace_id"]) == ("", "5" * 32)
    assert row["holder_statement"] == "UPDATE parcels SET n = n + ?"
    assert row["holder_idle_ns"] > 250_000_000


@pytest.mark.nightly
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_holder_is_right_in_20_of_20(collector: Collector, database: MariaDB, scenario: str) -> None:
    check(collector, happened(collector, database, scenario, 20))


def test_a_deadlock_names_both_requests(collector: Collector, of_today: Told) -> None:
    deadlocks(collector, of_today["deadlock"])


def test_a_deadlock_of_three_is_a_ring_and_is_written_alike_after_a_restart(
    collector: Collector, database: MariaDB, of_today: Told
) -> None:
    traces = {each["waiter"]: each["holder"] for each in of_today["ring"]}

    def found() -> list[list[Any]]:
        columns = "lower(hex(trace_id)), lower(hex(holder_trace_id)), connection_id, toString(started_at)"
        stored = rows(collector, f"SELECT {columns} FROM lock_waits FINAL WHERE sort = 'deadlock'")
        return [row for row in stored if row[0] in traces]

    eventually(lambda: len(found()) == 3)
    assert {row[0]: row[1] for row in found()} == traces
    again: list[Row] = []
    look = Deadlocks(database.address, cast("Any", SimpleNamespace(add=lambda _, added: again.extend(added))))
    with closing(connect(Address("", "mysql", "127.0.0.1", database.port, "admin", database.admin_password))) as link:
        look.opened(link)
        look.look(link)
    same = [each for each in again if each.get("sort") == "deadlock"]
    assert {(each["connection_id"], round(float(each["started_at"]) % 60, 3)) for each in same} == {
        (row[2], float(row[3].rpartition(":")[2])) for row in found()
    }


@pytest.mark.parametrize(
    ("data", "key"),
    [
        ("21", "21"),
        ("21, -4", "21, -4"),
        ("'al@x.de', 22", "?, 22"),
        ("'a, 55, b', 22", "?, 22"),
        ("'it''s, 4', 7", "?, 7"),
        ("'cut, 1234", "?"),
        ("0x8000000000000015, 3", "?, 3"),
        ("12.5", "?"),
        ("supremum pseudo-record", "supremum pseudo-record"),
        (None, ""),
    ],
)
def test_of_a_key_only_whole_numbers_are_kept(data: str | None, key: str) -> None:
    assert key_of(data) == key


@pytest.mark.nightly
def test_both_requests_are_right_in_20_of_20_deadlocks(collector: Collector, database: MariaDB) -> None:
    deadlocks(collector, happened(collector, database, "deadlock", 20))


def test_show_says_who_held_the_lock_and_whom_it_held_up(collector: Collector, of_today: Told) -> None:
    (told,) = of_today["idle"]
    waits_of(collector, [told])

    def bill(trace: str) -> Any:
        answer = over_http("GET", f"{collector.web_url}/api/transactions/{trace}").json()
        return answer["transactions"][0] if "transactions" in answer else {"lock_waits": [{"other_service": ""}]}

    eventually(lambda: bill(told["waiter"])["lock_waits"][0]["other_service"] == "shop")
    (waited,) = bill(told["waiter"])["lock_waits"]
    (held,) = bill(told["holder"])["lock_waits"]
    assert (waited["is_holder"], waited["other_trace_id"], waited["other_name"]) == (
        False,
        told["holder"],
        "POST /checkout",
    )
    assert (held["is_holder"], held["other_trace_id"], held["key"]) == (True, told["waiter"], "1")
    page = over_http("GET", f"{collector.web_url}/transactions/{told['waiter']}").text
    assert f"/transactions/{told['holder']}" in page
    assert "for a row of stock (PRIMARY 1) held by" in page
    command = [Path(sys.executable).with_name("walltime"), "show", told["holder"], "--url", collector.web_url]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert re.search(r"held up 1 request for .* in all\n +for .*, with a row of stock \(PRIMARY 1\), idle in", printed)


def test_the_page_of_the_server_lists_waits_with_their_holders(
    collector: Collector, database: MariaDB, of_today: Told
) -> None:
    waits_of(collector, of_today["idle"])

    def page() -> str:
        return over_http("GET", f"{collector.web_url}/servers/mysql.query/{database.address}").text

    eventually(lambda: "who held the lock" in page() and ">POST /checkout</a>" in page(), 20)


def test_nothing_secret_is_written(collector: Collector, of_today: Told) -> None:
    for told in of_today.values():
        waits_of(collector, told)
    for where, content in everything_written(collector):
        assert b"s3cret" not in content, where


def test_without_performance_schema_show_finds_an_idle_holder_by_its_connection(folder: Path) -> None:
    with MariaDB(folder / "bare", "bare") as bare:
        with bare.admin() as admin, admin.cursor() as cursor:
            cursor.execute("INSTALL SONAME 'metadata_lock_info'")
        settings = {"mysql": f"mysql://admin@{bare.address}", "mysql_password": bare.admin_password}
        with Collector(folder / "data-bare", **settings) as collector:
            eventually(lambda: said(collector).get(bare.address, ("", ""))[1])
            assert "performance_schema=ON" in said(collector)[bare.address][1]
            every = happened(collector, bare, "idle,metadata", 1, OTEL_TRACES_SAMPLER_ARG="1")
            found = waits_of(collector, every)
            assert [(row[1], row[3], row[4]) for row in found] == [
                ("0" * 32, "row", "shop.stock"),
                ("0" * 32, "metadata", "shop.stock"),
            ]

            def is_named(told: dict[str, Any]) -> bool:
                answer = over_http("GET", f"{collector.web_url}/api/transactions/{told['waiter']}").json()
                (bill,) = answer.get("transactions", ({"lock_waits": ()},))
                named = [(each["other_trace_id"], each["other_name"]) for each in bill["lock_waits"]]
                return named == [(told["holder"], "POST /checkout")]

            for told in every:
                eventually(partial(is_named, told), 20)


def test_what_the_account_may_not_do_is_said_with_the_grant(database: MariaDB) -> None:
    with database.admin() as admin, admin.cursor() as cursor:
        cursor.execute("CREATE USER 'weak'@'127.0.0.1' IDENTIFIED BY 'w34k'")
        needed = ["GRANT PROCESS ON *.* TO 'weak'@'127.0.0.1'"]
        needed += ["GRANT SELECT ON performance_schema.* TO 'weak'@'127.0.0.1'"] * (database.name == "mysql")
        for grant in needed:
            look = LockWaits(database.address, Writer(cast("Any", None), Health()))
            with closing(connect(Address("weak", "mysql", "127.0.0.1", database.port, "weak", "w34k"))) as connection:
                with pytest.raises(Lacking) as lacking:
                    look.opened(connection)
                assert grant in str(lacking.value)
            cursor.execute(grant)
        with closing(connect(Address("weak", "mysql", "127.0.0.1", database.port, "weak", "w34k"))) as connection:
            look.opened(connection)
            look.look(connection)
            deadlocks = Deadlocks(database.address, look.writer)
            deadlocks.opened(connection)
            deadlocks.look(connection)
