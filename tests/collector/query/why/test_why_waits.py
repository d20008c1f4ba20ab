"""Waiting for a CPU and for the event loop: `why` names the wait and its cause, in the headline."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.query.why.answer import Why
from walltime_collector.query.why.explain import explain
from walltime_collector.query.windows import Comparison, Window
from walltime_collector.spool.segment import Record

from tests.collector.conftest import MINUTE_NS, Store
from tests.collector.query.showing import asked, make, said
from tests.collector.traffic import MS, Value
from tests.sdk.on_one_cpu import run_on_one_cpu
from tests.sdk.sink import Sink

TWO = 2 * MINUTE_NS
_names = iter(range(1_000))
USUAL = {"cpu_user_ns": 8 * MS, "cpu_system_ns": MS, "cpu_wait_ns": MS // 10}
COMPUTES = """
for _ in range(30):
    with walltime.transaction("GET /computes"):
        until = time.thread_time() + 0.01
        while time.thread_time() < until:
            pass
"""


@pytest.fixture
def compare(engine: Engine, store: Store) -> Callable[..., Why]:
    """Stores 100 usual transactions of 10 ms and 100 with the given times, some of single ones, and compares them."""

    def run(
        slower_ns: int, usual: dict[str, int] = USUAL, single: dict[int, dict[str, Value]] | None = None, **slow: Value
    ) -> Why:
        name, end_ns = f"GET /waits {next(_names)}", time.time_ns() - MINUTE_NS
        sent = []
        for at in range(100):
            of_usual, of_slow = (
                make(name, duration_ns=10 * MS + extra_ns + at * 1000, started_ns=start_ns + at * TWO // 100)
                for start_ns, extra_ns in ((end_ns - 2 * TWO, 0), (end_ns - TWO, slower_ns))
            )
            of_usual.attributes = {f"walltime.{key}": value for key, value in usual.items()}
            now = {**slow, **(single or {}).get(at, {})}
            of_slow.attributes = {**of_usual.attributes, **{f"walltime.{key}": value for key, value in now.items()}}
            sent += [of_usual, of_slow]
        store(sent)
        return explain(engine, name, Comparison(Window(end_ns - TWO, end_ns), Window(end_ns - 2 * TWO, end_ns - TWO)))

    return run


def test_a_busy_neighbour(compare: Callable[..., Why]) -> None:
    why = compare(30 * MS, cpu_wait_ns=30 * MS)
    assert "Waiting for a CPU: 100 µs → 30.0 ms a transaction, +29.9 ms; its threads could run" in why.headline
    assert why.slow.cpu_wait_ns == 30 * MS
    assert any("so this is waiting for a CPU." in each for each in why.sentences)


def test_a_quota_that_is_used_up(compare: Callable[..., Why]) -> None:
    why = compare(30 * MS, cpu_wait_ns=30 * MS, cpu_throttled_ns=25 * MS)
    assert "; for up to 25.0 ms of it the CPU quota of its container was used up." in why.headline


def test_more_computing_than_there_are_cpus(compare: Callable[..., Why]) -> None:
    why = compare(30 * MS, cpu_wait_ns=20 * MS, cpu_user_ns=18 * MS)
    assert "it also computes more (9.00 ms → 19.0 ms), for which there was no free CPU." in why.headline


def test_a_wait_that_is_small_beside_the_cause_comes_after_it(compare: Callable[..., Why]) -> None:
    """More queries compute more, so on two CPUs they wait more too: that is an effect."""
    few = {"mysql.query.calls": 1, "mysql.query.time_ns": 2 * MS, "mysql.query.max_ns": 2 * MS, "covered_ns": 2 * MS}
    many: dict[str, Value] = {"mysql.query.calls": 15, "mysql.query.time_ns": 30 * MS, "covered_ns": 30 * MS}
    why = compare(30 * MS, {**USUAL, **few}, **many, cpu_wait_ns=5 * MS)
    assert "15× the calls" in why.headline
    assert "Waiting for a CPU" not in why.headline
    (said,) = (each for each in why.sentences if each.startswith("Waiting for a CPU: 100 µs → 5.00 ms"))
    assert said == why.sentences[2]


def test_an_event_loop_that_is_held_up(compare: Callable[..., Why]) -> None:
    usual = {"loop_run_ns": 2 * MS, "loop_wait_ns": 0}
    held: dict[str, Value] = {"loop_held_ns": 29 * MS, "loop_held_line": "shop/report.py:17 render"}
    why = compare(30 * MS, usual, loop_wait_ns=29 * MS, **held)
    assert "Waiting for the event loop: 0 ms → 29.0 ms a transaction, +29.0 ms; " in why.headline
    assert "something held it up, above all `shop/report.py:17 render`." in why.headline
    unseen = compare(30 * MS, usual, loop_wait_ns=29 * MS)
    assert "; what held it up was not seen." in unseen.headline


def test_a_line_that_held_the_loop_up_once_is_not_named(compare: Callable[..., Why]) -> None:
    usual = {"loop_run_ns": 2 * MS, "loop_wait_ns": 0}
    once: dict[str, Value] = {
        "loop_wait_ns": 20_000 * MS, "loop_held_ns": 20_000 * MS, "loop_held_line": "shop/report.py:17 render"
    }  # fmt: skip
    why = compare(30 * MS, usual, {7: once}, loop_wait_ns=29 * MS)
    assert "Waiting for the event loop: 0 ms → 29.0 ms a transaction, +29.0 ms; what held it up" in why.headline


def test_one_transaction_that_waited_for_long_says_nothing_of_the_others(compare: Callable[..., Why]) -> None:
    usual = {**USUAL, "queue_ns": MS, "loop_wait_ns": 0}
    single: dict[str, Value] = {"cpu_wait_ns": 20_000 * MS, "queue_ns": 60_000 * MS, "loop_wait_ns": 20_000 * MS}
    why = compare(30 * MS, usual, {7: single})
    assert not [each for each in why.sentences if each.startswith(("Waiting for", "Before they began"))]


def test_one_transaction_that_waited_for_long_does_not_hide_the_others(compare: Callable[..., Why]) -> None:
    usual = {**USUAL, "queue_ns": MS}
    single: dict[str, Value] = {"cpu_wait_ns": 20_000 * MS, "queue_ns": 60_000 * MS}
    why = compare(30 * MS, usual, {7: single}, cpu_wait_ns=30 * MS, queue_ns=30 * MS)
    assert "Waiting for a CPU: 100 µs → 30.0 ms a transaction, +29.9 ms; " in why.headline
    assert "Before they began they queued for 30.0 ms instead of 1.00 ms" in why.sentences[-1]


def test_a_wait_of_a_few_transactions_is_chance(compare: Callable[..., Why]) -> None:
    few: dict[int, dict[str, Value]] = {at * 15: {"cpu_wait_ns": 200 * MS, "queue_ns": 200 * MS} for at in range(5)}
    why = compare(30 * MS, {**USUAL, "queue_ns": MS}, few)
    assert not [each for each in why.sentences if each.startswith(("Waiting for", "Before they began"))]


def test_nothing_is_said_of_waits_that_are_known_of_some_transactions(compare: Callable[..., Why]) -> None:
    of_some: dict[int, dict[str, Value]] = {at: {"queue_ns": 30 * MS} for at in range(50)}
    why = compare(30 * MS, USUAL, of_some)
    assert not [each for each in why.sentences if each.startswith("Before they began")]


def test_waits_that_did_not_grow_are_no_cause(compare: Callable[..., Why]) -> None:
    why = compare(30 * MS, cpu_wait_ns=MS)
    assert not [each for each in why.sentences if each.startswith("Waiting for")]
    assert any("(a lock, a sleep, the GIL)" in each for each in why.sentences)


def test_show_has_them_beside_the_bill(engine: Engine, store: Store) -> None:
    one = make(f"GET /shown {next(_names)}", duration_ns=100 * MS, attributes={
        "walltime.cpu_wait_ns": 40 * MS, "walltime.cpu_throttled_ns": 30 * MS, "walltime.loop_run_ns": 20 * MS,
        "walltime.loop_wait_ns": 60 * MS, "walltime.loop_held_ns": 55 * MS, "walltime.loop_held_line": "a/b.py:7 f",
        "walltime.loop_longest_ns": 52 * MS, "walltime.loop_longest_line": "a/c.py:9 g",
        "walltime.mysql.connect.calls": 1, "walltime.mysql.connect.time_ns": 9 * MS,
        "walltime.mysql.connect.max_ns": 9 * MS, "walltime.mysql.connect.cpu_ns": 3 * MS,
    })  # fmt: skip
    store([one])
    text = " ".join(said(asked(engine, one.trace_id)).split())
    assert "cpu.wait 40.0 ms, 40 % of the duration; throttled 30.0 ms: its CPU quota was used up" in text
    assert "loop.run 20.0 ms, 20 % of the duration; 52.0 ms in one step, at a/c.py:9 g" in text
    assert "loop.wait 60.0 ms, 60 % of the duration; the loop was held up by a/b.py:7 f" in text
    assert "3.00 ms of it computing here" in text


@pytest.mark.alone  # what it asserts are times
def test_a_real_process_beside_others_on_its_cpu(engine: Engine) -> None:
    windows = []
    with Sink() as sink:
        for others in (0, 3):
            start_ns = time.time_ns()
            run_on_one_cpu(COMPUTES, others, sink, OTEL_SERVICE_NAME="busy")
            windows.append(Window(start_ns, time.time_ns()))
    for number, body in enumerate(sink.bodies):
        engine.insert([Record(time.time_ns(), 1, body)], f"real {number}")
    why = explain(engine, "GET /computes", Comparison(windows[1], windows[0]), service="busy")
    assert why.verdict == "different"
    assert "Waiting for a CPU: " in why.headline
    assert (why.slow.cpu_wait_ns or 0) > 0.3 * why.slow.mean_ns
