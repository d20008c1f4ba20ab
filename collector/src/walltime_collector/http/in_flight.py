"""The bytes of all requests in memory: a limit for them bounds the memory, whatever the senders do."""

from __future__ import annotations

from ..errors import RequestRefused


class InFlight:
    """A budget of bytes, for one event loop."""

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
