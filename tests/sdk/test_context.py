"""The transaction goes along with work that is handed to threads, tasks and greenlets, and no further."""

from __future__ import annotations

import asyncio
import concurrent.futures.thread
import contextvars
import gc
import itertools
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
from asgiref.sync import sync_to_async
from gevent.threadpool import ThreadPool
from opentelemetry import baggage
from opentelemetry import context as otel_context
from opentelemetry.trace import INVALID_SPAN_CONTEXT
from starlette.concurrency import run_in_threadpool
from walltime import context, errors, hotpath, runtime
from walltime.call import line
from walltime.context import futures as context_futures
from walltime.context import gevent as context_gevent
from walltime.hotpath import Transaction

from tests.sdk.sink import Sink

Job = Callable[[], Any]
WORKERS = 3


def by_thread(job: Job) -> None:
    threads = [threading.Thread(target=job) for _ in range(WORKERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def by_thread_of_its_own_class(job: Job) -> None:
    class Worker(threading.Thread):
        def run(self) -> None:  # without super().run()
            job()

    threads = [Worker() for _ in range(WORKERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def by_timer(job: Job) -> None:
    timers = [threading.Timer(0, job) for _ in range(WORKERS)]
    for timer in timers:
        timer.start()
    for timer in timers:
        timer.join()


def by_submit(job: Job) -> None:
    with ThreadPoolExecutor(2) as pool:
        for future in [pool.submit(job) for _ in range(WORKERS)]:
            future.result()


def by_map(job: Job) -> None:
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: job(), range(WORKERS)))


def by_to_thread(job: Job) -> None:
    async def main() -> None:
        await asyncio.gather(*(asyncio.to_thread(job) for _ in range(WORKERS)))

    asyncio.run(main())


def by_run_in_executor(job: Job) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        await asyncio.gather(*(loop.run_in_executor(None, job) for _ in range(WORKERS)))

    asyncio.run(main())


def by_context_run(job: Job) -> None:
    with ThreadPoolExecutor(2) as pool:
        for future in [pool.submit(contextvars.copy_context().run, job) for _ in range(WORKERS)]:
            future.result()


def by_anyio(job: Job) -> None:
    async def main() -> None:
        await asyncio.gather(*(anyio.to_thread.run_sync(job) for _ in range(WORKERS)))

    asyncio.run(main())


def by_starlette(job: Job) -> None:
    async def main() -> None:
        await asyncio.gather(*(run_in_threadpool(job) for _ in range(WORKERS)))

    asyncio.run(main())


def by_asgiref(job: Job) -> None:
    async def main() -> None:
        await asyncio.gather(*(sync_to_async(job, thread_sensitive=False)() for _ in range(WORKERS)))

    asyncio.run(main())


def by_spawn(job: Job) -> None:
    gevent.joinall([gevent.spawn(job) for _ in range(WORKERS)], raise_error=True)


def by_spawn_later(job: Job) -> None:
    gevent.joinall([gevent.spawn_later(0.001, job) for _ in range(WORKERS)], raise_error=True)


def by_pool(job: Job) -> None:
    gevent.pool.Pool(2).map(lambda _: job(), range(WORKERS))


def by_imap(job: Job) -> None:
    list(gevent.pool.Group().imap_unordered(lambda _: job(), range(WORKERS)))


def by_threadpool(job: Job) -> None:
    pool = ThreadPool(2)
    try:
        for result in [pool.spawn(job) for _ in range(WORKERS)]:
            result.get()
    finally:
        pool.kill()


THREADS = [
    by_thread, by_thread_of_its_own_class, by_timer, by_submit, by_map, by_to_thread, by_run_in_executor,
    by_context_run, by_anyio, by_starlette, by_asgiref, by_threadpool,
]  # fmt: skip
GREENLETS = [by_spawn, by_spawn_later, by_pool, by_imap]
ways = pytest.mark.parametrize("way", [*THREADS, *GREENLETS], ids=lambda way: way.__name__)


@ways
def test_work_that_is_handed_over_is_billed_to_who_handed_it_over(recorded: Sink, way: Callable[[Job], None]) -> None:
    strands: list[hotpath.Strand | None] = []
    baggages: list[object] = []
    numbers = itertools.count()
    both_here = threading.Barrier(1 if way in GREENLETS else 2)

    def work() -> None:
        if next(numbers) < 2:
            both_here.wait(5)  # two of them at once, at least
        strands.append(hotpath.current())
        baggages.append(baggage.get_baggage("customer"))
        with walltime.component("work"), walltime.component("part"):
            gevent.sleep(0.001) if way in GREENLETS else time.sleep(0.001)

    with walltime.transaction("job"):
        own = hotpath.current()
        token = otel_context.attach(baggage.set_baggage("customer", "17"))
        way(work)
        otel_context.detach(token)
    (bill,) = recorded.transactions()
    assert bill.cell("work") == bill.cell("part") == {"calls": WORKERS}
    assert baggages == ["17"] * WORKERS
    assert len({id(strand) for strand in strands} - {id(own)}) == WORKERS, "each has a strand of its own"
    assert bill.attributes["walltime.covered_ns"] <= bill.duration_ns


@ways
def test_outside_of_a_transaction_nothing_goes_along(recorded: Sink, way: Callable[[Job], None]) -> None:
    handed: list[Job] = []

    def work() -> None:
        assert hotpath.current() is None
        handed.append(work)

    way(work)
    assert handed == [work] * WORKERS


@pytest.mark.setting("context_threads")
@pytest.mark.parametrize("way", [by_thread, by_submit, by_spawn, by_threadpool], ids=lambda way: way.__name__)
def test_it_can_be_switched_off(recorded: Sink, way: Callable[[Job], None]) -> None:
    walltime.configure(endpoint=recorded.endpoint, context_threads=False)
    strands: list[hotpath.Strand | None] = []
    with walltime.transaction("job"):
        way(lambda: strands.append(hotpath.current()))
    assert strands == [None] * WORKERS


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


def test_a_task_has_a_strand_of_its_own_and_their_overlap_is_covered_once(recorded: Sink) -> None:
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

    before = hotpath.outside_calls.get("late", 0)
    with walltime.transaction("job"):
        threading.Thread(target=work).start()
        time.sleep(0.01)
    ended.set()
    assert done.wait(5)
    (bill,) = recorded.transactions()
    assert set(bill.times_ns()) - {"python.gc"} == {"early"}
    assert hotpath.outside_calls["late"] - before == 2


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

    before = hotpath.outside_calls.get("late", 0)
    asyncio.run(main())
    with walltime.transaction("greenlets"):
        greenlet = gevent.spawn(in_a_greenlet)
        gevent.sleep(0)
    greenlet.join()
    assert hotpath.outside_calls["late"] - before == 2
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
    strands: list[hotpath.Strand | None] = []
    free = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(free.wait, 5)
        with walltime.transaction("job"):
            pool.submit(lambda: strands.append(hotpath.current()))
        free.set()
    assert strands == [None]


class Subject:
    """Something a call is about, to see whether the transaction that holds the call is still held by anyone."""


def transaction_with(subject: Subject, name: str, hand_over: Callable[[Job], object]) -> None:
    """A transaction that has measured something and handed a job over."""
    with walltime.transaction(name):
        strand = hotpath.current()
        assert strand is not None
        started_ns = hotpath.clock()
        strand.record(line("held"), subject, started_ns, started_ns + 1, 0)
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
        assert not [found for found in gc.get_objects() if isinstance(found, Transaction) and found.name == pool]


def test_the_export_thread_works_for_nobody(recorded: Sink) -> None:
    def finish_with_another_one_running() -> None:
        other = Transaction("other", "internal", INVALID_SPAN_CONTEXT, 0, 1)
        hotpath.strand.set(other)
        opened = runtime.Open("finished elsewhere", "internal", None, hotpath.clock())
        contextvars.Context().run(opened.enter)
        opened.end()

    contextvars.Context().run(finish_with_another_one_running)
    assert recorded.transaction().span.name == "finished elsewhere"
    gc.collect()
    assert not [found for found in gc.get_objects() if isinstance(found, Transaction) and found.name == "other"]


def test_a_thread_that_cannot_be_started_leaves_nothing_behind(recorded: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise RuntimeError("can't start new thread")

    name = "_start_joinable_thread" if hasattr(threading, "_start_joinable_thread") else "_start_new_thread"
    monkeypatch.setattr(threading, name, refuse)
    thread = threading.Thread(target=print)
    before = set(vars(thread))
    with walltime.transaction("job"):
        strand = hotpath.current()
        with pytest.raises(RuntimeError, match="can't start"):
            thread.start()
        assert hotpath.current() is strand
    assert set(vars(thread)) == before


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (context, "branch"),
        (otel_context, "get_current"),
        (otel_context, "attach"),
        (otel_context, "detach"),
        (context_gevent, "branch"),
        (context_futures, "_runs_a_context"),
        (context_gevent, "_enter"),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_a_failure_of_ours_costs_no_job(recorded: Sink, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ValueError("ours")

    monkeypatch.delenv("WALLTIME_TESTING_RAISE")
    done: list[Job] = []
    with walltime.transaction("job"):
        strand = hotpath.current()
        monkeypatch.setattr(owner, name, broken)
        for way in [*THREADS, *GREENLETS]:
            way(lambda: done.append(broken))
            assert hotpath.current() is strand
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
    strands: list[hotpath.Strand | None] = []
    with walltime.transaction("job"):
        by_spawn(lambda: strands.append(hotpath.current()))
        by_thread(lambda: strands.append(hotpath.current()))
    assert strands == [None] * 2 * WORKERS
