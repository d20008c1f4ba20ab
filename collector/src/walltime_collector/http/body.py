"""Reads request bodies within limits of size, of time, and of the bytes of all bodies together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, MutableMapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from ..errors import RequestRefused

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
_MAX_DISCARDED_TIMES = 3
"""A body that is too large is read and discarded up to this multiple of its limit."""


class InFlight:
    """The bytes of all requests in memory, for one event loop: a limit bounds the memory, whatever the senders do."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0

    def take(self, count: int) -> None:
        """
        Reserve bytes until give().

        Raises:
            RequestRefused: 503, and nothing was reserved.
        """
        if self._bytes + count > self._max_bytes:
            raise RequestRefused(503, "overload", "too much is being received at once; send again later")
        self._bytes += count

    def give(self, count: int) -> None:
        """Release bytes."""
        self._bytes -= count


class Disconnected(Exception):
    """The client disconnected before its request was complete, or before the response."""


class Arrivals:
    """
    The bodies being received and processed.

    Args:
        max_request_bytes: Of one body on the wire.
        max_in_flight_bytes: Of all bodies together; bounds the memory, whatever the clients do.
        deadline_s: From the headers to the last byte of the body.
    """

    def __init__(self, *, max_request_bytes: int, max_in_flight_bytes: int, deadline_s: float) -> None:
        self._max_request_bytes, self._deadline_s = max_request_bytes, deadline_s
        self.in_flight = InFlight(max_in_flight_bytes)

    @asynccontextmanager
    async def body(self, receive: Receive, declared_bytes: int = 0) -> AsyncIterator[bytes]:
        """
        The complete body; it counts as in flight until the block ends.

        Args:
            declared_bytes: Its Content-Length; nothing is kept of a body that is declared too large.

        Raises:
            RequestRefused: 413 too large, 408 too late, 503 too many bytes in flight.
            Disconnected: It was never complete.
        """
        chunks: list[bytes] = []
        try:
            with _deadline(self._deadline_s):
                async for chunk in self._chunks(receive, declared_bytes):
                    chunks.append(chunk)
            yield chunks[0] if len(chunks) == 1 else b"".join(chunks)
        finally:
            self.in_flight.give(sum(map(len, chunks)))

    async def _chunks(self, receive: Receive, declared_bytes: int) -> AsyncIterator[bytes]:
        size, most = 0, self._max_request_bytes
        has_more = True
        while has_more:
            try:
                message = await receive()
            except asyncio.CancelledError:
                check_size(max(size, declared_bytes), most)  # too large, and too late to wait for the rest
                raise
            if message["type"] == "http.disconnect":
                raise Disconnected
            chunk: bytes = message.get("body", b"")
            has_more = message.get("more_body", False)
            size += len(chunk)
            # Read on and discard: a client that is still sending does not read the response.
            is_too_large = max(size, declared_bytes) > most
            if has_more and is_too_large and size <= most * _MAX_DISCARDED_TIMES:
                continue
            check_size(max(size, declared_bytes), most)
            self.in_flight.take(len(chunk))
            yield chunk


def check_size(size: int, max_bytes: int) -> None:
    """Raise RequestRefused, 413, for a larger body."""
    if size > max_bytes:
        raise RequestRefused(413, "too_large", f"the body is more than {max_bytes} bytes; send smaller batches")


def late(within_s: float) -> RequestRefused:
    """The error of a request that did not arrive in time."""
    return RequestRefused(408, "late", f"the request did not arrive whole within {within_s:g} s")


@contextmanager
def _deadline(seconds: float) -> Iterator[None]:
    """Raise RequestRefused after this time. asyncio.timeout needs Python 3.11, asyncio.wait_for a task per request."""
    task = asyncio.current_task()
    is_late = False

    def give_up() -> None:
        nonlocal is_late
        is_late = True
        if task is not None:
            task.cancel()

    timer = asyncio.get_running_loop().call_later(seconds, give_up)
    try:
        yield
    except asyncio.CancelledError:
        if not is_late:
            raise
        raise late(seconds) from None
    finally:
        timer.cancel()
