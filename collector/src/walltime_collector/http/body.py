"""Reads request bodies off the wire within limits: of size, of time, and of all bodies together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, MutableMapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from ..errors import RequestRefused
from .in_flight import InFlight

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
_READ_ON_TIMES = 3


class Disconnected(Exception):
    """The sender went away before its request was whole; there is nobody to answer."""


class Arrivals:
    """
    The bodies being received and worked on.

    Args:
        max_request_bytes: Of one body as it comes over the wire.
        max_in_flight_bytes: Of all bodies together; keeps memory bounded whatever the senders do.
        deadline_s: From the headers to the last byte of the body, however the bytes trickle.
    """

    def __init__(self, *, max_request_bytes: int, max_in_flight_bytes: int, deadline_s: float) -> None:
        self._max_request_bytes, self._deadline_s = max_request_bytes, deadline_s
        self.in_flight = InFlight(max_in_flight_bytes)

    @asynccontextmanager
    async def body(self, receive: Receive, declared_bytes: int = 0) -> AsyncIterator[bytes]:
        """
        The whole body; it counts as in flight until the block ends.

        Args:
            declared_bytes: What the sender says its size is; of one that says too much nothing is kept.

        Raises:
            RequestRefused: 413 too large, 408 too late, 503 too much at once.
            Disconnected: It never came whole.
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
        size = 0
        has_more = True
        while has_more:
            try:
                message = await receive()
            except asyncio.CancelledError:
                self._check_size(max(size, declared_bytes))  # too large, and too late to wait for the rest
                raise
            if message["type"] == "http.disconnect":
                raise Disconnected
            chunk: bytes = message.get("body", b"")
            has_more = message.get("more_body", False)
            size += len(chunk)
            # Read on for a while and throw away: a sender that is still sending does not read our answer.
            is_too_large = max(size, declared_bytes) > self._max_request_bytes
            if has_more and is_too_large and size <= self._max_request_bytes * _READ_ON_TIMES:
                continue
            self._check_size(max(size, declared_bytes))
            self.in_flight.take(len(chunk))
            yield chunk

    def _check_size(self, size: int) -> None:
        if size > self._max_request_bytes:
            raise RequestRefused(
                413, "too_large", f"the body is more than {self._max_request_bytes} bytes; send smaller batches"
            )


@contextmanager
def _deadline(seconds: float) -> Iterator[None]:
    """asyncio.timeout for Python 3.10, with our own error."""
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
        raise RequestRefused(408, "late", f"the request did not arrive whole within {seconds:g} s") from None
    finally:
        timer.cancel()
