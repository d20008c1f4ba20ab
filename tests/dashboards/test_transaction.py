"""One request: its bill, its calls in time, and its statements joined with the database's log as in `walltime show`."""

from __future__ import annotations

import json
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
from tests.dashboards.conftest import BUYER_TRACE_ID, Grafana
from tests.dashboards.grafana import Range
from tests.servers import Collector, eventually, over_http

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


STATEMENTS = sql("transaction/statements")
SPAN = {
    **dict.fromkeys(("traceID", "spanID", "parentSpanID", "serviceName", "operationName"), str),
    **dict.fromkeys(("startTime", "duration"), float),
    **dict.fromkeys(("tags", "serviceTags"), list),
    "kind": str,
    "statusCode": int,
}
"""What Grafana's trace panel needs; `extractFields` makes a column of each key."""


def by_statement(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {re.findall(r"select (\w+)", row["statement"].lower())[0]: row for row in rows}


def test_waits_for_locks_are_those_that_walltime_show_infers(log: Grafana) -> None:
    rows = by_statement(log.ask(STATEMENTS, "3.3", {"trace_id": TRACE_ID}).by_name())
    assert rows["waits"]["lock wait"] == pytest.approx(469.2 * MS - 6 * 0.2 * MS + 0.531 * MS)
    assert rows["percona_waits"]["lock wait"] == 900 * MS
    assert rows["mysql"]["lock wait"] == 100 * MS
    assert rows["reads"]["disk"] == 597 * MS
    entries = log.ask_raw(f"SELECT *, {', '.join(COMPUTED)} FROM slow_queries").by_name()
    shown = {each.text: each.server for each in join_statements((), entries)[1]}
    assert len(rows) == len(shown) == 9
    for name, row in rows.items():
        side = shown[row["statement"]]
        parts = (side.query_ns, side.locked_ns or None, side.disk_ns or None, side.rows_examined or None)
        assert (row["at server"], row["lock wait"], row["disk"], row["examined"]) == parts, name
        assert row["calls"] is row["time"] is row["network"] is None, "the application's side is not known"


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


def test_the_board_of_statements_has_all_waits_for_locks_in_one_column(log: Grafana) -> None:
    rows = by_statement(log.ask(sql("statements/slowest")).by_name())
    assert rows["waits"]["in locks"] == pytest.approx(0.531 * MS + 469.2 * MS - 6 * 0.2 * MS)
    assert rows["percona_waits"]["in locks"] == 900 * MS
    assert rows["mysql"]["in locks"] == 100 * MS
    assert (rows["reads"]["io wait"], rows["mysql"]["io wait"]) == (597 * MS, None)


def test_bill_calls_and_statements_are_those_of_the_page(grafana: Grafana) -> None:
    asked = {"trace_id": BUYER_TRACE_ID}
    page = over_http("GET", f"{grafana.pages}/transactions/{BUYER_TRACE_ID}.json").json()["trace"]["transactions"]
    rows = grafana.ask(sql("transaction/transactions"), "4", asked).by_name()
    assert [(row["service"], row["kind"], row["took"]) for row in rows] == [
        (bill["service"], bill["name"], bill["duration_ns"]) for bill in page
    ]
    times = {row["component"]: row["time"] for row in grafana.ask(sql("transaction/bill"), "4", asked).by_name()}
    for bill in page:
        for component in bill["components"]:
            assert times[f"{component['name']} · {bill['service']}"] == component["time_ns"]
        assert times[f"other · {bill['service']}"] == bill["other_ns"]
    calls = grafana.ask(sql("transaction/calls"), "4", asked).by_name()
    assert len(calls) == len(page) + sum(len(bill["calls"]) for bill in page)
    (first, *_, last) = [row for row in calls if row["call"].strip("\u2003").startswith("mysql.query SELECT ")]
    assert first["after"] < last["after"]
    assert first["line"].startswith("shop/store.py:")
    depths = [len(row["call"]) - len(row["call"].lstrip("\u2003")) for row in calls]
    assert depths[0] == 0
    assert max(depths) == 2, "a call of the service that a call of the first one called"
    (kept,) = grafana.ask(sql("transaction/kept"), "4", asked).column("sentence")
    assert kept == "Every call was kept, as its caller's were."
    statements = grafana.ask(sql("transaction/statements"), "4", asked).by_name()
    of_page = {each["text"]: each for bill in page for each in bill["statements"]}
    shown = {row["statement"]: row for row in statements if row["calls"]}
    assert shown.keys() == of_page.keys()
    for text, row in shown.items():
        server = of_page[text]["server"]
        assert (row["time"], row["calls"]) == (of_page[text]["time_ns"], of_page[text]["calls"])
        assert (row["at server"], row["network"]) == (server["query_ns"], max(server["network_ns"], 0))


def test_without_kept_calls_there_is_a_sentence_and_the_sums_of_the_bill(grafana: Grafana) -> None:
    (kept,) = grafana.ask(sql("transaction/kept")).column("sentence")
    assert kept.startswith("Its calls were not kept one by one: the fair sample keeps 30 % of all")
    transaction, *sums = grafana.ask(sql("transaction/calls")).by_name()
    bill = {row["component"]: row for row in grafana.ask(sql("transaction/bill")).by_name()}
    assert [row["after"] for row in sums] == [None] * len(sums)
    called = {row["call"].strip("\u2003").partition(",")[0]: row["took"] for row in sums}
    assert called == {name: row["time"] for name, row in bill.items() if row["calls"]}
    assert transaction["took"] == sum(row["time"] for row in bill.values())


def test_the_trace_has_a_root_and_says_what_is_called(grafana: Grafana) -> None:
    answer = grafana.ask(sql("transaction/spans"), "4", {"trace_id": BUYER_TRACE_ID})
    assert list(answer.columns) == ["span"]
    spans = [json.loads(text) for text in answer.column("span")]
    drawn = [{**span, **{name: float(span[name]) for name in ("startTime", "duration")}} for span in spans]
    assert all({name: type(value) for name, value in span.items()} == SPAN for span in drawn)
    ids = {span["spanID"] for span in drawn}
    (root,) = (span for span in drawn if span["parentSpanID"] not in ids)
    assert root["operationName"] == "GET /recommendations"
    calls = {span["operationName"] for span in drawn if span["parentSpanID"] == root["spanID"]}
    assert len(calls) >= 3
    assert any(name.startswith("mysql.query SELECT ") for name in calls)
    for span in drawn:
        assert root["startTime"] - 1 <= span["startTime"]
        assert span["startTime"] + span["duration"] <= root["startTime"] + root["duration"] + 1
        assert all(set(tag) == {"key", "value"} for tag in span["tags"] + span["serviceTags"])


def test_a_trace_id_can_be_pasted_in_any_form_and_none_means_the_slowest(grafana: Grafana) -> None:
    forms = (BUYER_TRACE_ID, BUYER_TRACE_ID.upper(), f"  {BUYER_TRACE_ID} ", f"00-{BUYER_TRACE_ID}-00000000000000a1-01")
    for form in forms:
        assert grafana.ask(sql("transaction/status"), "3.3", {"trace_id": form}).column("id") == [BUYER_TRACE_ID]
    (slowest,) = grafana.ask_raw("SELECT lower(hex(argMax(trace_id, duration_ns))) FROM transactions").rows[0]
    assert grafana.ask(sql("transaction/status")).column("id") == [slowest]
    assert grafana.ask(sql("transaction/transactions"), "4", {"trace_id": "d" * 32}).rows == []
