"""Time on the event loop: of a transaction's own steps, and of waiting for others; its coroutine notices nothing."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import socket
import sys
import threading
import time
import traceback
import weakref
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from typing import Any

import anyio
import pytest
import uvloop
import walltime
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from walltime.core import event_loop
from walltime.core.event_loop import LoopTimes
from walltime.core.steps import steps
from walltime.core.transaction import clock

from tests.sdk.sink import Received, Sink

pytestmark = pytest.mark.alone  # what it asserts are times

LOOPS: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {
    "asyncio": asyncio.new_event_loop,
    "uvloop": uvloop.new_event_loop,
}
HELD_S = 0.2
MS = 1_000_000


@pytest.fixture(params=LOOPS)
def run(request: pytest.FixtureRequest) -> Iterator[Callable[[Awaitable[Any]], Any]]:
    loop = LOOPS[request.param]()
    yield loop.run_until_complete
    loop.close()


async def request(handle: Callable[[], Awaitable[None]], path: str = "/") -> None:
    """One request whose application does this before it responds."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        walltime.current().set_name(f"GET {path}")
        await handle()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def receive() -> dict[str, Any]:
        return {"type": "http.request"}

    async def send(message: Any) -> None: ...

    scope = {"type": "http", "method": "GET", "scheme": "http", "path": path, "headers": []}
    await walltime.ASGIMiddleware(app)(scope, receive, send)


def _compute(seconds: float) -> None:
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


def _check(span: Received) -> None:
    of = span.attributes
    assert of["walltime.loop_run_ns"] + of["walltime.loop_wait_ns"] <= span.duration_ns


async def _socket_wait(reply_s: float = 0.005) -> None:
    """Wait for data that another thread sends after this time."""
    left, right = await asyncio.open_connection(*(await _echo()))
    right.write(b"%f\n" % reply_s)
    await left.readline()
    right.close()
    await right.wait_closed()


async def _echo() -> tuple[str, int]:
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection, _ = server.accept()
        with server, connection:
            time.sleep(float(connection.recv(100)))
            connection.sendall(b"\n")

    threading.Thread(target=serve).start()
    host, port = server.getsockname()[:2]
    return host, port


def test_a_step_of_another_task_that_holds_the_loop_up_is_a_wait_of_who_is_ready(
    recorded: Sink, run: Callable[[Awaitable[Any]], Any]
) -> None:
    held_s = 0.0

    def hold() -> None:
        nonlocal held_s
        began_s = time.monotonic()
        time.sleep(HELD_S)
        held_s = time.monotonic() - began_s

    async def both() -> None:
        victim = asyncio.create_task(request(lambda: _socket_wait(0.03), "/victim"))
        await asyncio.sleep(0.02)
        asyncio.get_running_loop().call_soon(hold)
        await victim

    run(both())
    (found,) = recorded.transactions()
    _check(found)
    assert HELD_S - 0.02 <= found.attributes["walltime.loop_wait_ns"] / 1e9 <= 2 * held_s
    assert found.attributes["walltime.loop_held_ns"] >= (HELD_S - 0.02) * 1e9
    assert found.attributes["walltime.loop_run_ns"] < found.attributes["walltime.loop_wait_ns"] / 2


def test_a_wait_for_something_else_is_no_wait_for_the_loop(
    recorded: Sink, run: Callable[[Awaitable[Any]], Any]
) -> None:
    async def alone() -> None:
        await request(lambda: _socket_wait(0.1))
        await request(lambda: asyncio.sleep(0.1))

    waits_ns = []
    for _ in range(5):
        run(alone())
    for found in recorded.transactions():
        _check(found)
        waits_ns.append(found.attributes["walltime.loop_wait_ns"])
    assert sorted(waits_ns)[:5] == [0] * 5, "the others may have been held up by this machine's load"


def test_the_time_of_the_steps_and_the_cpu_time_in_them(recorded: Sink, run: Callable[[Awaitable[Any]], Any]) -> None:
    async def work() -> None:
        for _ in range(5):
            _compute(0.01)
            await asyncio.sleep(0.01)
        time.sleep(0.03)

    run(request(work))
    (found,) = recorded.transactions()
    _check(found)
    cpu_ns = found.attributes["walltime.cpu_user_ns"] + found.attributes["walltime.cpu_system_ns"]
    assert 45 * MS < cpu_ns < 70 * MS
    assert found.attributes["walltime.loop_run_ns"] > 80 * MS


