"""What overlaps: whatever runs beside whatever, nothing is negative, and one execution context counts nothing twice."""

from __future__ import annotations

import asyncio
import random
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import gevent
import pytest
import walltime
from hypothesis import given
from hypothesis import strategies as st
from walltime.core import transaction as transaction_module
from walltime.core.call import lines
from walltime.core.execution import ExecutionContext, branch
from walltime.core.ids import Ids
from walltime.core.transaction import Transaction

from tests.sdk.sink import Sink

NAMES = ("mysql.query", "memcache.get", "http.request", "render")
LINE_OF = {name: lines(name)[None] for name in NAMES}


@dataclass
class Lane:
    """One execution context and its calls in progress, as wrappers keep them: (line, started_ns, outer_ns)."""

    execution: ExecutionContext
    open: list[tuple[str, int, int]] = field(default_factory=list)

    def begin(self, name: str, now_ns: int) -> None:
        self.open.append((name, now_ns, self.execution.nested_ns))

    def end(self, now_ns: int) -> None:
        name, started_ns, outer_ns = self.open.pop()
        self.execution.record(LINE_OF[name], None, started_ns, now_ns, outer_ns)


STEPS = st.lists(
    st.tuples(
        st.integers(0, 3),  # which lane goes on
        st.sampled_from(["begin", "begin", "end", "end", "branch"]),
        st.sampled_from(NAMES),
        st.integers(0, 50),  # ns until then
    ),
    max_size=120,
)


def played(steps: list[tuple[int, str, str, int]]) -> tuple[Transaction, list[tuple[int, int]]]:
    """A transaction in which that happened, by a clock of its own, and the spans of the calls that ended in it."""
    now_ns = 1_000
    transaction = Transaction("job", "internal", Ids(0, 0), 0, now_ns)
    lanes = [Lane(transaction)]
    spans = []
    for which, what, name, wait_ns in steps:
        now_ns += wait_ns
        lane = lanes[which % len(lanes)]
        if what == "begin":
            lane.begin(name, now_ns)
        elif what == "branch" and len(lanes) < 4:
            lanes.append(Lane(branch(lane.execution)))
        elif what == "end" and lane.open:
            spans.append((lane.open[-1][1], now_ns))
            lane.end(now_ns)
    transaction.duration_ns = max(1, now_ns - transaction.started_ns)
    for lane in lanes:  # what is still in progress ends late
        while lane.open:
            lane.end(now_ns + 10)
    return transaction, spans


def union_ns(spans: list[tuple[int, int]]) -> int:
    covered: set[int] = set()
    for started_ns, ended_ns in spans:
        covered.update(range(started_ns, ended_ns))
    return len(covered)


@given(STEPS)
def test_covered_time_is_the_union_of_the_calls(steps: list[tuple[int, str, str, int]]) -> None:
    transaction, spans = played(steps)
    bill = transaction.add_up(detail=True)
    cells = bill.components.values()
    assert bill.covered_ns == union_ns(spans) <= transaction.duration_ns  # so `other` is never negative
    assert all(cell.time_ns >= 0 for cell in cells)
    assert sum(cell.time_ns for cell in cells) >= bill.covered_ns
    if not transaction.has_branches:
        assert sum(cell.time_ns for cell in cells) == bill.covered_ns
    assert sum(cell.calls for cell in cells) == len(spans)


@given(STEPS)
def test_beyond_the_calls_that_are_kept_covered_time_is_at_most_the_union(
    steps: list[tuple[int, str, str, int]],
) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(transaction_module, "MAX_CALLS", 4)
        patched.setattr(transaction_module, "LOOK_EVERY", 1)
        patched.setattr(transaction_module, "MANY_CALLS", 8)
        transaction, spans = played(steps)
        bill = transaction.add_up(detail=True)
    cells = bill.components.values()
    assert bill.covered_ns <= union_ns(spans) <= transaction.duration_ns
    assert all(cell.time_ns >= 0 for cell in cells)
    assert sum(cell.calls for cell in cells) == len(spans)
    assert len(transaction.calls) < 8


