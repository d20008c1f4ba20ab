"""The bytes of all requests being worked on, together: what bounds the memory whatever the senders do."""

from __future__ import annotations

from ..errors import RequestRefused


class InFlight:
    """A budget of bytes, for one event loop."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0

    def take(self, count: int) -> None:
        """
        Claim bytes until give() has them back.

        Raises:
            RequestRefused: 503, and nothing was claimed.
        """
        if self._bytes + count > self._max_bytes:
            raise RequestRefused(503, "overload", "too much is being received at once; send again later")
        self._bytes += count

    def give(self, count: int) -> None:
        """Give bytes back."""
        self._bytes -= count
