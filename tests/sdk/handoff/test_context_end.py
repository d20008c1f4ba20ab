"""What outlives its transaction is not billed to it, and holds nothing of it."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anyio.to_thread
import gevent
import gevent.pool
import pytest
import walltime
from gevent.threadpool import ThreadPool
from walltime import runtime
from walltime.core import transaction as transaction_module
from walltime.core.call import line
from walltime.core.execution import ExecutionContext, current, running
from walltime.core.ids import Ids
from walltime.core.transaction import Transaction

from tests.sdk.handoff.ways import Job
from tests.sdk.sink import Sink


def test_what_outlives_its_transaction_is_not_billed_to_it_and_is_counted(recorded: Sink) -> None:
    ended, done = threading.Event(), threading.Event()

    def work() -> None:
        with walltime.component("early"):
            pass
        with walltime.component("crosses the end"):
            assert ended.wait(5)
        with walltime.component("late"):
            pass
        done.set()

    before = transaction_module.outside_calls.get("late", 0)
    with walltime.transaction("job"):
        threading.Thread(target=work).start()
        time.sleep(0.01)
    ended.set()
    assert done.wait(5)
    (bill,) = recorded.transactions()
    assert set(bill.times_ns()) - {"python.gc"} == {"early"}
    assert transaction_module.outside_calls["late"] - before == 1, "what begins after the end is outside"


def test_a_task_or_a_greenlet_that_outlives_its_transaction_is_counted_as_late(recorded: Sink) -> None:
    async def work() -> None:
        with walltime.component("crosses the end"):
            await asyncio.sleep(0.005)

    async def main() -> None:
        with walltime.transaction("tasks"):
            background = asyncio.create_task(work())
            await asyncio.sleep(0)
        await background

    def in_a_greenlet() -> None:
        with walltime.component("crosses the end"):
            gevent.sleep(0.005)

    before = transaction_module.outside_calls.get("late", 0)
    asyncio.run(main())
    with walltime.transaction("greenlets"):
        greenlet = gevent.spawn(in_a_greenlet)
        gevent.sleep(0)
    greenlet.join()
    assert transaction_module.outside_calls["late"] - before == 2
    assert [found.cell("crosses the end") for found in recorded.transactions()] == [{}, {}]


def test_a_transaction_in_a_thread_that_outlived_another_is_one_of_its_own(recorded: Sink) -> None:
    ended, done = threading.Event(), threading.Event()

    def work() -> None:
        assert ended.wait(5)
        with walltime.transaction("nightly"), walltime.component("step"):
            pass
        done.set()

    with walltime.transaction("request"):
        threading.Thread(target=work).start()
    ended.set()
    assert done.wait(5)
    assert {found.span.name for found in recorded.transactions()} == {"request", "nightly"}


def test_a_job_that_begins_after_the_end_runs_outside(recorded: Sink) -> None:
    executions: list[ExecutionContext | None] = []
    free = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(free.wait, 5)
        with walltime.transaction("job"):
            pool.submit(lambda: executions.append(current()))
        free.set()
    assert executions == [None]


class Subject:
    """Something a call is about, to see whether the transaction that holds the call is still held by anyone."""


def transaction_with(subject: Subject, name: str, hand_over: Callable[[Job], object]) -> None:
    """A transaction that has measured something and handed a job over."""
    with walltime.transaction(name):
        execution = current()
        assert execution is not None
        started_ns = transaction_module.clock()
        execution.record(line("held"), subject, started_ns, started_ns + 1, 0)
        hand_over(lambda: None)


@pytest.fixture
def pools() -> Iterator[dict[str, Callable[[Job], object]]]:
    """Pools whose workers live on after the job, and a thread, a task and a greenlet that do."""
    over = threading.Event()
    executor = ThreadPoolExecutor(1)
    gevent_threads = ThreadPool(1)
    greenlets: list[Any] = []
    loop = asyncio.new_event_loop()
    loop_thread = threading.Thread(target=loop.run_forever)
    loop_thread.start()

    async def in_task(job: Job) -> None:
        async def background() -> None:
            with walltime.component("in the background"):
                await asyncio.sleep(0)
            while not over.is_set():
                await asyncio.sleep(0.005)

        await anyio.to_thread.run_sync(job)
        asyncio.get_running_loop().create_task(background())

    def task(job: Job) -> object:
        return asyncio.run_coroutine_threadsafe(in_task(job), loop).result(5)

    def thread(job: Job) -> object:
        threading.Thread(target=lambda: (job(), over.wait(10))).start()
        return None

    def greenlet(job: Job) -> object:
        greenlets.append(gevent.spawn(lambda: (job(), gevent.sleep(10))))
        return gevent.sleep(0)

    yield {
        "executor": lambda job: executor.submit(job).result(5),
        "gevent_threads": gevent_threads.apply,
        "task": task,
        "thread": thread,
        "greenlet": greenlet,
    }
    over.set()
    gevent.killall(greenlets)
    executor.shutdown()
    gevent_threads.kill()
    time.sleep(0.02)
    loop.call_soon_threadsafe(loop.stop)
    loop_thread.join()
    loop.close()


@pytest.mark.parametrize("pool", ["executor", "gevent_threads", "task", "thread", "greenlet"])
def test_who_lives_on_holds_no_call_of_a_finished_transaction(
    recorded: Sink, pools: dict[str, Callable[[Job], object]], pool: str
) -> None:
    subject = Subject()
    held = weakref.ref(subject)
    transaction_with(subject, pool, pools[pool])
    del subject
    assert len(recorded.transactions()) == 1
    gc.collect()
    assert held() is None
    if pool in {"executor", "gevent_threads"}:
        assert not [found for found in gc.get_objects() if type(found) is Transaction and found.name == pool]


def test_the_export_thread_works_for_nobody(recorded: Sink) -> None:
    def finish_with_another_one_running() -> None:
        other = Transaction("other", "internal", Ids(0, 0), 0, 1)
        running.set(other)
        opened = runtime.Open("finished elsewhere", "internal", None, transaction_module.clock())
        contextvars.Context().run(opened.enter)
        opened.end()

    contextvars.Context().run(finish_with_another_one_running)
    assert recorded.transaction().span.name == "finished elsewhere"
    gc.collect()
    assert not [found for found in gc.get_objects() if type(found) is Transaction and found.name == "other"]
