"""
The article's question about one statement, at real servers: did it wait for a row lock, for the disk, or compute?

MySQL is asked over a connection; MariaDB says it in its slow log. Their tables are on a disk, larger than the buffer
pool, and read past the page cache of the kernel.
"""

from __future__ import annotations

import contextlib
import itertools
import random
import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pymysql
import pytest
from shop.services import MariaDB, ProgramMissingError
from walltime_collector.query.windows import Window, written

from tests.collector.traffic import Sent, SentCall, Value, export_request
from tests.mysql_server import MysqlServer
from tests.servers import Collector, eventually, over_http

TIMES = pytest.mark.parametrize("times", [1, pytest.param(20, marks=pytest.mark.nightly)])
HELD_S = 0.05
ROWS = 12_000
COLD: Mapping[str, str] = {"innodb_buffer_pool_size": "6M", "innodb_flush_method": "O_DIRECT"}
NAMES = ("mysql", "mariadb")
DATABASE = "db.internal:3306"
PAGE = f"{0xB2:016x}"
_numbers = itertools.count(1)


@dataclass
class Observed:
    collector: Collector
    servers: Mapping[str, MariaDB]

    def provoke(self, server: str, sorts: Sequence[str], connections: int) -> Mapping[str, Sequence[str]]:
        """Run such statements over so many connections in turn; their trace ids by sort."""
        traces: dict[str, list[str]] = {sort: [] for sort in sorts}
        with contextlib.ExitStack() as opened:
            account = self.servers[server].account()
            pool = [opened.enter_context(pymysql.connect(**account, autocommit=True)) for _ in range(connections)]
            for connection, sort in zip(itertools.cycle(pool), sorts, strict=False):
                number = next(_numbers)
                traces[sort].append(f"{number:032x}")
                comment = f"/*traceparent='00-{number:032x}-00000000000000a1-01'*/"
                with connection.cursor() as cursor:
                    _PROVOKE[sort](self.servers[server], cursor, number, comment)
            every = [each for own in traces.values() for each in own]
            eventually(lambda: len(self.stored(every)) == len(every))
        return traces

    def stored(self, traces: Sequence[str]) -> Mapping[str, Mapping[str, int]]:
        """What the table has of these, by trace id."""
        columns = "lower(hex(trace_id)) AS trace, query_ns, locked_ns, row_lock_ns, disk_ns, computing_ns, rest_ns"
        columns += ", is_disk_known, is_cpu_known"
        listed = ", ".join(f"unhex('{each}')" for each in traces)
        answer = self.asked(f"SELECT {columns} FROM slow_queries WHERE trace_id IN ({listed}) LIMIT 1000")
        names = [column["name"] for column in answer["columns"]]
        return {row[0]: dict(zip(names[1:], row[1:], strict=True)) for row in answer["rows"]}

    def counted(self, table: str) -> int:
        """How many of `pages` the table has."""
        number: int = self.asked(f"SELECT count() FROM {table} WHERE span_id = unhex('{PAGE}')")["rows"][0][0]
        return number

    def asked(self, sql: str) -> dict[str, Any]:
        answer: dict[str, Any] = over_http("POST", f"{self.collector.web_url}/api/sql", json={"sql": sql}).json()
        return answer


@contextlib.contextmanager
def held(server: MariaDB, is_waiting: str, begin: str, end: str) -> Iterator[None]:
    """Something is locked until another connection has waited for it."""

    def release() -> None:
        with server.admin() as asking, asking.cursor() as cursor:
            eventually(lambda: cursor.execute(is_waiting))
            time.sleep(HELD_S)
            holder.cursor().execute(end)

    with pymysql.connect(**server.account()) as holder:
        holder.cursor().execute(begin)
        releasing = threading.Thread(target=release)
        releasing.start()
        yield
        releasing.join()


def lock(server: MariaDB, cursor: Any, _: int, comment: str) -> None:
    is_waiting = "SELECT 1 FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'"
    with held(server, is_waiting, "SELECT id FROM big WHERE id = 21 FOR UPDATE", "ROLLBACK"):
        cursor.execute(f"UPDATE big SET k = k WHERE id = 21 {comment}")


