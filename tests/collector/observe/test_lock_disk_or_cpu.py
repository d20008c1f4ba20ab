"""
The article's question about one statement, at real servers: did it wait for a row lock, for the disk, or compute?

MySQL is asked over a connection; MariaDB says it in its slow log. Their tables are on a disk, larger than the buffer
pool, and read past the page cache of the kernel.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pymysql
import pytest
from shop.services import MariaDB, ProgramMissingError

from tests.mysql_server import MysqlServer
from tests.servers import Collector, eventually, over_http

TIMES = pytest.mark.parametrize("times", [1, pytest.param(20, marks=pytest.mark.nightly)])
HELD_S = 0.05
ROWS = 24_000
COLD: Mapping[str, str] = {"innodb_buffer_pool_size": "6M", "innodb_flush_method": "O_DIRECT"}
NAMES = ("mysql", "mariadb")
_numbers = itertools.count(1)


@dataclass
class Observed:
    collector: Collector
    servers: Mapping[str, MariaDB]

    def provoke(self, server: str, sort: str, times: int) -> Sequence[str]:
        """Trace ids of statements that did this."""
        traces = []
        with pymysql.connect(**self.servers[server].account(), autocommit=True) as connection:
            for _ in range(times):
                number = next(_numbers)
                traces.append(f"{number:032x}")
                comment = f"/*traceparent='00-{traces[-1]}-00000000000000a1-01'*/"
                with connection.cursor() as cursor:
                    _PROVOKE[sort](self.servers[server], cursor, number, comment)
        return traces

    def stored(self, traces: Sequence[str]) -> Mapping[str, Mapping[str, int]]:
        """What the table has of these, by trace id."""
        columns = "lower(hex(trace_id)) AS trace, query_ns, locked_ns, row_lock_ns, disk_ns, computing_ns, rest_ns"
        columns += ", is_disk_known, is_cpu_known"
        listed = ", ".join(f"unhex('{each}')" for each in traces)
        sql = f"SELECT {columns} FROM slow_queries WHERE trace_id IN ({listed}) LIMIT 1000"
        answer: dict[str, Any] = over_http("POST", f"{self.collector.web_url}/api/sql", json={"sql": sql}).json()
        names = [column["name"] for column in answer["columns"]]
        return {row[0]: dict(zip(names[1:], row[1:], strict=True)) for row in answer["rows"]}

    def said(self, server: str, sort: str, times: int) -> list[Mapping[str, int]]:
        """The row of each, which is there once."""
        traces = self.provoke(server, sort, times)
        eventually(lambda: len(self.stored(traces)) == times)
        return list(self.stored(traces).values())


def lock(server: MariaDB, cursor: Any, _: int, comment: str) -> None:
    with pymysql.connect(**server.account()) as holder:
        holder.cursor().execute("SELECT id FROM big WHERE id = 21 FOR UPDATE")
        release = threading.Timer(HELD_S, holder.rollback)
        release.start()
        cursor.execute(f"UPDATE big SET k = k WHERE id = 21 {comment}")
        release.join()


def disk(_: MariaDB, cursor: Any, number: int, comment: str) -> None:
    first = number * 997 % 90_000
    between = f"k BETWEEN {first} AND {first + 1_500}"
    cursor.execute(f"SELECT SUM(LENGTH(a)) FROM big FORCE INDEX (k) WHERE {between} {comment}")


def cpu(_: MariaDB, cursor: Any, number: int, comment: str) -> None:
    cursor.execute(f"SELECT BENCHMARK(60000, SHA2('{number}', 512)) {comment}")


def metadata(server: MariaDB, cursor: Any, _: int, comment: str) -> None:
    with pymysql.connect(**server.account()) as holder:
        holder.cursor().execute("LOCK TABLES small WRITE")
        release = threading.Timer(HELD_S, lambda: holder.cursor().execute("UNLOCK TABLES"))
        release.start()
        cursor.execute(f"SELECT COUNT(*) FROM small {comment}")
        release.join()


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
            settings = {"mysql": f"mysql=mysql://admin@{mysql.address}", "mysql_password": mysql.admin_password}
            with Collector(folder / "data", **settings, slow_log=f"mariadb={mariadb.slow_log}") as collector:
                yield Observed(collector, dict(zip(NAMES, (mysql, mariadb), strict=True)))
    except ProgramMissingError as missing:
        pytest.skip(str(missing))


def fill(server: MariaDB) -> None:
    with server.admin() as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE shop.big (id INT PRIMARY KEY AUTO_INCREMENT, a VARCHAR(500), k INT, KEY(k))")
        cursor.execute("CREATE TABLE shop.small (id INT PRIMARY KEY)")
        for first in range(0, ROWS, 2_000):
            values = ", ".join(f"(REPEAT('x', 450), {at * 7_919 % 100_000})" for at in range(first, first + 2_000))
            cursor.execute(f"INSERT INTO shop.big (a, k) VALUES {values}")


@TIMES
@pytest.mark.parametrize("server", NAMES)
@pytest.mark.parametrize(("sort", "part"), [("lock", "locked_ns"), ("disk", "disk_ns")])
def test_a_wait_for_a_row_or_for_the_disk_is_the_largest_part(
    observed: Observed, server: str, sort: str, part: str, times: int
) -> None:
    for row in observed.said(server, sort, times):
        assert row["locked_ns"] + row["disk_ns"] + row["computing_ns"] + row["rest_ns"] == row["query_ns"]
        assert row[part] > row["query_ns"] / 2, row


@TIMES
@pytest.mark.parametrize("server", NAMES)
def test_computing_is_the_largest_part(observed: Observed, server: str, times: int) -> None:
    for row in observed.said(server, "cpu", times):
        # MariaDB logs no time on a CPU: it is the rest
        part = "computing_ns" if server == "mysql" else "rest_ns"
        assert bool(row["is_cpu_known"]) == (server == "mysql")
        if server == "mariadb":
            assert row[part] > row["query_ns"] / 2, row
        else:
            assert row[part] > row["locked_ns"] + row["disk_ns"], row
            assert row[part] > HELD_S * 1e9 / 10


@TIMES
def test_a_metadata_lock_and_what_is_neither_are_told_apart(observed: Observed, times: int) -> None:
    for row in observed.said("mysql", "metadata", times):
        assert row["locked_ns"] > row["query_ns"] / 2, row
        assert row["row_lock_ns"] < row["locked_ns"] / 2
    for row in observed.said("mysql", "sleep", times):
        assert row["rest_ns"] > row["query_ns"] / 2, row
        assert row["is_disk_known"] and row["is_cpu_known"]
