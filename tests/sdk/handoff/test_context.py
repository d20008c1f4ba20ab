"""The transaction goes along with work that is handed to threads, tasks and greenlets, and no further."""

from __future__ import annotations

import asyncio
import concurrent.futures.thread
import contextvars
import itertools
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import gevent
import gevent.pool
import pytest
import walltime
from asgiref.sync import async_to_sync
from opentelemetry import baggage
from opentelemetry import context as otel_context
from walltime import errors
from walltime import handoff as context
from walltime.core.execution import ExecutionContext, current
from walltime.handoff import futures as context_futures
from walltime.handoff import threading as context_threading
from walltime.instrumentation import patching
from walltime.instrumentation.patching import Patch
from walltime.propagation import propagation

from tests.sdk.handoff.ways import (
    GREENLETS,
    THREADS,
    WORKERS,
    Job,
    by_spawn,
    by_submit,
    by_thread,
    by_threadpool,
    by_to_thread,
)
from tests.sdk.sink import Sink

ways = pytest.mark.parametrize("way", [*THREADS, *GREENLETS], ids=lambda way: way.__name__)


@ways
def test_work_that_is_handed_over_is_billed_to_who_handed_it_over(recorded: Sink, way: Callable[[Job], None]) -> None:
    executions: list[ExecutionContext | None] = []
    baggages: list[object] = []
    numbers = itertools.count()
    both_here = threading.Barrier(1 if way in GREENLETS else 2)

    def work() -> None:
        if next(numbers) < 2:
            both_here.wait(5)  # two of them at once, at least
        executions.append(current())
        baggages.append(baggage.get_baggage("customer"))
        with walltime.component("work"), walltime.component("part"):
            gevent.sleep(0.001) if way in GREENLETS else time.sleep(0.001)

    with walltime.transaction("job"):
        own = current()
        token = otel_context.attach(baggage.set_baggage("customer", "17"))
        way(work)
        otel_context.detach(token)
    (bill,) = recorded.transactions()
    assert bill.cell("work") == bill.cell("part") == {"calls": WORKERS}
    assert baggages == ["17"] * WORKERS
    assert len({id(execution) for execution in executions} - {id(own)}) == WORKERS, "each has its own"
    assert bill.attributes["walltime.covered_ns"] <= bill.duration_ns


@ways
def test_outside_of_a_transaction_nothing_goes_along(recorded: Sink, way: Callable[[Job], None]) -> None:
    handed: list[Job] = []

    def work() -> None:
        assert current() is None
        handed.append(work)

    way(work)
    assert handed == [work] * WORKERS


@pytest.mark.setting("context_threads")
@pytest.mark.parametrize("way", [by_thread, by_submit, by_spawn, by_threadpool], ids=lambda way: way.__name__)
def test_it_can_be_switched_off(recorded: Sink, way: Callable[[Job], None]) -> None:
    walltime.configure(endpoint=recorded.endpoint, context_threads=False)
    executions: list[ExecutionContext | None] = []
    with walltime.transaction("job"):
        way(lambda: executions.append(current()))
    assert executions == [None] * WORKERS


def test_the_applications_own_context_variables_stay_where_they_were(recorded: Sink) -> None:
    """Flask's request, decimal's precision …: who reads them in a thread today finds what it would find without us."""
    variable = contextvars.ContextVar("variable", default="none")
    found: list[str] = []
    with walltime.transaction("job"):
        variable.set("the request's")
        by_thread(lambda: found.append(variable.get()))
        by_submit(lambda: found.append(variable.get()))
        by_spawn(lambda: found.append(variable.get()))
        assert found == ["none"] * 3 * WORKERS
        by_to_thread(lambda: found.append(variable.get()))
    assert found[3 * WORKERS :] == ["the request's"] * WORKERS


def test_a_task_has_a_execution_context_of_its_own_and_their_overlap_is_covered_once(recorded: Sink) -> None:
    async def step(name: str, n: int) -> None:
        with walltime.component(name):
            await asyncio.sleep(0.002 * n)

    async def main() -> None:
        with walltime.component("whole"):
            await asyncio.gather(*(step(f"step {n}", n) for n in range(1, 6)))

    with walltime.transaction("job"):
        asyncio.run(main())
    (bill,) = recorded.transactions()
    times_ns = bill.times_ns()
    assert bill.attributes["walltime.covered_ns"] <= bill.duration_ns
    assert sum(times_ns.values()) > bill.attributes["walltime.covered_ns"]
    assert min(times_ns.values()) >= 0


