"""`why` tells causes inside the process from a slow machine: what the CPU time of its transactions says."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import pytest
from walltime_collector.clickhouse.embedded.engine import EmbeddedEngine
from walltime_collector.query.components import Sums
from walltime_collector.query.why.answer import Contribution
from walltime_collector.query.why.arithmetic import contribution
from walltime_collector.query.why.explain import explain
from walltime_collector.query.windows import Comparison, Window

from tests.collector.simulated_shop import MINUTE_NS, USUAL, Page, simulate
from tests.servers import with_tables

MS = 1_000_000


@pytest.fixture(scope="module")
def windows(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[EmbeddedEngine, Window, Window, Window]]:
    """
    A usual minute; one in which everything is slower; one in which reports compute 0.9 s of each second besides.

    Two more follow: reports get 0.4 s of CPU a second, and wait; the page itself computes 15 ms more, and waits.
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
    starved, computing = later(busy, 1), later(busy, 2)
    slower_calls = Page(statement_slowness=3, cache_2_slowness=12)
    simulate(engine, slower_calls, seed=10, transactions=600, from_ns=starved.start_ns, length_ns=MINUTE_NS)
    waiting = Page(more_cpu_ns=40e6, more_waiting_ns=160e6)
    simulate(
        engine, waiting, seed=11, transactions=600, from_ns=starved.start_ns, length_ns=MINUTE_NS, name="GET /report"
    )
    page = Page(more_cpu_ns=15e6, more_waiting_ns=90e6)
    simulate(engine, page, seed=12, transactions=600, from_ns=computing.start_ns, length_ns=MINUTE_NS)
    yield engine, usual, slow, busy
    engine.close()


def test_a_busy_interpreter_is_told_from_a_slow_machine(
    windows: tuple[EmbeddedEngine, Window, Window, Window],
) -> None:
    engine, usual, slow, busy = windows
    machine = explain(engine, "GET /product/{id}", Comparison(slow, usual)).headline
    interpreter = explain(engine, "GET /product/{id}", Comparison(busy, usual)).headline
    assert "rather the machine" in machine
    assert "the CPU is slower" in machine
    assert "GIL" not in machine
    assert "The interpreter (GIL): a process computes 9" in interpreter
    assert "rather the machine" not in interpreter


def later(window: Window, windows: int) -> Window:
    return Window(window.start_ns + windows * MINUTE_NS, window.end_ns + windows * MINUTE_NS)


def test_a_process_without_a_whole_cpu_keeps_its_interpreter_busy_too(
    windows: tuple[EmbeddedEngine, Window, Window, Window],
) -> None:
    """As beside other programs, or with a CPU limit."""
    engine, usual, _, busy = windows
    said = " ".join(explain(engine, "GET /product/{id}", Comparison(later(busy, 1), usual)).sentences)
    assert "The interpreter (GIL): a process computes 4" in said
    assert "It gets no whole CPU: " in said


def test_computing_is_named_beside_a_longer_wait(windows: tuple[EmbeddedEngine, Window, Window, Window]) -> None:
    engine, usual, _, busy = windows
    answer = explain(engine, "GET /product/{id}", Comparison(later(busy, 2), usual))
    said = " ".join(answer.sentences)
    assert "so this is computing and waiting that is not measured" in said
    assert "The interpreter (GIL)" not in said