def test_many_threads_of_one_transaction_lose_and_double_no_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """They add calls up early under each other's hands."""
    monkeypatch.setattr(transaction_module, "MAX_CALLS", 3)
    monkeypatch.setattr(transaction_module, "LOOK_EVERY", 1)
    monkeypatch.setattr(transaction_module, "MANY_CALLS", 6)
    interval_s = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    transaction = Transaction("job", "internal", Ids(0, 0), 0, 0)

    def work() -> None:
        lane = Lane(branch(transaction))
        for now_ns in range(2_000):
            lane.begin("render", now_ns)
            lane.end(now_ns + 1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval_s)
    transaction.duration_ns = 10_000
    bill = transaction.add_up(detail=True)
    assert bill.components["render"].calls == bill.components["render"].time_ns == 8_000
    assert bill.covered_ns <= 10_000


# ---- the same with real threads, tasks and greenlets ----

Tree = list["tuple[str, Tree]"]


def random_tree(rng: random.Random, depth: int = 3) -> Tree:
    return [(rng.choice(NAMES), random_tree(rng, depth - 1) if depth else []) for _ in range(rng.randint(0, 3))]


def size(tree: Tree) -> int:
    return sum(1 + size(inside) for _, inside in tree)


def in_a_row(tree: Tree, pause: Callable[[], object]) -> None:
    for name, inside in tree:
        with walltime.component(name):
            pause()
            in_a_row(inside, pause)


def in_threads(trees: list[Tree], rng: random.Random) -> None:
    with ThreadPoolExecutor(4) as pool:
        for future in [pool.submit(in_a_row, tree, lambda: threading.Event().wait(1e-4)) for tree in trees]:
            future.result()


def in_tasks(trees: list[Tree], rng: random.Random) -> None:
    async def row(tree: Tree) -> None:
        for name, inside in tree:
            with walltime.component(name):
                await asyncio.sleep(rng.random() * 2e-4)
                if rng.random() < 0.5:
                    await asyncio.gather(*(row([part]) for part in inside))
                else:
                    await row(inside)

    async def main() -> None:
        await asyncio.gather(*(row(tree) for tree in trees))

    asyncio.run(main())


def in_greenlets(trees: list[Tree], rng: random.Random) -> None:
    def row(tree: Tree) -> None:
        for name, inside in tree:
            with walltime.component(name):
                gevent.sleep(rng.random() * 2e-4)
                gevent.joinall([gevent.spawn(row, [part]) for part in inside], raise_error=True)

    gevent.joinall([gevent.spawn(row, tree) for tree in trees], raise_error=True)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("run", [in_threads, in_tasks, in_greenlets], ids=lambda run: run.__name__)
def test_overlap_is_covered_once(recorded: Sink, run: Callable[[list[Tree], random.Random], None], seed: int) -> None:
    rng = random.Random(seed)
    trees = [random_tree(rng) for _ in range(5)]
    with walltime.transaction("job"):
        in_a_row(trees[0], lambda: None)
        run(trees, rng)
    (bill,) = recorded.transactions()
    times_ns, covered_ns = bill.times_ns(), bill.attributes.get("walltime.covered_ns", 0)
    assert 0 <= covered_ns <= bill.duration_ns
    assert sum(times_ns.values()) >= covered_ns
    assert all(time_ns >= 0 for time_ns in times_ns.values())
    calls = sum(bill.cell(name).get("calls", 0) for name in NAMES)
    assert calls == size(trees[0]) + sum(map(size, trees))
    spans = [(call.span.start_time_unix_nano, call.span.end_time_unix_nano) for call in recorded.calls()]
    assert abs(covered_ns - union_by_sorting_ns(spans)) <= 2 * len(spans), "of the kept calls, to the nanosecond"


def union_by_sorting_ns(spans: list[tuple[int, int]]) -> int:
    covered_ns = until_ns = 0
    for started_ns, ended_ns in sorted(spans):
        covered_ns += max(0, ended_ns - max(started_ns, until_ns))
        until_ns = max(until_ns, ended_ns)
    return covered_ns
