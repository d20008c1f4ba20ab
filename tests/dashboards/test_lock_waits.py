"""Waits for locks in the panels of the database's log: empty where not reported, inferred as in `walltime show`."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterator
from typing import Any

import pytest
from shop.services import fast_folder
from walltime_collector.query.transaction.slow_log_join import join_statements
from walltime_collector.query.transaction.wording import server_times

from dashboards.source import sql
from tests.dashboards.conftest import Grafana
from tests.dashboards.grafana import Range
from tests.servers import Collector, eventually

MS = 1_000_000
TRACE_ID = "ab" * 16
COMMENT = f"/*traceparent='00-{TRACE_ID}-00000000000000a1-01'*/"
COMPUTED = (
    *("likely_row_lock_ns", "locked_ns", "disk_ns", "computing_ns", "rest_ns"),
    *("is_disk_known", "is_cpu_known", "fields['thread_waits'] = 'divided' AS is_disk_divided"),
    "mapContains(fields, 'cut') AS is_cut",
)
MARIADB = """# Time: 261121  9:39:29
# User@Host: shop[shop] @  [127.0.0.1]
# Thread_id: 4  Schema: shop  QC_hit: No
# Query_time: {query}  Lock_time: {lock}  Rows_sent: 3  Rows_examined: 8
# Rows_affected: 0  Bytes_sent: 199
# Pages_accessed: {pages}  Pages_read: 0  Pages_prefetched: 0  Pages_updated: 0  Old_rows_read: 0
# Pages_read_time: {read}  Engine_time: {engine}
# Full_scan: No  Full_join: No  Tmp_table: No  Tmp_table_on_disk: No
SET timestamp={at};
SELECT {name} FROM carts WHERE id = 7 FOR UPDATE {comment};
"""
PERCONA = """# Time: 2026-11-21T05:38:04.123456Z
# User@Host: app[app] @  [10.0.0.7]  Id:   99
# Schema: shop  Last_errno: 0  Killed: 0
# Query_time: 1.000000  Lock_time: 0.000002  Rows_sent: 1  Rows_examined: 2  Rows_affected: 3  Bytes_sent: 4
#   InnoDB_IO_r_ops: 3  InnoDB_IO_r_bytes: 49152  InnoDB_IO_r_wait: 0.012345
#   InnoDB_rec_lock_wait: {row_lock}  InnoDB_queue_wait: 0.000000
#   InnoDB_pages_distinct: 2
SET timestamp={at};
SELECT {name} FROM bar {comment};
"""
MYSQL = """# Time: 2026-11-21T05:38:04.123456Z
# User@Host: root[root] @ localhost [127.0.0.1]  Id:    12
# Query_time: 0.250000  Lock_time: 0.100000 Rows_sent: 7  Rows_examined: 70
SET timestamp={at};
SELECT mysql FROM foo {comment};
"""
MYSQL_WITH_MORE = """# Time: 2026-11-21T07:38:05.000001+02:00
# User@Host: root[root] @ localhost [127.0.0.1]  Id:    12
# Query_time: 0.002000  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 1 Thread_id: 12 Errno: 0 Killed: 0 \
Bytes_received: 30 Bytes_sent: 64 Read_first: 1 Sort_rows: 0 Created_tmp_disk_tables: 0 Created_tmp_tables: 0 \
Start: 2026-11-21T07:38:04.999999+02:00 End: 2026-11-21T07:38:05.000000+02:00
SET timestamp={at};
SELECT mysql_with_more FROM foo {comment};
"""


def logged(at: int) -> str:
    def mariadb(
        name: str, query: str, engine: str, *, pages: int = 6, read: str = "0.0000", lock: str = "0.000531"
    ) -> str:
        values = {"query": query, "engine": engine, "pages": pages, "read": read, "lock": lock}
        return MARIADB.format(**values, name=name, at=at, comment=COMMENT)

    return "".join(
        (
            mariadb("waits", "0.470000", "469.2000"),
            mariadb("works", "0.004000", "3.9000"),
            mariadb("reads", "0.600000", "599.0000", read="597.0000"),
            mariadb("scans", "0.600000", "599.0000", pages=5_000),
            mariadb("longer_in_the_engine_than_at_all", "0.300000", "9000.0000"),
            PERCONA.format(name="percona_waits", row_lock="0.900000", at=at, comment=COMMENT),
            PERCONA.format(name="percona_does_not", row_lock="0.000000", at=at, comment=COMMENT),
            MYSQL.format(at=at, comment=COMMENT),
            MYSQL_WITH_MORE.format(at=at, comment=COMMENT),
        )
    )


@pytest.fixture(scope="module")
def log() -> Iterator[Grafana]:
    folder = fast_folder()
    slow_log = folder / "slow.log"
    slow_log.touch()
    try:
        with Collector(folder / "collector", clickhouse_http="127.0.0.1:0", slow_log=f"db={slow_log}") as collector:
            url = "http://" + re.findall(r"clickhouse=(\S+)", collector.ready)[0]
            now_s = int(time.time())
            asked = Grafana(url, ("grafana", ""), Range(now_s - 86_400, now_s + 86_400, interval_s=60))
            slow_log.write_text(logged(now_s))
            eventually(lambda: asked.ask_raw("SELECT count() FROM slow_queries").rows == [[9]], 30)
            yield Grafana(url, ("grafana", ""), Range(now_s - 366 * 86_400, now_s + 366 * 86_400, interval_s=3600))
    finally:
        shutil.rmtree(folder)


OF_REQUEST = sql("transaction/slow_queries")
OF_STATEMENTS = sql("statements/slowest")


def by_statement(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {re.findall(r"select (\w+)", row["statement"].lower())[0]: row for row in rows}


def of_request(log: Grafana) -> dict[str, dict[str, Any]]:
    return by_statement(log.ask(OF_REQUEST, "3.3", {"trace_id": TRACE_ID}).by_name())


def test_a_wait_for_a_row_lock_that_mariadb_does_not_report_is_inferred(log: Grafana) -> None:
    rows = of_request(log)
    assert rows["waits"]["row lock"] is None
    assert rows["waits"]["likely row lock"] == pytest.approx(469.2 * MS - 6 * 0.2 * MS)
    assert rows["waits"]["lock wait"] == pytest.approx(0.531 * MS)
    for name in ("works", "reads", "scans"):
        assert (rows[name]["row lock"], rows[name]["likely row lock"]) == (None, None), name
    assert rows["longer_in_the_engine_than_at_all"]["likely row lock"] == pytest.approx(300 * MS - 6 * 0.2 * MS)


def test_what_a_server_reports_is_shown_even_when_it_is_0_and_the_rest_is_empty(log: Grafana) -> None:
    rows = of_request(log)
    assert rows["percona_waits"]["row lock"] == 900 * MS
    assert rows["percona_does_not"]["row lock"] == 0
    assert rows["mysql"]["row lock"] is None
    assert rows["mysql"]["lock wait"] == 100 * MS
    assert {rows[name]["likely row lock"] for name in ("percona_waits", "percona_does_not", "mysql")} == {None}
    assert rows["mysql"]["io wait"] is None
    assert {name: row["changed"] for name, row in rows.items() if row["changed"] != 0} == {
        "percona_waits": 3,
        "percona_does_not": 3,
        "mysql": None,
        "mysql_with_more": None,
    }
    assert rows["waits"]["io wait"] == 0
    assert rows["reads"]["io wait"] == 597 * MS


def test_the_board_of_statements_has_all_waits_for_locks_in_one_column(log: Grafana) -> None:
    rows = by_statement(log.ask(OF_STATEMENTS).by_name())
    assert rows["waits"]["in locks"] == pytest.approx(0.531 * MS + 469.2 * MS - 6 * 0.2 * MS)
    assert rows["percona_waits"]["in locks"] == 900 * MS
    assert rows["mysql"]["in locks"] == 100 * MS
    assert (rows["reads"]["io wait"], rows["mysql"]["io wait"]) == (597 * MS, None)


def test_the_panel_infers_what_walltime_show_infers(log: Grafana) -> None:
    entries = log.ask_raw(f"SELECT *, {', '.join(COMPUTED)} FROM slow_queries").by_name()
    shown = {each.text: each.server.likely_row_lock_ns or None for each in join_statements((), entries)[1]}
    rows = log.ask(OF_REQUEST, "4", {"trace_id": TRACE_ID}).by_name()
    texts = {entry["fingerprint"]: entry["sample"] for entry in entries}
    assert {texts[row["statement"]]: row["likely row lock"] for row in rows} == shown
    assert len([wait for wait in shown.values() if wait]) == 2


def test_the_parts_of_a_statement_add_up_and_what_is_not_measured_is_the_rest(log: Grafana) -> None:
    entries = log.ask_raw(f"SELECT *, {', '.join(COMPUTED)} FROM slow_queries").by_name()
    sides = {re.findall(r"SELECT (\w+)", each.text)[0]: each.server for each in join_statements((), entries)[1]}
    for name, side in sides.items():
        assert side.locked_ns + side.disk_ns + side.computing_ns + side.rest_ns == side.query_ns, name
    said = {name: server_times(side) for name, side in sides.items()}
    assert said["waits"] == ": 468 ms in the engine, most likely for a row lock"
    assert said["reads"] == ": 597 ms for the disk"
    assert said["percona_waits"] == ": 900 ms waited for a row lock, 12.3 ms for the disk, at most 87.7 ms on a CPU"
    assert said["mysql"] == ": 100 ms waited for locks, at most 150 ms on a CPU or for the disk"
    assert said["mysql_with_more"] == ""
