"""Send encoded requests to the collector in order; keep them while it is away, and count losses."""

from __future__ import annotations

import contextlib
import encodings.idna  # noqa: F401  # import it now: a fork during an import in the export thread would block the child
import gzip
import socket
import sys
import time
from base64 import b64encode
from collections import deque
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from walltime.core.ids import generator
from walltime.errors import warn
from walltime.export.deadline import response_until
from walltime.export.outage import Outage
from walltime.instrumentation.patching import unwrapped
from walltime.redaction.redact import redact_url

if TYPE_CHECKING:
    from ssl import SSLContext

    from walltime.settings.settings import Settings

MAX_RESPONSE_BYTES: Final = 65_536
RETRYABLE: Final = frozenset({429, 502, 503, 504})
"""Statuses after which OTLP allows the same request again."""
FIRST_PAUSE_S: Final = 1.0
LONGEST_PAUSE_S: Final = 30.0


class _Own(HTTPConnection):
    """A class of our own: clients/http/http_client.py does not measure our exports."""


class _OwnTLS(HTTPSConnection): ...


class Sender:
    """Posts encoded requests in order, keeps them while the collector is away, and counts losses."""

    def __init__(self, settings: Settings, counts: dict[str, int], tls: SSLContext | None = None) -> None:
        self.pending: deque[tuple[bytes, int]] = deque()
        self._pending_bytes = 0
        self._settings = settings
        self._counts = counts
        self._kind, self._kind_tls = unwrapped(_Own), unwrapped(_OwnTLS)  # without the wrappers of other tracers
        self._connection: HTTPConnection | None = None
        self._pause_s = 0.0
        self._not_before_s = 0.0
        parts = urlsplit(settings.endpoint)
        self._is_https = parts.scheme == "https"
        self._tls = tls
        self._shown = redact_url(settings.endpoint)
        self._outage = Outage(self._shown, counts)
        self._host, self._port = str(parts.hostname), parts.port
        self._path = parts.path or "/"
        self._headers = {"Content-Type": "application/x-protobuf", "User-Agent": "walltime", **settings.headers}
        if parts.username is not None:
            login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            self._headers.setdefault("Authorization", f"Basic {b64encode(login.encode()).decode()}")
        if settings.gzip:
            self._headers["Content-Encoding"] = "gzip"

    def prepare(self) -> None:
        """
        Do what can no longer be done at the interpreter's exit.

        gevent resolves names in native threads, and since Python 3.12 none starts then: the last bills would be lost.
        """
        if "gevent" in sys.modules:
            with contextlib.suppress(OSError, ValueError):
                socket.getaddrinfo(self._host, self._port)

    def add(self, request: bytes, count: int) -> None:
        if self._settings.gzip:
            request = gzip.compress(request, compresslevel=1)
        self.pending.append((request, count))
        self._pending_bytes += len(request)
        while self._pending_bytes > self._settings.max_pending_bytes and len(self.pending) > 1:
            self._drop("lost_unreachable")

    def send_pending(self, closing: bool = False) -> None:
        """Post until all is sent or a request fails; then the next attempt waits for a growing pause."""
        while self.pending and (closing or time.monotonic() >= self._not_before_s):
            request, count = self.pending[0]
            try:
                status, retry_after_s = self._post(request)
            except (OSError, HTTPException, ValueError) as error:  # ValueError: an invalid host name or header
                self.close()
                self._back_off(None, f"{type(error).__name__}: {error}")
            else:
                if status == 200:
                    self._counts["sent"] += count
                    self._pending_bytes -= len(request)
                    self.pending.popleft()
                    self._pause_s = 0.0
                    self._outage.end(sum(count for _, count in self.pending))
                    continue
                if status not in RETRYABLE:
                    message = "walltime: the collector at %s refused %d transactions with status %d; they are lost"
                    warn("refused", message, self._shown, count, status)
                    self._drop("lost_refused")
                    continue
                self._back_off(retry_after_s, f"status {status}")
            if closing:
                self.lose("lost_unreachable")

    def lose(self, why: str) -> None:
        while self.pending:
            self._drop(why)

    def _drop(self, why: str) -> None:
        request, count = self.pending.popleft()
        self._pending_bytes -= len(request)
        self._counts[why] += count

    def _back_off(self, retry_after_s: float | None, reason: str) -> None:
        self._outage.begin()
        self._pause_s = min(LONGEST_PAUSE_S, max(FIRST_PAUSE_S, self._pause_s * 2))
        pause_s = self._pause_s if retry_after_s is None else min(LONGEST_PAUSE_S, retry_after_s)
        self._not_before_s = time.monotonic() + pause_s * generator.uniform(0.8, 1.2)
        message = (
            "walltime: no collector at %s (%s); start one with `walltime serve`. At most %d bytes of bills wait here"
        )
        warn("unreachable", message, self._shown, reason, self._settings.max_pending_bytes)

    def _post(self, request: bytes) -> tuple[int, float | None]:
        kept_open = self._connection is not None
        try:
            return self.exchange(request)
        except (ConnectionError, HTTPException):
            # The collector may have closed an idle connection: try again once on a new one.
            self.close()
            if not kept_open:
                raise
            return self.exchange(request)

    def exchange(self, request: bytes) -> tuple[int, float | None]:
        """
        Post it once; return the status and `Retry-After` in seconds.

        Raises:
            OSError, HTTPException, ValueError: no answer.
        """
        if self._connection is None:
            timeout_s = self._settings.timeout_s
            if self._is_https:
                self._connection = self._kind_tls(self._host, self._port, timeout=timeout_s, context=self._tls)
            else:
                self._connection = self._kind(self._host, self._port, timeout=timeout_s)
        if self._connection.sock is not None:
            self._connection.sock.settimeout(self._settings.timeout_s)
        deadline_s = time.monotonic() + self._settings.timeout_s
        self._connection.response_class = response_until(deadline_s)  # type: ignore[assignment]  # http.client only calls it
        self._connection.request("POST", self._path, request, self._headers)
        response = self._connection.getresponse()
        response.read(MAX_RESPONSE_BYTES)
        if not response.isclosed():  # longer than any OTLP response: it is not read further
            self.close()
        retry_after = response.headers.get("Retry-After", "")
        return response.status, float(retry_after) if retry_after.isdigit() else None

    def close(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(OSError):
                self._connection.close()
            self._connection = None
