"""Work for somebody who may leave: it runs in a thread, and is stopped when the connection it is for ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any, TypeVar

from .body import Disconnected, Receive

T = TypeVar("T")


async def attended(receive: Receive, threads: Executor, work: Callable[[], T], stop: Callable[[], None]) -> T:
    """
    Return what `work` returns, or raise what it raises.

    Args:
        receive: Of ASGI, after the body was read: what comes next is that the asker left.
        stop: Called in a thread when the asker leaves and `work` has begun; it makes `work` end soon.

    Raises:
        Disconnected: There is nobody to answer any more.
    """
    loop = asyncio.get_running_loop()
    job = threads.submit(work)
    working = asyncio.wrap_future(job)
    leaving = asyncio.ensure_future(_left(receive))
    either: set[asyncio.Future[Any]] = {working, leaving}
    try:
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        working.add_done_callback(lambda done: done.cancelled() or done.exception())  # nobody is there to hear it
        if not job.cancel():  # asyncio's own future can always be cancelled, which says nothing of the thread
            await loop.run_in_executor(None, stop)
        raise Disconnected
    finally:
        leaving.cancel()


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
