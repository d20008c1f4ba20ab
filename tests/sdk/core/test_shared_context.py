"""One thread or task at a time is in an execution context; another one gets a branch of its own."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import queue
import socket
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeAlias

import aiomysql
import anyio.from_thread
import anyio.to_thread
import gevent
import pytest
import walltime
from asgiref.sync import async_to_sync
from walltime.core.execution import ExecutionContext, current
from walltime.instrumentation.timed import whole_async

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


def by_greenlet(inner: Callable[[], None]) -> gevent.Greenlet[..., Any]:
    return gevent.spawn(contextvars.copy_context().run, inner)


def by_greenlet_and_lambda(inner: Callable[[], None]) -> gevent.Greenlet[..., Any]:
    context = contextvars.copy_context()
    return gevent.spawn(lambda: context.run(inner))


@pytest.mark.parametrize("spawned", [by_greenlet, by_greenlet_and_lambda])
@pytest.mark.parametrize("is_in_a_greenlet", [False, True])
def test_a_greenlet_in_a_copied_context_is_not_nested_in_what_runs_beside_it(
    recorded: Sink, spawned: Callable[..., Any], is_in_a_greenlet: bool
) -> None:
    def waits(name: str) -> None:
        with walltime.component(name):
            gevent.sleep(SIZE_S)

    def work() -> None:
        with walltime.transaction("job"):
            beside = [spawned(lambda: waits("child")) for _ in range(2)]
            waits("parent")
            gevent.joinall(beside, raise_error=True)

    if is_in_a_greenlet:
        gevent.spawn(work).get()
    else:
        work()
    (bill,) = recorded.transactions()
    assert (bill.cell("parent")["calls"], bill.cell("child")["calls"]) == (1, 2)
    for call in (*recorded.calls("parent"), *recorded.calls("child")):
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


async def in_the_loop() -> None:
    with walltime.component("inner"):
        await asyncio.sleep(0)


async def on_a_worker(way: Callable[[], Any]) -> None:
    with walltime.transaction("job"):
        await anyio.to_thread.run_sync(way)


@pytest.mark.parametrize(
    "start",
    [
        lambda outer: outer(async_to_sync(in_the_loop)),
        lambda outer: asyncio.run(on_a_worker(lambda: outer(lambda: anyio.from_thread.run(in_the_loop)))),
        lambda outer: asyncio.run(on_a_worker(lambda: outer(async_to_sync(in_the_loop)))),
    ],
    ids=["async_to_sync", "anyio.from_thread", "async_to_sync on a worker"],
)
def test_a_coroutine_that_a_thread_waits_for_is_nested_in_it(recorded: Sink, start: Any) -> None:
    def outer(way: Callable[[], Any]) -> None:
        with walltime.transaction("job"), walltime.component("outer"):
            for _ in range(2):
                way()
                child()

    start(outer)
    recorded.transactions()
    (around,) = recorded.calls("outer")
    inner = [*recorded.calls("inner"), *recorded.calls("child")]
    assert len(inner) == 4
    assert around.attributes["walltime.own_ns"] == around.duration_ns - sum(call.duration_ns for call in inner)


async def connects(_self: object) -> None:
    await asyncio.sleep(10)


def waiting_in(context: contextvars.Context, wrapped: Callable[..., Any]) -> Any:
    """Return a coroutine that waits within a transaction of another context."""

    def begin() -> Any:
        with walltime.transaction("first"):
            coroutine = wrapped(None)
            coroutine.send(None)
        return coroutine

    async def main() -> Any:
        return begin()

    return context.run(asyncio.run, main())


@pytest.mark.parametrize("ends", ["close", "throw", "collected"])
def test_a_call_that_is_closed_in_another_context_raises_nothing_there_and_changes_nothing(
    recorded: Sink, ends: str, capsys: pytest.CaptureFixture[str]
) -> None:
    coroutine = waiting_in(contextvars.copy_context(), whole_async(connects))
    error = KeyError("mine")
    with walltime.transaction("second"):
        second = current()
        if ends == "close":
            coroutine.close()
        elif ends == "throw":
            with pytest.raises(KeyError) as raised:
                coroutine.throw(error)
            assert raised.value is error
            assert error.__context__ is None
        del coroutine
        gc.collect()
        assert current() is second
    assert [bill.span.name for bill in recorded.transactions()] == ["first", "second"]
    assert capsys.readouterr().err == ""


def test_a_loop_that_is_stopped_while_a_driver_connects_prints_no_frame_of_ours(
    recorded: Sink, monkeypatch: pytest.MonkeyPatch
) -> None:
    printed: list[str] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda it: printed.extend(traceback.format_tb(it.exc_traceback)))
    with socket.create_server(("127.0.0.1", 0)) as silent:  # accepts, never greets

        async def main() -> None:
            with walltime.transaction("connects"):
                await aiomysql.connect(host="127.0.0.1", port=silent.getsockname()[1], user="x", password="x")

        loop = asyncio.new_event_loop()
        loop.set_exception_handler(lambda _loop, _context: None)
        task = loop.create_task(main())
        loop.call_later(0.05, loop.stop)
        loop.run_forever()
        loop.close()
        del task
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            gc.collect()
    assert [frame for frame in printed if str(Path(walltime.__file__).parent) in frame] == []
