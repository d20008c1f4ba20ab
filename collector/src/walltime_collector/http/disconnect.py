"""Runs blocking work in a thread and cancels it when the client disconnects."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any, TypeVar

from .body import Disconnected, Receive

T = TypeVar("T")


async def cancel_on_disconnect(
    receive: Receive, threads: Executor, work: Callable[[], T], stop: Callable[[], None]
) -> T:
    """
    Return what `work` returns, or raise what it raises.

    Args:
        receive: Of ASGI, after the body was read: the next event is the client's disconnect.
        stop: Called in a thread when the client disconnects after `work` has begun; it makes `work` end soon.

    Raises:
        Disconnected: The client is gone.
    """
    job = threads.submit(work)
    working = asyncio.wrap_future(job)
    leaving = asyncio.ensure_future(_wait_for_disconnect(receive))
    either: set[asyncio.Future[Any]] = {working, leaving}
    try:
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        working.add_done_callback(lambda done: done.cancelled() or done.exception())  # mark an error as retrieved
        if not job.cancel():  # asyncio's future can always be cancelled, even while the thread runs
            await asyncio.get_running_loop().run_in_executor(None, stop)
        raise Disconnected
    finally:
        leaving.cancel()


@contextmanager
def watched(receive: Receive) -> Iterator[Callable[[], bool]]:
    """In the block, the function returns whether the client still waits, since its first call; `receive` as above."""
    leaving: asyncio.Future[None] | None = None

    def is_waiting() -> bool:
        nonlocal leaving
        if leaving is None:  # a task for each request would cost more than the rest of a small one
            leaving = asyncio.ensure_future(_wait_for_disconnect(receive))
        return not leaving.done()

    try:
        yield is_waiting
    finally:
        if leaving is not None:
            leaving.cancel()


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