def disk(_: MariaDB, cursor: Any, number: int, comment: str) -> None:
    first = number * 7_919 % 90_000
    between = f"k BETWEEN {first} AND {first + 3_000}"
    cursor.execute(f"SELECT SUM(LENGTH(a)) FROM big FORCE INDEX (k) WHERE {between} {comment}")


def cpu(_: MariaDB, cursor: Any, number: int, comment: str) -> None:
    cursor.execute(f"SELECT BENCHMARK(60000, SHA2('{number}', 512)) {comment}")


def metadata(server: MariaDB, cursor: Any, _: int, comment: str) -> None:
    is_waiting = "SELECT 1 FROM information_schema.processlist WHERE state LIKE 'Waiting for table metadata lock'"
    with held(server, is_waiting, "LOCK TABLES small WRITE", "UNLOCK TABLES"):
        cursor.execute(f"SELECT COUNT(*) FROM small {comment}")


def sleep(_: MariaDB, cursor: Any, number: int, comment: str) -> None:
    cursor.execute(f"SELECT SLEEP({HELD_S}), {number} {comment}")


_PROVOKE = {"lock": lock, "disk": disk, "cpu": cpu, "metadata": metadata, "sleep": sleep}


@pytest.fixture(scope="module")
def observed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Observed]:
    folder: Path = tmp_path_factory.mktemp("on-disk")
    consumers = {f"performance_schema_consumer_events_statements_{each}": "ON" for each in ("history_long", "cpu")}
    mysql = MysqlServer(folder / "mysql", **COLD, **consumers)  # type: ignore[arg-type]  # options by name
    mariadb = MariaDB(folder / "mariadb", slow_log_s=0.0, log_slow_verbosity="full", **COLD)  # type: ignore[arg-type]
    try:
        with mysql, mariadb:
            for server in (mysql, mariadb):
                fill(server)
            settings = {"mysql": f"{DATABASE}=mysql://admin@{mysql.address}", "mysql_password": mysql.admin_password}
            with Collector(folder / "data", **settings, slow_log=f"mariadb={mariadb.slow_log}") as collector:
                yield Observed(collector, dict(zip(NAMES, (mysql, mariadb), strict=True)))
    except ProgramMissingError as missing:
        pytest.skip(str(missing))


def fill(server: MariaDB) -> None:
    with server.admin() as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE shop.big (id INT PRIMARY KEY AUTO_INCREMENT, a VARCHAR(2000), k INT, KEY(k))")
        cursor.execute("CREATE TABLE shop.small (id INT PRIMARY KEY)")
        for first in range(0, ROWS, 2_000):
            values = ", ".join(f"(REPEAT('x', 1800), {at * 7_919 % 100_000})" for at in range(first, first + 2_000))
            cursor.execute(f"INSERT INTO shop.big (a, k) VALUES {values}")


@TIMES
@pytest.mark.parametrize("server", NAMES)
def test_locks_the_disk_and_computing_are_told_apart(observed: Observed, server: str, times: int) -> None:
    """Each over a connection of its own: what a thread waited is exact by default."""
    sorts = ["lock", "disk", "cpu"] * times
    check(observed, server, observed.provoke(server, sorts, len(sorts)))


@pytest.mark.nightly
def test_they_are_told_apart_on_one_connection_where_waits_are_kept_one_by_one(observed: Observed) -> None:
    sorts = ["lock", "disk", "cpu"] * 20
    random.Random(4).shuffle(sorts)
    switch = "UPDATE performance_schema.setup_consumers SET enabled = %s WHERE name LIKE '%%waits%%'"
    with observed.servers["mysql"].admin() as connection, connection.cursor() as cursor:
        cursor.execute(switch, ["YES"])
        check(observed, "mysql", observed.provoke("mysql", sorts, 1))
        cursor.execute(switch, ["NO"])


def check(observed: Observed, server: str, traces: Mapping[str, Sequence[str]]) -> None:
    for sort, own in traces.items():
        for row in observed.stored(own).values():
            assert row["locked_ns"] + row["disk_ns"] + row["computing_ns"] + row["rest_ns"] == row["query_ns"]
            assert bool(row["is_cpu_known"]) == (server == "mysql")
            assert row["is_disk_known"] or (server, sort) == ("mariadb", "cpu")  # that was not in a storage engine
            # MariaDB logs no time on a CPU: it is the rest
            parts = {"lock": row["locked_ns"], "disk": row["disk_ns"], "cpu": row["computing_ns"]}
            parts |= {"cpu": row["rest_ns"]} if server == "mariadb" else {}
            assert max(parts, key=parts.__getitem__) == sort, dict(row)