def test_what_held_the_loop_up_is_noted_by_line(recorded: Sink, run: Callable[[Awaitable[Any]], Any]) -> None:
    walltime.configure(endpoint=recorded.endpoint, sample_probability=1.0, sample_hz=100.0)

    async def both() -> None:
        victim = asyncio.create_task(request(lambda: _socket_wait(0.03), "/victim"))
        await asyncio.sleep(0.02)
        await request(_culprit, "/culprit")
        await victim

    for _ in range(5):  # on a busy machine, the sampler may have no CPU while the loop is held up
        run(both())
        found = {span.span.name: span.attributes for span in recorded.transactions()}
        if found["GET /victim"].get("walltime.loop_held_line") and found["GET /culprit"].get(
            "walltime.loop_longest_line"
        ):
            break
    line = f"{__name__.replace('.', '/')}.py:{_culprit.__code__.co_firstlineno + 1} _culprit"
    assert found["GET /victim"]["walltime.loop_held_line"] == line
    assert found["GET /culprit"]["walltime.loop_longest_line"] == line
    assert found["GET /culprit"]["walltime.loop_longest_ns"] >= HELD_S * 1e9
    assert "walltime.loop_longest_ns" not in found["GET /victim"]


async def _culprit() -> None:
    time.sleep(HELD_S)


def test_jobs_in_other_threads_count_as_cpu_time(recorded: Sink, run: Callable[[Awaitable[Any]], Any]) -> None:
    run(request(lambda: asyncio.to_thread(_compute, 0.05)))
    (found,) = recorded.transactions()
    cpu_ns = found.attributes["walltime.cpu_user_ns"] + found.attributes["walltime.cpu_system_ns"]
    assert 50 * MS <= cpu_ns < 70 * MS
    assert 0 <= found.attributes["walltime.cpu_wait_ns"] <= found.duration_ns


def test_steps_in_the_task_of_a_middleware_count_as_well(recorded: Sink, run: Callable[[Awaitable[Any]], Any]) -> None:
    async def page(_request: Any) -> PlainTextResponse:
        _compute(0.03)
        await asyncio.sleep(0.01)
        _compute(0.03)
        return PlainTextResponse("hello")

    async def passes(request: Any, call_next: Any) -> Any:
        return await call_next(request)

    app = Starlette(routes=[Route("/", page)], middleware=[Middleware(BaseHTTPMiddleware, dispatch=passes)])

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None: ...

    scope = {"type": "http", "method": "GET", "scheme": "http", "path": "/", "headers": [], "query_string": b""}
    run(app(scope, receive, send))
    (found,) = recorded.transactions()
    _check(found)
    assert (
        60 * MS <= found.attributes["walltime.loop_run_ns"] <= found.duration_ns - 8 * MS
    )  # a sleep of 10 ms may last 9


def test_the_timer_stops_with_the_last_transaction(recorded: Sink, run: Callable[[Awaitable[Any]], Any]) -> None:
    async def ends() -> bool:
        await request(lambda: asyncio.sleep(0))
        await asyncio.sleep(0.03)
        return event_loop._loops[asyncio.get_running_loop()].is_beating

    assert run(ends()) is False


def test_the_timer_comes_more_rarely_until_something_holds_the_loop_up(
    recorded: Sink, run: Callable[[Awaitable[Any]], Any]
) -> None:
    beats_ns: list[int] = []

    async def served() -> None:
        loop = event_loop._loops[asyncio.get_running_loop()]
        while loop.beat_ns < event_loop.LONGEST_BEAT_NS:
            await asyncio.sleep(0.01)
        time.sleep(0.01)
        await asyncio.sleep(0)
        beats_ns.append(loop.beat_ns)

    run(request(served))
    assert beats_ns == [event_loop.BEAT_NS]


