"""`why` tells causes inside the process from a slow machine: what the CPU time of its transactions says."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import pytest
from walltime_collector.clickhouse.embedded.engine import EmbeddedEngine
from walltime_collector.clickhouse.engine import Parameter
from walltime_collector.query.queries import run
from walltime_collector.query.scope import Filters
from walltime_collector.query.why.explain import explain
from walltime_collector.query.windows import Comparison, Window
from walltime_collector.spool.segment import Record

from tests.collector.query.showing import make
from tests.collector.simulated_shop import MINUTE_NS, USUAL, Page, simulate
from tests.collector.traffic import MS, Sent, SentCall, Value, export_request
from tests.servers import with_tables

SECOND_NS = 1_000_000_000
_names = iter(range(1_000))
Windows = tuple[EmbeddedEngine, Window, Window, Window]


@pytest.fixture(scope="module")
def windows(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Windows]:
    """
    A usual minute; one in which everything is slower; one in which reports compute 0.9 s of each second besides.

    One more follows: the page itself computes 15 ms more, and waits.
    """
    engine = EmbeddedEngine(with_tables(tmp_path_factory.mktemp("process")), "walltime")
    engine.migrate()
    start_ns = time.time_ns() // MINUTE_NS * MINUTE_NS - 5 * MINUTE_NS
    usual, slow, busy = (Window(start_ns + at * MINUTE_NS, start_ns + (at + 1) * MINUTE_NS) for at in range(3))
    pages = ((usual, USUAL, 900), (slow, Page(slowness=2.5), 600), (busy, Page(slowness=2.5), 600))
    for seed, (window, page, transactions) in enumerate(pages):
        simulate(engine, page, seed=seed, transactions=transactions, from_ns=window.start_ns, length_ns=MINUTE_NS)
    report = Page(more_cpu_ns=180e6)
    simulate(engine, report, seed=9, transactions=300, from_ns=busy.start_ns, length_ns=MINUTE_NS, name="GET /report")
    page = Page(more_cpu_ns=15e6, more_waiting_ns=90e6)
    simulate(engine, page, seed=12, transactions=600, from_ns=later(busy).start_ns, length_ns=MINUTE_NS)
    yield engine, usual, slow, busy
    engine.close()


def later(window: Window) -> Window:
    return Window(window.start_ns + MINUTE_NS, window.end_ns + MINUTE_NS)


def test_a_busy_interpreter_is_told_from_a_slow_machine(windows: Windows) -> None:
    engine, usual, slow, busy = windows
    machine = explain(engine, "GET /product/{id}", Comparison(slow, usual)).headline
    interpreter = explain(engine, "GET /product/{id}", Comparison(busy, usual)).headline
    assert "rather the machine" in machine
    assert "the CPU is slower" in machine
    assert "GIL" not in machine
    assert "The interpreter (GIL): while one ran, the others in its process computed 9" in interpreter
    assert "rather the machine" not in interpreter


def test_computing_is_named_beside_a_longer_wait(windows: Windows) -> None:
    engine, usual, _, busy = windows
    said = " ".join(explain(engine, "GET /product/{id}", Comparison(later(busy), usual)).sentences)
    assert "so this is computing and waiting that is not measured (a lock, a sleep, the GIL, a busy CPU)." in said
    assert "The interpreter (GIL)" not in said


PROCESS = """
INSERT INTO transactions (trace_id, span_id, started_at, duration_ns, service, name, host, instance, resource,
    cpu_user_ns, cpu_system_ns, loop_run_ns, covered_ns, attributes)
SELECT
    toFixedString(leftPad(toString(if({nested:UInt8}, intDiv(number, 2), number)) || {name:String}, 16), 16),
    toFixedString(leftPad(toString(number), 8), 8),
    fromUnixTimestamp64Nano({from_ns:Int64} + toInt64(number * 50e6), 'UTC'), 100e6, {name:String},
    if(number % 2, 'GET /other', 'GET /page'), 'web-1',
    if({instances:UInt8} > 1, toString(number % {instances:UInt8}), ''),
    map('process.pid', if({pids:UInt8} > 1, toString(number % {pids:UInt8}), '7')),
    toUInt64({busy:Float64} * 100e6), 0, if({is_on_loop:UInt8}, 1, NULL), 0, map()
