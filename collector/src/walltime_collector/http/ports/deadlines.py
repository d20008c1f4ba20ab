"""How long a peer may leave an answer unread, and a request unfinished while others wait for its connection."""

from __future__ import annotations

import asyncio

HEADER_STALL_S = 1.0
BODY_STALL_S = 5.0
"""After so long without a byte of a request that has begun, its connection may be closed to accept another one."""
LEAST_BYTES_PER_S = 64 * 1024


class ReadingDeadline:
    """
    Of one connection: `patience_s`, and a second more for every 64 KiB that wait or are read.

    The kernel's buffer is filled first: what counts is what is left over in the transport's.
    """

    def __init__(self, transport: asyncio.WriteTransport, patience_s: float) -> None:
        self._transport, self._patience_s = transport, patience_s
        self._last_bytes = 0
        self._until_s = 0.0

    @property
    def unread_bytes(self) -> int:
        """What waits now."""
        return self._transport.get_write_buffer_size()

    def is_over(self, now_s: float) -> bool:
        """Whether the peer was too slow; to be asked every second."""
        waiting = self.unread_bytes
        if not self._last_bytes:
            self._until_s = now_s + self._patience_s
        # another answer, or some of it was read: either way so much more time
        self._until_s += abs(waiting - self._last_bytes) / LEAST_BYTES_PER_S
        self._last_bytes = waiting
        return waiting > 0 and now_s > self._until_s