class LikeThread314(threading.Thread):
    """With a context of its own, as threads of Python 3.14 have it."""

    _context: contextvars.Context | None = None

    def start(self) -> None:
        if self._context is None:
            self._context = contextvars.Context()
        super().start()

    def run(self) -> None:
        assert self._context is not None
        self._context.run(super().run)


Thread314: Any = threading.Thread if sys.version_info >= (3, 14) else LikeThread314


@pytest.mark.parametrize("inherits", [False, True])
def test_a_thread_of_python_3_14_begins_in_a_context_with_a_branch(
    recorded: Sink, monkeypatch: pytest.MonkeyPatch, inherits: bool
) -> None:
    walltime.uninstrument("threading")
    monkeypatch.setattr(context_threading, "_INHERITS", inherits)
    applied = patching.apply([Patch(Thread314, "start", context_threading._start_in_a_context)])
    executions: list[ExecutionContext | None] = []
    with walltime.transaction("job"):
        execution = current()
        threads = [Thread314(target=lambda: executions.append(current())) for _ in range(3)]
        threads[2]._context = contextvars.Context()  # the application's choice
        for thread in threads:
            thread.start()
            thread.join()
        assert current() is execution
    patching.undo(applied)
    assert executions[2] is None
    assert execution not in executions
    assert [found is not None and found.transaction is execution for found in executions] == [True, True, False]


def test_a_thread_that_cannot_be_started_leaves_nothing_behind(recorded: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise RuntimeError("can't start new thread")

    name = "_start_joinable_thread" if hasattr(threading, "_start_joinable_thread") else "_start_new_thread"
    monkeypatch.setattr(threading, name, refuse)
    thread = threading.Thread(target=print)
    before = set(vars(thread))
    with walltime.transaction("job"):
        execution = current()
        with pytest.raises(RuntimeError, match="can't start"):
            thread.start()
        assert current() is execution
    assert set(vars(thread)) == before


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (context, "branch"),
        (propagation, "get_current"),
        (otel_context, "attach"),
        (otel_context, "detach"),
        (context_futures, "_runs_a_context"),
        (context, "_enter"),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_a_failure_of_ours_costs_no_job(recorded: Sink, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ValueError("ours")

    monkeypatch.delenv("WALLTIME_TESTING_RAISE")
    done: list[Job] = []
    with walltime.transaction("job"):
        execution = current()
        monkeypatch.setattr(owner, name, broken)
        for way in [*THREADS, *GREENLETS]:
            way(lambda: done.append(broken))
            assert current() is execution
        monkeypatch.undo()
    assert done == [broken] * WORKERS * len([*THREADS, *GREENLETS])
    assert errors.contained.pop("context") > 0
    assert len(recorded.transactions()) == 1


def test_exceptions_and_results_pass_through_a_pool_as_they_are(recorded: Sink) -> None:
    error = KeyError("mine")

    def fail(*args: object, **kwargs: object) -> object:
        assert args == (1,)
        assert kwargs == {"fn": 2, "self": 3}
        raise error

    with walltime.transaction("job"), ThreadPoolExecutor(1) as pool:
        future = pool.submit(fail, 1, fn=2, self=3)
        assert future.exception() is error
        assert pool.submit(int, "7").result() == 7
        with pytest.raises(TypeError, match="submit"):
            pool.submit()  # type: ignore[call-arg]


def test_all_of_it_is_undone(recorded: Sink) -> None:
    walltime.uninstrument()
    assert threading.Thread.start.__module__ == "threading"
    assert threading.Thread._bootstrap_inner.__code__.co_filename == threading.__file__  # type: ignore[attr-defined]
    assert (
        concurrent.futures.thread.ThreadPoolExecutor.submit.__code__.co_filename == concurrent.futures.thread.__file__
    )
    executions: list[ExecutionContext | None] = []
    with walltime.transaction("job"):
        by_spawn(lambda: executions.append(current()))
        by_thread(lambda: executions.append(current()))
    assert executions == [None] * 2 * WORKERS


def test_coroutines_of_asgiref_leave_their_callers_execution_context(recorded: Sink) -> None:
    async def work() -> None:
        with walltime.component("work"):
            await asyncio.sleep(0)

    with walltime.transaction("job"):
        execution = current()
        for _ in range(3):
            async_to_sync(work)()
            assert current() is execution
    assert recorded.transactions()[0].cell("work") == {"calls": 3}