FROM numbers(200)
"""
"""Every 50 ms one begins that takes 100 ms and computes for a part of it, so that two or three run at a time."""


@pytest.mark.parametrize(
    ("fields", "at_a_time", "others"),
    [
        ({}, 2.0, 0.4),
        ({"busy": 0.1}, 2.0, 0.1),
        ({"instances": 2}, 1.0, 0.0),
        ({"pids": 2}, 1.0, 0.0),
        ({"nested": 1}, 1.0, 0.0),
        ({"is_on_loop": 1}, 2.0, 0.4),
    ],
)
def test_others_compute_where_transactions_of_one_process_overlap(
    windows: Windows, fields: dict[str, float], at_a_time: float, others: float
) -> None:
    """Each overlaps for half of its time with the one before, and for half with the one behind it."""
    engine, usual, slow, _ = windows
    name = f"p{next(_names)}"
    given = {"busy": 0.4, "instances": 1, "pids": 1, "nested": 0, "is_on_loop": 0, **fields}
    for window in (usual, slow):
        engine.command(PROCESS, {"name": name, "from_ns": window.start_ns + SECOND_NS, **given})
    params: dict[str, Parameter] = {**Filters(service=name, kind="GET /page").parameters()}
    params |= Comparison(slow, usual).parameters()
    rows = run(engine, "why/evidence/interpreter", **params, minutes=[], when="", threshold_ns=0, bound_ns=2**63 - 1)
    assert [row["side"] for row in rows] == ["slow", "usual"]
    for row in rows:
        assert row["at_a_time"] == pytest.approx(at_a_time, rel=0.02)
        assert row["others"] == pytest.approx(others, abs=0.01)
        assert row["on_loop_share"] == given["is_on_loop"]


def made(name: str, window: Window, calls: Sequence[SentCall], other_ms: float, **times_ms: float) -> list[Sent]:
    """100 transactions on a host of their own that are all alike, with these attributes in milliseconds."""
    attributes: dict[str, Value] = {
        f"walltime.{key}": int(ms * MS) for key, ms in {"cpu_system_ns": 0, **times_ms}.items()
    }
    duration_ns = sum(each.duration_ns for each in calls) + int(other_ms * MS)
    return [
        make(name, duration_ns=duration_ns + at * 1_000, started_ns=window.start_ns + at * MINUTE_NS // 100,
             calls=list(calls), attributes=attributes, host=name)
        for at in range(100)
    ]  # fmt: skip


def said(
    windows: Windows, name: str, usual: Callable[[Window], list[Sent]], slow: Callable[[Window], list[Sent]]
) -> str:
    engine, before, _, busy = windows
    payload = export_request([*usual(before), *slow(busy)])
    engine.insert([Record(time.time_ns(), 200, payload)], name)
    return " ".join(explain(engine, name, Comparison(busy, before)).sentences)


def other(
    windows: Windows,
    usual_ms: Mapping[str, float],
    slow_ms: Mapping[str, float],
    calls_ms: float = 5,
    slow_calls_ms: float = 0,
) -> str:
    """What is said of `other`, after a call that takes so long, on both sides if not given."""
    name = f"GET /other/{next(_names)}"
    calls, slow_calls = ([SentCall("mysql.query", 0, int(ms * MS))] for ms in (calls_ms, slow_calls_ms or calls_ms))
    return said(
        windows,
        name,
        lambda window: made(name, window, calls, **usual_ms),
        lambda window: made(name, window, slow_calls, **slow_ms),
    )


def test_other_computes_where_calls_had_no_time_for_it(windows: Windows) -> None:
    text = other(windows, {"other_ms": 5, "cpu_user_ns": 4}, {"other_ms": 45, "cpu_user_ns": 44})
    assert "CPU time changed by +40.0 ms, at least 40.0 ms of it in no call that takes longer, so this is" in text
    assert "so this is computing." in text


def test_cpu_time_that_may_be_of_the_calls_proves_no_computing_in_other(windows: Windows) -> None:
    usual, slow = {"other_ms": 5, "cpu_user_ns": 4}, {"other_ms": 15, "cpu_user_ns": 12}
    text = other(windows, usual, slow, calls_ms=5, slow_calls_ms=15)
    assert "CPU time changed by +8.00 ms, somewhere in the transaction: of `other`, " in text
    assert "so this is" not in text


def test_other_waits_where_there_was_no_cpu_time_for_it(windows: Windows) -> None:
    text = other(windows, {"other_ms": 5, "cpu_user_ns": 4}, {"other_ms": 35, "cpu_user_ns": 5})
    assert "so this is waiting that is not measured (a lock, a sleep, the GIL, a busy CPU)." in text
    usual = {"other_ms": 5, "cpu_user_ns": 4, "cpu_wait_ns": 0}
    measured = other(windows, usual, {**usual, "other_ms": 35})
    assert "so this is waiting that is not measured (a lock, a sleep, the GIL)." in measured
    assert "so this is waiting for a CPU." in other(windows, usual, {**usual, "other_ms": 35, "cpu_wait_ns": 30})
    # in the calls, perhaps
    assert "waiting for a CPU" not in other(windows, usual, {**usual, "other_ms": 35, "cpu_wait_ns": 30}, calls_ms=30)


def test_nothing_is_said_of_cpu_time_that_is_known_on_one_side(windows: Windows) -> None:
    text = other(windows, {"other_ms": 5}, {"other_ms": 45, "cpu_user_ns": 44})
    assert "other, in no measured call: 5.05 ms → 45.0 ms" in text
    assert "CPU time" not in text


@pytest.mark.parametrize("beside", [0, 2])
def test_the_garbage_collector_stops_others_only_where_there_are_some(windows: Windows, beside: int) -> None:
    name = f"GET /garbage/{beside}"

    def paused(window: Window, pause_ms: float) -> list[Sent]:
        calls = [SentCall("mysql.query", 0, 4 * MS), SentCall("python.gc", 0, int(pause_ms * MS))]
        alike = made(name, window, calls, 2, cpu_user_ns=3)
        return alike + [replace(each, name="GET /beside", trace_id=secrets.token_hex(16)) for each in alike * beside]

    text = said(windows, name, lambda at: paused(at, 0), lambda at: paused(at, 22))
    assert "The garbage collector: 0 ms → 22.0 ms a transaction" in text
    assert ("in which 3 transactions run at a time, so calls wait for it too" in text) is bool(beside)
