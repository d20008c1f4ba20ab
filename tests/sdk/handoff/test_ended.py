"""What was started in a transaction and goes on after it is outside of any: it carries nothing of the first one."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import logging
import logging.handlers
import multiprocessing.pool
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any, TypeAlias

import gevent
import gevent.event
import pymysql
import pytest
import urllib3
import walltime
from gevent.threadpool import ThreadPool
from opentelemetry import baggage, trace
from opentelemetry import context as otel_context
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from sentry_sdk.worker import BackgroundWorker
from walltime.core.execution import current

from tests.sdk.clients.http.upstream import Upstream
from tests.sdk.handoff.ways import Job
from tests.sdk.sink import Sink

Goes: TypeAlias = Callable[[Callable[[], Any]], Callable[[Job], None]]
"""Starts something in the running transaction. Returns what runs a job there, later."""

_JOBS: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
_DONE: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()


def work() -> None:
    while (job := _JOBS.get(timeout=20)) is not None:
        try:
            job()
        except BaseException as error:  # noqa: BLE001  # the test raises it
            _DONE.put(error)
        else:
            _DONE.put(None)


def by_queue(job: Job) -> None:
    _JOBS.put(job)
    error = _DONE.get(timeout=20)
    if error is not None:
        raise error


@contextmanager
def worker(start: Callable[[], Any]) -> Iterator[Callable[[Job], None]]:
    """What takes its jobs from a queue: it looks for work as long as the process lives."""
    start()
    yield by_queue
    _JOBS.put(None)


def a_thread() -> Any:
    return worker(threading.Thread(target=work).start)


def a_timer() -> Any:
    return worker(threading.Timer(0, work).start)


@contextmanager
def a_job_of_an_executor() -> Iterator[Callable[[Job], None]]:
    with ThreadPoolExecutor(1) as pool, worker(functools.partial(pool.submit, work)) as run:
        yield run


def a_copied_context_in_a_thread() -> Any:
    return worker(threading.Thread(target=contextvars.copy_context().run, args=(work,)).start)


@contextmanager
def a_thread_of_gevent() -> Iterator[Callable[[Job], None]]:
    pool = ThreadPool(1)
    with worker(functools.partial(pool.spawn, work)) as run:
        yield run
    pool.kill()


@contextmanager
def a_pool_of_threads() -> Iterator[Callable[[Job], None]]:
    with multiprocessing.pool.ThreadPool(1) as pool:
        pool.apply(time.time)
        yield pool.apply


@contextmanager
def a_copied_context() -> Iterator[Callable[[Job], None]]:
    yield contextvars.copy_context().run


@contextmanager
def a_greenlet() -> Iterator[Callable[[Job], None]]:
    jobs: Any = gevent.event.AsyncResult()

    def run(job: Job) -> None:
        jobs.set(job)
        greenlet.get()

    greenlet = gevent.spawn(lambda: jobs.get()())  # noqa: PLW0108  # it waits in the greenlet
    gevent.sleep(0)
    yield run


@contextmanager
def on_a_loop(begin: Callable[[asyncio.AbstractEventLoop, asyncio.Future[Job], Callable[[Job], None]], Any]) -> Any:
    """A loop of an earlier time, on which `begin` starts something that does a job when it is there."""
    loop = asyncio.new_event_loop()
    outcome: asyncio.Future[BaseException | None] = loop.create_future()
    job_is_there: asyncio.Future[Job] = loop.create_future()

    def do(job: Job) -> None:
        try:
            job()
        except BaseException as error:  # noqa: BLE001
            outcome.set_result(error)
        else:
            outcome.set_result(None)

    async def main() -> None:
        begin(loop, job_is_there, do)
        await asyncio.sleep(0)

    def run(job: Job) -> None:
        loop.call_soon(job_is_there.set_result, job, context=contextvars.Context())
        error = loop.run_until_complete(outcome)
        if error is not None:
            raise error

    loop.run_until_complete(main())
    yield run
    loop.close()


def a_task() -> Any:
    tasks: list[Any] = []

    async def wait(there: asyncio.Future[Job], do: Callable[[Job], None]) -> None:
        do(await there)

    return on_a_loop(lambda loop, there, do: tasks.append(loop.create_task(wait(there, do))))


def a_callback_of_the_loop() -> Any:
    return on_a_loop(lambda _loop, there, do: there.add_done_callback(lambda it: do(it.result())))


def a_later_callback_of_the_loop() -> Any:
    def look(loop: asyncio.AbstractEventLoop, there: asyncio.Future[Job], do: Callable[[Job], None]) -> None:
        if there.done():
            do(there.result())
        else:
            loop.call_later(0.001, look, loop, there, do)

    return on_a_loop(look)


STARTED = [
    a_thread, a_timer, a_job_of_an_executor, a_copied_context_in_a_thread, a_thread_of_gevent, a_pool_of_threads,
    a_copied_context, a_greenlet, a_task, a_callback_of_the_loop, a_later_callback_of_the_loop,
]  # fmt: skip
started_by = pytest.mark.parametrize("start", STARTED, ids=lambda start: start.__name__)


class Records(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.addFilter(walltime.logs.RequestFilter())
        self.ids: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.ids.append(record.request_id)  # type: ignore[attr-defined]  # of the filter


@started_by
@pytest.mark.parametrize("has_provider", [False, True], ids=["", "OpenTelemetry of the application"])
def test_after_its_transaction_nothing_there_carries_its_ids(
    recorded: Sink, connect: Callable[..., pymysql.connections.Connection[Any]], upstream: Upstream, start: Any,
    has_provider: bool, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    span: Any = nullcontext()
    if has_provider:
        monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider := TracerProvider())
        span = provider.get_tracer("application").start_as_current_span("their own")
    logger = logging.getLogger("application")
    logger.addHandler(handler := Records())
    connection, pool = connect(), urllib3.PoolManager()

    def job() -> None:
        assert current() is None
        assert walltime.current().request_id == ""
        logger.warning("still here")
        if start not in copies or not has_provider:
            assert not trace.get_current_span().get_span_context().is_valid
        assert baggage.get_baggage("customer") is None or start in copies
        with walltime.component("outside"), connection.cursor() as cursor:
            cursor.execute("SELECT info FROM information_schema.processlist WHERE id = CONNECTION_ID()")
            assert cursor.fetchone() == ("SELECT info FROM information_schema.processlist WHERE id = CONNECTION_ID()",)
        pool.request("GET", f"{upstream.url}/plain")
        assert "traceparent" not in upstream.headers[-1]
        with walltime.transaction("its own"):
            own.append(walltime.current().request_id)
            with walltime.component("part"):
                pass
        assert current() is None

    # These copy the application's own context, without us too: what it has put into it stays.
    copies = [
        a_task, a_callback_of_the_loop, a_later_callback_of_the_loop, a_copied_context, a_copied_context_in_a_thread,
    ]  # fmt: skip
    own: list[str] = []
    places = ExitStack()
    try:
        with walltime.transaction("first"):
            first = walltime.current().request_id
            token = otel_context.attach(baggage.set_baggage("customer", "17"))
            with span:
                run = places.enter_context(start())
            otel_context.detach(token)
        run(job)
    finally:
        places.close()
        logger.removeHandler(handler)
    bills = {bill.span.name: bill for bill in recorded.transactions()}
    assert handler.ids == [""]
    assert own[0] != first
    assert bills["its own"].span.trace_id.hex() == own[0]
    assert not bills["its own"].span.parent_span_id
    assert bills["its own"].cell("part") == {"calls": 1}
    assert set(bills["first"].times_ns()) <= {"python.gc"}


def test_a_later_job_of_a_pool_is_on_the_bill_of_who_submitted_it_while_the_first_still_runs(recorded: Sink) -> None:
    def job(name: str) -> None:
        with walltime.component(name):
            pass

    with multiprocessing.pool.ThreadPool(1) as pool:
        ways: list[Callable[[str], Any]] = [
            lambda name: pool.apply(job, (name,)),
            lambda name: pool.map(job, [name]),
            lambda name: pool.starmap(job, [(name,)]),
            lambda name: list(pool.imap(job, [name])),
            lambda name: list(pool.imap_unordered(job, [name])),
            lambda name: pool.apply_async(func=job, args=(name,)).get(5),
        ]
        for way in ways:
            way("before any transaction")
    goes_on, is_over = threading.Event(), threading.Event()
    pools: list[multiprocessing.pool.ThreadPool] = []

    def first() -> None:
        with walltime.transaction("first"):
            pools.append(pool := multiprocessing.pool.ThreadPool(1))
            pool.apply(job, ("of first",))
            goes_on.set()
            assert is_over.wait(10)

    thread = threading.Thread(target=first)
    thread.start()
    assert goes_on.wait(10)
    pool = pools[0]
    for way in ways:
        with walltime.transaction("later"):
            way("of later")
    is_over.set()
    thread.join()
    with walltime.transaction("after"):
        ways[0]("of after")
    pool.terminate()
    found = [(bill.span.name, sorted(set(bill.times_ns()) - {"python.gc"})) for bill in recorded.transactions()]
    assert found == [*[("later", ["of later"])] * len(ways), ("first", ["of first"]), ("after", ["of after"])]


def test_callbacks_of_a_process_pool_are_not_of_the_request_that_started_it(recorded: Sink) -> None:
    seen: list[str] = []
    called = threading.Event()

    def back(_future: object) -> None:
        seen.append(walltime.current().request_id)
        called.set()

    with ProcessPoolExecutor(1) as pool, walltime.transaction("first"):  # starts the thread that calls back
        future = pool.submit(time.sleep, 0.05)
        future.add_done_callback(back)
        assert called.wait(20)
    assert seen == [""]


def test_a_listener_of_logs_does_not_give_its_own_request_to_records(recorded: Sink) -> None:
    records: queue.Queue[Any] = queue.Queue()
    listener = logging.handlers.QueueListener(records, handler := Records())
    with walltime.transaction("first"):
        listener.start()
        records.put(logging.makeLogRecord({"msg": "of another request"}))
        listener.stop()
    assert handler.ids == [""]


class Exports(SpanExporter):
    def __init__(self, act: Callable[[], None]) -> None:
        self.act = act

    def export(self, spans: object) -> SpanExportResult:
        self.act()
        return SpanExportResult.SUCCESS


def by_opentelemetry(act: Callable[[], None]) -> None:
    processor = BatchSpanProcessor(Exports(act), schedule_delay_millis=1)
    (provider := TracerProvider()).add_span_processor(processor)
    provider.get_tracer("application").start_span("their own").end()


def by_sentry(act: Callable[[], None]) -> None:
    BackgroundWorker().submit(act)


@pytest.mark.parametrize("by", [by_opentelemetry, by_sentry])
def test_the_thread_of_an_agent_that_a_request_starts_is_not_of_that_request(
    recorded: Sink, by: Callable[[Callable[[], None]], None]
) -> None:
    seen: list[str] = []
    called = threading.Event()

    def act() -> None:
        seen.append(walltime.current().request_id)
        called.set()

    with walltime.transaction("first"):
        by(act)
        assert called.wait(20)
    assert seen == [""]


def test_a_worker_draws_its_own_sample(recorded: Sink) -> None:
    places, ids = ExitStack(), []
    with walltime.transaction("first"):
        run = places.enter_context(a_thread())

    def job() -> None:
        with walltime.transaction("job"):
            ids.append(walltime.current().request_id)

    with places:
        for _ in range(50):
            run(job)
    assert len(set(ids)) == 50


def test_who_goes_on_in_a_forked_child_is_outside_too(recorded: Sink) -> None:
    read, write = os.pipe()
    with walltime.transaction("first"):
        context = contextvars.copy_context()
        pid = os.fork()
        if pid == 0:
            is_outside = context.run(current) is None and context.run(walltime.current).request_id == ""
            os.write(write, b"%d" % is_outside)
            os._exit(0)
        os.waitpid(pid, 0)
    assert os.read(read, 9) == b"1"
    os.close(read)
    os.close(write)