@pytest.mark.setting("loop_times")
def test_switched_off_nothing_is_wrapped(sink: Sink, run: Callable[[Awaitable[Any]], Any]) -> None:
    walltime.configure(endpoint=sink.endpoint, sample_probability=1.0, loop_times=False)

    async def app() -> None:
        assert "steps" not in [frame.name for frame in traceback.extract_stack()]

    run(request(app))
    (found,) = sink.transactions()
    assert not [name for name in found.attributes if name.startswith(("walltime.loop_", "walltime.cpu_"))]


# ---- the coroutine notices nothing ----

_variable: contextvars.ContextVar[int] = contextvars.ContextVar("variable")


async def _sets_a_variable() -> Any:
    _variable.set(7)
    await asyncio.sleep(0)
    return _variable.get()


async def _is_cancelled() -> Any:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    try:
        await asyncio.sleep(1)
    except asyncio.CancelledError:
        await asyncio.sleep(0)
        handled = sys.exc_info()[0]
    return handled, sys.exc_info()


async def _catches_and_goes_on() -> Any:
    future = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(future.set_exception, KeyError("of the future"))
    with suppress(KeyError):
        await future
    return sys.exc_info()


async def _raises() -> Any:
    await asyncio.sleep(0)
    raise LookupError("mine")


async def _raises_stop_iteration() -> Any:
    raise StopIteration(3)


async def _generates() -> Any:
    async def numbers() -> Any:
        try:
            for number in range(3):
                await asyncio.sleep(0)
                yield number
        finally:
            await asyncio.sleep(0)
            closed.append(True)

    closed: list[bool] = []
    generator = numbers()
    async for number in generator:
        if number == 1:
            break
    await generator.aclose()
    return closed


async def _times_out() -> Any:
    try:
        await asyncio.wait_for(asyncio.sleep(1), 0.01)
    except asyncio.TimeoutError as error:
        return type(error.__context__ or error.__cause__)


async def _leaves_a_cancel_scope() -> Any:
    with anyio.move_on_after(0.01) as scope:
        await anyio.sleep(1)
    async with anyio.create_task_group() as group:
        group.start_soon(anyio.sleep, 0)
    return scope.cancelled_caught


async def _outcome(coroutine: Awaitable[Any]) -> Any:
    try:
        return await coroutine
    except (ArithmeticError, LookupError, RuntimeError) as error:
        return type(error), str(error), type(error.__context__), type(error.__cause__)


@pytest.mark.parametrize(
    "body",
    [
        _sets_a_variable, _is_cancelled, _catches_and_goes_on, _raises, _raises_stop_iteration, _generates, _times_out,
        _leaves_a_cancel_scope,
    ],
)  # fmt: skip
def test_a_driven_coroutine_does_what_it_does_alone(
    run: Callable[[Awaitable[Any]], Any], body: Callable[[], Any]
) -> None:
    async def driven() -> Any:
        times = LoopTimes(asyncio.get_running_loop(), 0, clock(), has_beat=True)
        outcome = await _outcome(steps(body(), times))
        times.stop()
        assert times.run_ns > 0
        return outcome

    assert run(driven()) == run(_outcome(body()))


def test_closing_the_driver_closes_the_coroutine() -> None:
    closed = []

    async def body() -> None:
        try:
            await asyncio.sleep(0)
        finally:
            closed.append(sys.exc_info()[0])

    async def close() -> None:
        times = LoopTimes(asyncio.get_running_loop(), 0, clock(), has_beat=False)
        driver = steps(body(), times)
        driver.send(None)
        driver.close()

    asyncio.run(close())
    assert closed == [GeneratorExit]


def test_a_thrown_exception_leaves_no_cycle(run: Callable[[Awaitable[Any]], Any]) -> None:
    class Mine(Exception):
        pass

    async def body() -> None:
        future = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(future.cancel)
        try:
            await future
        except asyncio.CancelledError:
            error = Mine()
            references.append(weakref.ref(error))
            try:
                raise error from None
            finally:
                del error

    async def driven() -> None:
        times = LoopTimes(asyncio.get_running_loop(), 0, clock(), has_beat=False)
        with suppress(Mine):
            await steps(body(), times)

    references: list[weakref.ref[Mine]] = []
    gc.disable()
    try:
        run(driven())
        assert references[0]() is None
    finally:
        gc.enable()
