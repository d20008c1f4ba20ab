"""Components and counters that have no column of their own are seen like the others: on the bill, in top, in why."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from walltime.core import bill, components
from walltime_collector.cli.top import render as render_top
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.clickhouse.schema_files import ONE_MACHINE, schema_files
from walltime_collector.health.applications import applications
from walltime_collector.load import otel_transactions
from walltime_collector.query.advise.advise import advise
from walltime_collector.query.components import (
    COLUMNS,
    CONTAINERS,
    COUNTERS,
    FRAMEWORK,
    NOTES,
    OF_ALL,
    SUMMED,
    counters_by_component,
    family,
)
from walltime_collector.query.queries import query_text
from walltime_collector.query.scope import Filters, Scope
from walltime_collector.query.top import top, top_of
from walltime_collector.query.transaction import kept_calls
from walltime_collector.query.transaction.wording import KEPT
from walltime_collector.query.why.explain import explain
from walltime_collector.query.windows import Window, comparison

import tests
from tests.collector.conftest import MINUTE_NS, Store
from tests.collector.query.showing import asked, make, said
from tests.collector.traffic import MS, SAMPLE_NS, Sent, SentCall, SentSample, Value

REDIS: dict[str, Value] = {"db.system.name": "redis", "server.address": "r1", "server.port": 6379}
MYSQL: dict[str, Value] = {"db.system.name": "mysql", "server.address": "db", "server.port": 3306}


def redis_get(at: int, result: str, took_ns: int = MS) -> SentCall:
    told: dict[str, Value] = {"walltime.redis.key": "cart:#5f1c09be6a0d2b17", "walltime.redis.result": result}
    return SentCall("redis.get", at, took_ns, {**REDIS, **told})


def everything(name: str, service: str = "shop", started_ns: int = 0) -> Sent:
    sent = make(name, service=service, kept="slow", duration_ns=40 * MS)
    sent.started_ns = started_ns or sent.started_ns
    sent.calls = [
        redis_get(0, "hit"),
        redis_get(MS, "hit"),
        redis_get(2 * MS, "miss"),
        SentCall("mysql.pool", 3 * MS, 2 * MS),
        SentCall("mysql.prepare", 5 * MS, MS, {**MYSQL, "walltime.mysql.connection_id": 77}),
        SentCall("http.retry", 6 * MS, 3 * MS),
        SentCall(
            "http.request",
            9 * MS,
            4 * MS,
            {"http.request.method": "GET", "http.response.status_code": 200, "http.request.resend_count": 2},
        ),
        SentCall("python.gc", 13 * MS, MS),
        SentCall(
            "mysql.query",
            14 * MS,
            MS,
            {
                **MYSQL,
                "db.query.text": "SELECT a FROM t WHERE id = %s",
                "walltime.mysql.connection_id": 77,
                "code.file.path": "shop/views.py",
                "code.line.number": 42,
                "code.function.name": "product",
            },
        ),
    ]
    sent.attributes = {"walltime.memcache.get.skipped": 3, "walltime.memcache.set.skipped": 1}
    return sent


def test_they_are_on_the_bill_with_what_they_count(engine: Engine, store: Store) -> None:
    sent = everything("GET /bill")
    store([sent])
    bill = asked(engine, sent.trace_id).transactions[0]
    lines = {each.name: each for each in bill.components}
    assert {name: (each.calls, each.time_ns) for name, each in lines.items() if each.calls} == {
        "redis.get": (3, 3 * MS),
        "mysql.pool": (1, 2 * MS),
        "mysql.prepare": (1, MS),
        "http.retry": (1, 3 * MS),
        "http.request": (1, 4 * MS),
        "python.gc": (1, MS),
        "mysql.query": (1, MS),
    }
    redis = lines["redis.get"]
    assert (redis.keys, redis.hits, redis.misses) == (3, 2, 1)
    assert (lines["memcache.get"].skipped, lines["memcache.get"].calls) == (3, 0)
    assert lines["memcache.set"].skipped == 1
    assert {(each.component, each.address): (each.hits, each.misses) for each in bill.targets}[
        ("redis.get", "r1:6379")
    ] == (2, 1)
    shown = said(asked(engine, sent.trace_id), width=200)
    assert "2 of 3 keys hit" in shown
    assert "3 skipped: the server was known to be dead" in shown


def test_calls_say_where_they_were_made_on_which_connection_and_at_which_attempt(engine: Engine, store: Store) -> None:
    sent = everything("GET /calls")
    store([sent])
    calls = asked(engine, sent.trace_id).transactions[0].calls
    assert [(call.component, call.text, call.result) for call in calls[:3]] == [
        ("redis.get", "cart:#5f1c09be6a0d2b17", result) for result in ("hit", "hit", "miss")
    ]
    assert (calls[6].component, calls[6].result) == ("http.request", "200, attempt 3")
    assert (calls[8].source, calls[8].connection_id) == ("shop/views.py:42 product", 77)
    guessed = kept_calls.source({"code.file.path": "a.py", "code.line.number": "1", "walltime.code.guessed": "true"})
    assert guessed == "most likely a.py:1"
    shown = said(asked(engine, sent.trace_id), width=240)
    assert "shop/views.py:42 product" in shown
    assert "connection 77" in shown


@pytest.mark.parametrize("why", ["random", "upstream", "error", "slow", "forced"])
def test_every_reason_for_kept_calls_is_printed(engine: Engine, store: Store, why: str) -> None:
    sent = make(kept=why, calls=[SentCall("python.gc", 0, MS)])
    store([sent])
    assert f"every call kept: {KEPT[why]}" in said(asked(engine, sent.trace_id))


def test_top_sums_up_what_has_no_column(engine: Engine, store: Store) -> None:
    import io

    from rich.console import Console

    store([everything("GET /top", service="columnless") for _ in range(4)])
    answer = top(engine, since_s=3_600, service="columnless")
    (kind,) = answer.kinds
    shares = {each.name: each for each in kind.components}
    assert (shares["redis.get"].calls, shares["redis.get"].hits, shares["redis.get"].misses) == (12, 8, 4)
    assert (shares["memcache.get"].skipped, shares["memcache.set"].skipped) == (12, 4)
    assert shares["mysql.pool"].time_ns == 8 * MS
    console = Console(width=240, color_system=None, file=io.StringIO())
    with console.capture() as capture:
        console.print(render_top(answer, console))
    assert "redis.get 3.00 ms ×3, 67 % hit" in capture.get()


@pytest.mark.parametrize("before_ns", [1, 999_999_999, 1_000_000_000])
def test_top_counts_the_last_second_of_the_minute_in_which_its_window_begins(
    engine: Engine, store: Store, before_ns: int
) -> None:
    minute_ns, service = time.time_ns() // MINUTE_NS * MINUTE_NS, f"{before_ns} ns before the minute"
    store([everything("GET /last", service=service, started_ns=minute_ns - before_ns)])
    window = Window(minute_ns - MINUTE_NS // 2, minute_ns + MINUTE_NS)
    (kind,) = top_of(engine, Scope(window, Filters(service=service)), time.time_ns(), limit=1).kinds
    assert (kind.transactions, {each.name: each.calls for each in kind.components}["redis.get"]) == (1, 3)


def test_why_follows_more_queries_to_the_redis_that_no_longer_answers(engine: Engine, store: Store) -> None:
    """In the slow minute redis misses nearly always, and each miss makes a query."""
    now_ns = time.time_ns()
    sent = []
    for at in range(400):
        is_slow = at >= 200
        misses = (4 if at % 3 else 3) if is_slow else at % 2
        each = make("GET /cart", service="redis shop")
        each.started_ns = now_ns - (60 if is_slow else 120) * 10**9 + (at % 200) * 250_000_000
        each.calls = [redis_get(n * MS, "miss" if n < misses else "hit") for n in range(5)]
        each.calls += [
            SentCall(
                "mysql.query", (10 + n * 8) * MS, 8 * MS, {**MYSQL, "db.query.text": "SELECT c FROM cart WHERE id = %s"}
            )
            for n in range(misses)
        ]
        each.duration_ns = (10 + 8 * misses) * MS + MS
        sent.append(each)
    store(sent)
    compared = comparison(now_ns, during="last 60s", against="2m..61s", slowest=None, since="1h")
    answer = explain(engine, "GET /cart", compared, service="redis shop")
    assert answer.verdict == "different"
    told = " ".join(answer.sentences)
    assert "mysql.query" in told
    assert "redis.get on r1:6379 hits" in told


def test_an_attribute_that_is_no_number_counts_nothing(engine: Engine, store: Store) -> None:
    sent = make(calls=[redis_get(0, "hit")])
    sent.attributes = {"walltime.redis.get.skipped": "many", "walltime.x.hits": "-5", "walltime.y.hits": "9" * 40}
    store([sent])
    (line,) = asked(engine, sent.trace_id).transactions[0].components
    assert (line.name, line.skipped) == ("redis.get", 0)
    assert top(engine, since_s=3_600).kinds


def test_each_system_has_its_family() -> None:
    names = ["mysql.pool", "memcache.get", "redis.hgetall", "http.retry", "python.gc", "render", "websocket.receive"]
    assert [family(name) for name in names] == ["mysql", "memcache", "redis", "http", "python", "custom", "custom"]
    assert family("other") == "other"


def test_the_components_of_frameworks_are_those_of_the_sdk_everywhere() -> None:
    assert components.BITS.keys() == FRAMEWORK
    assert components.CONTAINERS | {"other"} == CONTAINERS
    assert {name: family(name) for name in FRAMEWORK} == {
        name: "view" if name in CONTAINERS else "framework" for name in FRAMEWORK
    }


@pytest.mark.parametrize("component", ["view", "middleware"])
def test_the_own_time_of_a_container_counts_as_explained_by_nothing(
    engine: Engine, store: Store, component: str
) -> None:
    sent = [make("GET /page", service=f"all {component}", duration_ns=40 * MS) for _ in range(20)]
    for each in sent:
        each.calls = [SentCall(component, 0, 36 * MS), SentCall("orm.load", 36 * MS, 4 * MS)]
    store(sent)
    (service,) = (each for each in applications(engine).applications if each.service == f"all {component}")
    assert service.other_ns == 20 * 36 * MS
    assert [(kind.name, kind.other_ns) for kind in service.uncovered] == [("GET /page", 20 * 36 * MS)]
    now_ns = time.time_ns()
    scope = Scope(Window(now_ns - 3_600 * 10**9, now_ns + MINUTE_NS), Filters(service=f"all {component}"))
    assert "mostly_other" in {each.category for each in advise(engine, scope, now_ns).advice}


def test_time_on_a_sampled_line_is_explained(engine: Engine, store: Store) -> None:
    sent = [make("GET /page", service="sampled", duration_ns=40 * MS) for _ in range(20)]
    for each in sent:
        each.calls = [SentCall("view", 0, 36 * MS)]
        each.samples = [SentSample("shop/views.py:7", "page", component="view") for _ in range(3)]
    store(sent)
    (service,) = (each for each in applications(engine).applications if each.service == "sampled")
    assert (service.uncovered_ns, service.other_ns) == (20 * 40 * MS, 20 * (40 * MS - 3 * SAMPLE_NS))
    assert service.uncovered == []
    now_ns = time.time_ns()
    scope = Scope(Window(now_ns - 3_600 * 10**9, now_ns + MINUTE_NS), Filters(service="sampled"))
    (advice,) = (each for each in advise(engine, scope, now_ns).advice if each.category == "mostly_other")
    assert "(75 % of it computing in shop/views.py:7 page)" in advice.change


def test_counters_come_from_columns_maps_and_attributes_alike() -> None:
    row = {
        "memcache_set_calls": 2,
        "memcache_set_not_stored": 1,
        "custom_calls": {"redis.get": 3},
        "attributes": {"walltime.redis.get.hits": "2", "http.route": "/x", "walltime.memcache.set.skipped": "4"},
    }
    assert counters_by_component(row) == {
        "memcache.set": {"calls": 2, "not_stored": 1, "skipped": 4},
        "redis.get": {"calls": 3, "hits": 2},
    }


# The table of counters against everything that lists them by hand

ROOT = Path(tests.__file__).parents[1]
BUILT_IN = {f"{component.replace('.', '_')}_{counter}" for component in COLUMNS for counter in COLUMNS[component]}
ON_THE_WIRE = {f"walltime.{component}.{counter}" for component in COLUMNS for counter in COLUMNS[component]}
_COLUMN = rf"\b(?:{'|'.join(component.replace('.', '_') for component in COLUMNS)})_\w+"
IN_MINUTES = {column for column in BUILT_IN if not column.endswith(("_max_ns", "_keys"))}
OF_VIEWS = {
    f"{component.replace('.', '_')}_{counter}"
    for component in COLUMNS
    for counter in COLUMNS[component]
    if counter in (*OF_ALL, *SUMMED)
}
TIMES = {column for column in BUILT_IN if column.endswith("_time_ns")}
LOOKED_UP = {"mysql_query_calls", "memcache_get_hits", "memcache_get_misses"}


def columns_in(text: str) -> set[str]:
    return set(re.findall(_COLUMN, text))


def statement_of(name: str) -> str:
    (statement,) = (
        text for _, file in schema_files(ONE_MACHINE) for text in file if re.search(rf"NOT EXISTS {name}\b", text)
    )
    return " ".join(statement.split())


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("transactions", BUILT_IN),
        ("store_transactions", BUILT_IN),
        ("otel_traces", BUILT_IN),
        ("transactions_1m", IN_MINUTES),
        ("count_transactions", IN_MINUTES),
        ("kinds_by_minute", TIMES | LOOKED_UP),
        ("kinds_each", TIMES | LOOKED_UP),
        ("components_by_minute", OF_VIEWS & IN_MINUTES),
        ("components_each", OF_VIEWS),
    ],
)
def test_the_schema_has_the_columns_of_the_table_of_counters(name: str, expected: set[str]) -> None:
    assert columns_in(statement_of(name)) == expected


@pytest.mark.parametrize("name", ["open_requests", "store_transactions"])
def test_the_views_read_the_attributes_of_the_table_of_counters(name: str) -> None:
    attributes = re.findall(r"'(walltime\.[a-z]+\.[a-z]+\.[a-z_]+)'", statement_of(name))
    assert set(attributes) == ON_THE_WIRE
    assert len(attributes) == len(ON_THE_WIRE)


def test_the_exporters_view_puts_each_counter_under_its_component() -> None:
    view = statement_of("otel_traces")
    pairs = re.findall(rf"\('([a-z_.]+)', toUInt64\(({_COLUMN})\)\)", view)
    assert set(pairs) == {
        (f"{component}.{counter}", f"{component.replace('.', '_')}_{counter}")
        for component in COLUMNS
        for counter in COLUMNS[component]
        if counter not in OF_ALL
    }
    rows = re.findall(rf"\('([a-z.]+)', ({_COLUMN}), ({_COLUMN}), ({_COLUMN}), ({_COLUMN})\)", view)
    assert {row[0]: row[1:] for row in rows} == {
        component: tuple(f"{component.replace('.', '_')}_{counter}" for counter in OF_ALL) for component in COLUMNS
    }


def test_a_summed_counter_without_a_column_is_in_the_map_of_more_counters() -> None:
    (kept,) = re.findall(r"\(([a-z_|]+)\)\$'\), attributes\)\) AS more_counters", statement_of("store_transactions"))
    assert set(kept.split("|")) == set(SUMMED) - set(OF_ALL) | {"skipped"}


@pytest.mark.parametrize("name", ["kinds/top", "why/populations"])
def test_the_queries_sum_what_the_answers_have(name: str) -> None:
    summed = re.findall(r"COLUMNS\('_\(([a-z_|]+)\)\$'\)", query_text(name))
    assert summed
    assert {frozenset(each.split("|")) for each in summed} == {frozenset(SUMMED)}


def test_derived_transactions_are_stored_in_columns_of_the_table() -> None:
    columns = columns_in((Path(otel_transactions.__file__).parent / "transactions.sql").read_text())
    assert columns <= BUILT_IN
    assert {column for column in BUILT_IN - columns if column.endswith("_calls")} == {"mysql_fetch_calls"}


def test_the_wire_format_documents_every_counter_once() -> None:
    rows = [row for row in (ROOT / "docs/wire.md").read_text().splitlines() if row.startswith("| `walltime.<comp")]
    documented = [name for row in rows for name in re.findall(r"`(?:walltime\.<component>)?\.(\w+)`", row)]
    assert sorted(documented) == sorted(COUNTERS)


def test_the_sdk_and_the_collector_have_the_same_counters() -> None:
    assert set(bill.COUNTERS) == set(COUNTERS)
    assert {counter for column in COLUMNS.values() for counter in column} <= set(COUNTERS)


def test_every_counter_of_a_row_is_printed_or_part_of_one_that_is() -> None:
    assert set(COUNTERS) - set(NOTES) == {"calls", "time_ns", "max_ns", "keys", "hits", "misses", "cpu_ns"}
