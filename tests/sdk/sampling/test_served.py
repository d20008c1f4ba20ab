"""Where the sampler finds a transaction: threads, asyncio, greenlets, forks."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from types import FrameType
from typing import Any

import pytest
import walltime
from fastapi import APIRouter, FastAPI
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from walltime.core.transaction import clock
from walltime.sampling import serving, suspended, tick

from tests.sdk.sampling.sampled import ALMOST_ALWAYS, COMPUTING, Entry, busy, entries, sampled, share
from tests.sdk.sink import Sink

pytestmark = pytest.mark.alone  # what it asserts are times


def sampled_in_asyncio(sink: Sink, view: Callable[[], Awaitable[object]], beside: int = 1) -> list[Entry]:
    """Sample ASGI requests, `beside` of them at the same time."""

    async def app(_scope: object, _receive: object, _send: object) -> None:
        await view()

    return sampled_asgi(sink, walltime.ASGIMiddleware(app), beside)


def sampled_asgi(sink: Sink, asgi: Any, beside: int) -> list[Entry]:
    walltime.configure(endpoint=sink.endpoint, sample_hz=250)

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(_message: object) -> None: ...

    def scope() -> dict[str, Any]:
        return {"type": "http", "method": "GET", "scheme": "http", "path": "/", "headers": [], "query_string": b""}

    async def serve() -> None:
        ends_s = time.monotonic() + 20
        while walltime.counters().get("samples", 0) < 30 and time.monotonic() < ends_s:
            await asyncio.gather(*[asgi(scope(), receive, send) for _ in range(beside)])

    asyncio.run(serve())
    assert walltime.flush()
    return entries(*sink.transactions())


def test_a_coroutine_that_computes(sink: Sink) -> None:
    async def view() -> None:
        busy(20)
        await asyncio.sleep(0)

    found = sampled_in_asyncio(sink, view)
    assert share(found, stack="busy (", state=COMPUTING) >= ALMOST_ALWAYS


def test_a_coroutine_that_sleeps(sink: Sink) -> None:
    async def pause() -> None:
        await asyncio.sleep(0.02)

    found = sampled_in_asyncio(sink, pause, beside=3)
    assert share(found, function="pause", state="sleep", library="asyncio.tasks.sleep") >= ALMOST_ALWAYS


def test_a_coroutine_that_waits_for_a_lock(sink: Sink) -> None:
    async def view() -> None:
        lock = asyncio.Lock()
        await lock.acquire()
        asyncio.get_running_loop().call_later(0.02, lock.release)
        async with lock:
            pass

    assert share(sampled_in_asyncio(sink, view), function="view", state="lock") >= ALMOST_ALWAYS


def test_a_coroutine_that_waits_for_the_event_loop(sink: Sink) -> None:
    async def view() -> None:
        await asyncio.sleep(0)
        busy(10)

    found = sampled_in_asyncio(sink, view, beside=4)
    assert share(found, state="loop") > 0.2
    assert share(found, stack="busy (", state=COMPUTING) > 0.1


def test_a_child_task_that_computes(sink: Sink) -> None:
    async def child() -> None:
        busy(50)

    async def view() -> None:
        await asyncio.gather(child(), asyncio.sleep(0))

    found = sampled_in_asyncio(sink, view)
    assert share(found, stack="busy (", state=COMPUTING) >= ALMOST_ALWAYS


def test_a_child_task_that_waits(sink: Sink) -> None:
    async def child() -> None:
        await asyncio.sleep(0.02)

    async def view() -> None:
        await asyncio.create_task(child())

    found = sampled_in_asyncio(sink, view)
    assert share(found, stack="child (", state="sleep") >= ALMOST_ALWAYS


@pytest.mark.parametrize("framework", ["starlette", "fastapi"])
def test_a_route_behind_a_middleware_that_has_a_task_of_its_own(sink: Sink, framework: str) -> None:
    async def page(request: Request) -> PlainTextResponse:
        await asyncio.sleep(0.02)
        return PlainTextResponse(request.url.path)

    async def passes(request: Any, call_next: Any) -> Any:
        return await call_next(request)

    walltime.instrument("starlette", framework)
    between = [Middleware(BaseHTTPMiddleware, dispatch=passes)]
    app: Starlette
    if framework == "fastapi":
        router = APIRouter()
        router.add_api_route("/", page)
        app = FastAPI(middleware=between)
        app.include_router(router)
    else:
        app = Starlette(routes=[Route("/", page)], middleware=between)
    found = sampled_asgi(sink, app, beside=3)
    assert share(found, stack="page (", state="sleep") >= ALMOST_ALWAYS


def test_a_job_in_another_thread_decides_what_its_transaction_does(sink: Sink) -> None:
    walltime.instrument()

    def job() -> None:
        busy(50)

    with ThreadPoolExecutor(1) as pool:
        found = sampled(sink, lambda: pool.submit(job).result(), samples=60)
    assert share(found, stack="job (", state=COMPUTING) >= ALMOST_ALWAYS


def test_threads_beside_each_other_have_their_own_samples(sink: Sink) -> None:
    walltime.configure(endpoint=sink.endpoint, sample_hz=250)
    ended = threading.Event()

    def serve(name: str, work: Callable[[], None]) -> None:
        while not ended.is_set():
            with walltime.transaction(name):
                work()

    def pause() -> None:
        time.sleep(0.02)

    def compute() -> None:
        busy(10)

    threads = [threading.Thread(target=serve, args=(work.__name__, work)) for work in (pause, compute) * 3]
    for thread in threads:
        thread.start()
    ends_s = time.monotonic() + 20
    while walltime.counters().get("samples", 0) < 100 and time.monotonic() < ends_s:
        time.sleep(0.01)
    ended.set()
    for thread in threads:
        thread.join()
    assert walltime.flush()
    for name in ("pause", "compute"):
        found = entries(*[each for each in sink.transactions() if each.span.name == name])
        assert share(found, stack=f"{name} (") >= ALMOST_ALWAYS


def sampled_by_a_program(sink: Sink, program: str) -> list[Entry]:
    """Run a program of its own and return the samples of its transactions."""
    environ = {
        "PYTHONPATH": ":".join(sys.path),
        "OTEL_EXPORTER_OTLP_ENDPOINT": sink.endpoint.removesuffix("/v1/traces"),
        "WALLTIME_SAMPLE_HZ": "250",
        "WALLTIME_TESTING_RAISE": "1",
    }
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(program)]
    ran = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    return entries(*sink.transactions())


def test_a_forked_child_has_its_own_sampler(sink: Sink) -> None:
    found = sampled_by_a_program(
        sink,
        """
        import os, time, walltime

        def pause():
            time.sleep(0.2)

        def in_the_child():
            time.sleep(0.2)

        with walltime.transaction("parent"):
            pause()
            if not os.fork():
                with walltime.transaction("child"):
                    in_the_child()
                walltime.shutdown()
                os._exit(0)
            assert os.waitstatus_to_exitcode(os.wait()[1]) == 0
        """,
    )
    for function in ("pause", "in_the_child"):
        of_function = [each for each in found if each.function == function]
        assert sum(each.count for each in of_function) > 2
        assert share(of_function, state="sleep") >= ALMOST_ALWAYS


def test_greenlets_of_gevent(sink: Sink) -> None:
    found = sampled_by_a_program(
        sink,
        """
        from gevent import monkey
        monkey.patch_all()
        import gevent, threading, time
        import walltime

        lock = threading.Lock()

        def pause():
            time.sleep(0.1)

        def compute():
            ends = time.monotonic() + 0.2
            while time.monotonic() < ends:
                sum(range(100))

        def reserve():
            with lock:
                time.sleep(0.05)

        def serve(work):
            for _ in range(5):
                with walltime.transaction(work.__name__):
                    work()
                gevent.sleep(0)

        gevent.joinall([gevent.spawn(serve, work) for work in (pause, compute, reserve, reserve)], raise_error=True)
        """,
    )
    for name, states in (("pause", {"sleep"}), ("compute", COMPUTING), ("reserve", {"sleep", "lock"})):
        of_name = [each for each in found if f"{name} (" in each.stack]
        assert sum(each.count for each in of_name) > 2, name
        assert share(of_name, state=states) >= 0.8, (name, of_name)


def test_a_subinterpreter_ends_with_its_sampler(sink: Sink) -> None:
    sampled_by_a_program(
        sink,
        """
        try:
            import _interpreters as interpreters
            one = interpreters.create("legacy")
        except ImportError:  # before Python 3.13
            import _xxsubinterpreters as interpreters
            one = interpreters.create(isolated=False)
        failed = interpreters.run_string(one, "import time, walltime\\n"
            "walltime.configure(exporters='none', sample_hz=250)\\n"
            "with walltime.transaction('work'): time.sleep(0.1)\\n"
            "assert walltime.counters().get('samples')\\n"
            "walltime.shutdown()\\n")
        assert failed is None, failed
        interpreters.destroy(one)
        """,
    )


def test_a_transaction_that_goes_on_many_times_is_looked_at_once() -> None:
    walltime.configure(exporters="none", sample_hz=1)
    serving.reset(None, is_forked=False)  # the ticks are here

    @walltime.transaction("items")
    async def items() -> AsyncIterator[int]:
        for number in range(1000):
            yield number

    async def read() -> set[int]:
        ticks, kept = tick.Ticks(), set()
        async for number in items():
            if not number % 100:
                ticks.tick(clock())
                kept.add(len(ticks._served))
        return kept

    assert asyncio.run(read()) == {1}


def test_a_task_that_ends_meanwhile_has_no_context() -> None:
    loop = asyncio.new_event_loop()
    ran: list[FrameType] = []
    loop.call_soon(lambda: ran.append(sys._getframe(1)))  # of `Handle._run`, which forgets its handle at its end
    loop.call_soon(loop.stop)
    loop.run_forever()
    loop.close()
    assert suspended._context_of(object(), ran[0]) == {}
