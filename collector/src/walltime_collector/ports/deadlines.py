"""How long a peer may leave an answer unread."""

from __future__ import annotations

import asyncio

LEAST_BYTES_PER_S = 64 * 1024


class ReadingDeadline:
    """
    Of one connection: `patience_s`, and a second more for every 64 KiB that wait.

    The kernel's buffer is filled first: what counts is what is left over in the transport's.
    """

    def __init__(self, transport: asyncio.WriteTransport, patience_s: float) -> None:
        self._transport, self._patience_s = transport, patience_s
        self._most_bytes = 0
        self._until_s = 0.0

    @property
    def unread_bytes(self) -> int:
        """What waits now."""
        return self._transport.get_write_buffer_size()

    def is_over(self, now_s: float) -> bool:
        """Whether the peer was too slow; to be asked every second."""
        waiting = self.unread_bytes
        if not waiting:
            self._most_bytes = 0
            return False
        if not self._most_bytes:
            self._until_s = now_s + self._patience_s
        if waiting > self._most_bytes:  # another answer
            self._until_s += (waiting - self._most_bytes) / LEAST_BYTES_PER_S
            self._most_bytes = waiting
        return now_s > self._until_s