@TIMES
@pytest.mark.parametrize(("sort", "part"), [("metadata", "locked_ns"), ("sleep", "rest_ns")])
def test_a_metadata_lock_and_what_is_none_of_them_are_told_apart(
    observed: Observed, sort: str, part: str, times: int
) -> None:
    for row in observed.stored(observed.provoke("mysql", [sort] * times, times)[sort]).values():
        assert row[part] > row["query_ns"] / 2, row
        assert row["row_lock_ns"] < row["query_ns"] / 10


@pytest.mark.nightly
def test_why_names_the_disk_and_the_misses_of_the_buffer_pool(observed: Observed) -> None:
    """The same statement reads what is in the buffer pool, and then what is not; the warm-up is in neither window."""
    sent: list[Sent] = []
    pages(observed.servers["mysql"], sent, 10, is_cold=False)
    for _ in range(4):
        before = len(sent)
        usual = pages(observed.servers["mysql"], sent, 34, is_cold=False)
        if is_calm([each.duration_ns for each in sent[before:]]):
            break
    slow = pages(observed.servers["mysql"], sent, 34, is_cold=True)
    observed.collector.send(export_request(sent))
    eventually(lambda: observed.counted("slow_queries") == observed.counted("transactions") == len(sent))
    params = {"kind": sent[0].name, "during": written(slow), "against": written(usual)}
    answer = over_http("GET", f"{observed.collector.web_url}/api/why", params=params).json()
    said = [each for each in answer["findings"] if each["about"] == "other_side"]
    assert len(said) == 1, answer["sentences"]
    sentence = said[0]["sentence"]
    assert re.fullmatch(rf"That is because {DATABASE} takes longer: of \+.* waiting for the disk.*", sentence), sentence
    assert re.search(r"\(.*buffer pool misses \S+ → \S+ a second.*\)", sentence), sentence
    numbers = said[0]["evidence"]["numbers"]
    longer = {each: numbers[f"slow_{each}_ns"] - numbers[f"usual_{each}_ns"] for each in ("query", "disk")}
    assert longer["disk"] > longer["query"] / 2
    assert numbers["slow_page_misses"] > 100 > 10 * numbers["usual_page_misses"]


def is_calm(took_ns: Sequence[int]) -> bool:
    """A machine that is busy with something else for seconds makes a time that is not usual, as `why` rightly says."""
    eighth = len(took_ns) // 8
    sums = [sum(took_ns[at * eighth : (at + 1) * eighth]) for at in range(8)]
    return max(sums) < 1.5 * min(sums)


def pages(server: MariaDB, sent: list[Sent], seconds: int, *, is_cold: bool) -> Window:
    """Requests, each with one statement: about 16 a second; the time of them but for 2 s at both ends."""
    text = "SELECT SUM(LENGTH(a)) FROM big FORCE INDEX (k) WHERE k BETWEEN %s AND %s"
    start_ns, of_cold = time.time_ns(), random.Random(5)
    host, port = DATABASE.split(":")
    said: Mapping[str, Value] = {"db.query.text": text, "server.address": host, "server.port": int(port)}
    with contextlib.ExitStack() as opened:
        pool = [opened.enter_context(pymysql.connect(**server.account(), autocommit=True)) for _ in range(4)]
        while time.time_ns() < start_ns + seconds * 10**9:
            number, began_ns = next(_numbers), time.time_ns()
            first = of_cold.randrange(90_000) if is_cold else number % 3 * 400
            comment = f"/*traceparent='00-{number:032x}-{PAGE}-01'*/"
            pool[number % 4].cursor().execute(f"{text} {comment}", (first, first + 800))
            took_ns = time.time_ns() - began_ns
            call = SentCall("mysql.query", 0, took_ns, dict(said))
            sent.append(Sent(f"{number:032x}", PAGE, "GET /big", began_ns, took_ns + 1_000_000, calls=[call]))
            time.sleep(0.05)
    return Window(start_ns + 2 * 10**9, time.time_ns() - 2 * 10**9)
