"""One thread or task at a time is in an execution context; another one gets a branch of its own."""

from __future__ import annotations

import asyncio
import contextvars
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias

import pytest
import walltime
from walltime.core.execution import ExecutionContext, current

from tests.sdk.sink import Sink

SIZE_S = 0.02

Beside: TypeAlias = Callable[[Callable[[], None], Callable[[], None]], None]
"""Runs the first and the second at the same time, in the same context."""


def child() -> None:
    with walltime.component("child"):
        time.sleep(SIZE_S)


def parent() -> None:
    with walltime.component("parent"):
        time.sleep(3 * SIZE_S)


def by_thread(inner: Callable[[], None], outer: Callable[[], None]) -> None:
    thread = threading.Thread(target=contextvars.copy_context().run, args=(inner,))
    thread.start()
    outer()
    thread.join()


def by_submit(inner: Callable[[], None], outer: Callable[[], None]) -> None:
    context = contextvars.copy_context()
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(lambda: context.run(inner))
        outer()
        future.result()


class _Queue:
    """A worker thread of an earlier time: nothing says what it works for but the context it gets."""

    def __init__(self) -> None:
        self.jobs: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.thread = threading.Thread(target=self._work)

    def _work(self) -> None:
        while (job := self.jobs.get(timeout=20)) is not None:
            job[0].run(job[1])

    def __call__(self, inner: Callable[[], None], outer: Callable[[], None]) -> None:
        self.jobs.put((contextvars.copy_context(), inner))
        outer()
        self.jobs.put(None)
        self.thread.join()


@pytest.mark.parametrize("way", [by_thread, by_submit, "by queue"])
def test_a_thread_in_a_copied_context_is_not_nested_in_what_runs_beside_it(recorded: Sink, way: Any) -> None:
    beside: Beside = _Queue() if way == "by queue" else way
    if isinstance(beside, _Queue):
        beside.thread.start()
    with walltime.transaction("job"):
        beside(child, parent)
    (bill,) = recorded.transactions()
    assert bill.cell("parent") == bill.cell("child") == {"calls": 1}
    for name in ("parent", "child"):
        (call,) = recorded.calls(name)
        assert call.attributes.get("walltime.own_ns", call.duration_ns) == call.duration_ns


def test_what_a_context_runs_in_the_same_thread_is_nested(recorded: Sink) -> None:
    with walltime.transaction("job"), walltime.component("parent"):
        contextvars.copy_context().run(child)
    recorded.transactions()
    (outer,), (inner,) = recorded.calls("parent"), recorded.calls("child")
    assert outer.attributes["walltime.own_ns"] == outer.duration_ns - inner.duration_ns


def test_each_thread_in_a_copy_of_one_context_has_a_branch_that_stays(recorded: Sink) -> None:
    both = threading.Barrier(3)
    executions: list[ExecutionContext | None] = []

    def work() -> None:
        executions.append(mine := current())
        both.wait(10)
        assert current() is mine

    with walltime.transaction("job"):
        executions.append(current())
        threads = [threading.Thread(target=contextvars.copy_context().run, args=(work,)) for _ in range(2)]
        for thread in threads:
            thread.start()
        both.wait(10)
        for thread in threads:
            thread.join()
    assert len(set(map(id, executions))) == 3


def test_synchronous_calls_of_sibling_tasks_are_not_nested(recorded: Sink) -> None:
    async def waits() -> None:
        with walltime.component("parent"):
            await asyncio.sleep(3 * SIZE_S)

    async def computes() -> None:
        child()

    async def main() -> None:
        with walltime.transaction("job"):
            await asyncio.gather(waits(), computes())

    asyncio.run(main())
    recorded.transactions()
    (call,) = recorded.calls("parent")
    assert call.attributes.get("walltime.own_ns", call.duration_ns) == call.duration_ns


def test_after_a_loop_the_thread_is_where_it_was(recorded: Sink) -> None:
    async def main() -> None:
        with walltime.component("in the loop"):
            await asyncio.sleep(0)

    with walltime.transaction("job"), walltime.component("parent"):
        for _ in range(2):
            asyncio.run(main())
            child()
    recorded.transactions()
    (outer,) = recorded.calls("parent")
    inner = [*recorded.calls("in the loop"), *recorded.calls("child")]
    assert outer.attributes["walltime.own_ns"] == outer.duration_ns - sum(call.duration_ns for call in inner)
