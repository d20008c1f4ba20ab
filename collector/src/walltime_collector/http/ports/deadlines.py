"""Deadlines for unread responses, and for unfinished requests while others wait for a connection; uvicorn has none."""

from __future__ import annotations

import asyncio

HEADER_STALL_S = 1.0
BODY_STALL_S = 5.0
"""Time without a byte of an unfinished request after which its connection may be closed for another one."""
MIN_BYTES_PER_S = 64 * 1024


class ReadingDeadline:
    """
    The deadline of one connection: `patience_s`, and a second more for every 64 KiB that wait or are read.

    Only bytes in the transport's buffer count, not those in the kernel's, which is filled first.
    """

    def __init__(self, transport: asyncio.WriteTransport, patience_s: float) -> None:
        self._transport, self._patience_s = transport, patience_s
        self._last_bytes = 0
        self._until_s = 0.0

    @property
    def unread_bytes(self) -> int:
        """Bytes that wait now."""
        return self._transport.get_write_buffer_size()

    def is_over(self, now_s: float) -> bool:
        """Whether the client was too slow; call it every second."""
        waiting = self.unread_bytes
        if not self._last_bytes:
            self._until_s = now_s + self._patience_s
        # a new response, or a part was read: both extend the deadline
        self._until_s += abs(waiting - self._last_bytes) / MIN_BYTES_PER_S
        self._last_bytes = waiting
        return waiting > 0 and now_s > self._until_s
