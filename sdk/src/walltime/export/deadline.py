"""
One deadline for the whole response of the collector; used by the export thread.

The timeout of `http.client` is per read: a response of one byte a second would block the thread for hours.
"""

from __future__ import annotations

import io
import time
from http.client import HTTPResponse
from types import SimpleNamespace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable
    from typing import Any


def response_until(deadline_s: float) -> Callable[..., HTTPResponse]:
    """Return a `response_class` whose reading raises TimeoutError after that moment of `time.monotonic`."""

    def response(sock: socket.socket, *args: Any, **kwargs: Any) -> HTTPResponse:
        source = SimpleNamespace(makefile=lambda _mode: io.BufferedReader(_Reader(sock, deadline_s)))
        return HTTPResponse(source, *args, **kwargs)  # type: ignore[arg-type]  # it only calls makefile

    return response


class _Reader(io.RawIOBase):
    def __init__(self, sock: socket.socket, deadline_s: float) -> None:
        super().__init__()
        self._sock = sock
        self._deadline_s = deadline_s
        self._file = sock.makefile("rb", buffering=0)  # keeps the socket open until the response is closed

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left_s = self._deadline_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError("the response takes too long")
        self._sock.settimeout(left_s)
        return self._file.readinto(buffer)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()
