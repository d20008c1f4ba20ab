"""Send encoded requests to the collector in order; keep them while it is away, and count losses."""

from __future__ import annotations

import contextlib
import encodings.idna  # noqa: F401  # import it now: a fork during an import in the export thread would block the child
import gzip
import re
import socket
import sys
import time
from base64 import b64encode
from collections import deque
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import unquote, urlsplit

from walltime.core.ids import generator
from walltime.errors import warn
from walltime.export.deadline import response_until
from walltime.export.outage import Outage
from walltime.export.protobuf import fields
from walltime.instrumentation.patching import unwrapped
from walltime.redaction.redact import redact_url

if TYPE_CHECKING:
    from collections.abc import Callable
    from ssl import SSLContext

    from walltime.settings.settings import Settings

MAX_RESPONSE_BYTES: Final = 65_536
RETRYABLE: Final = frozenset({429, 502, 503, 504})
"""Statuses after which OTLP allows the same request again."""
FIRST_PAUSE_S: Final = 1.0
LONGEST_PAUSE_S: Final = 30.0


BATCH: Final = 512
"""Maximum of transactions in one request."""
BATCH_BYTES: Final = 1_000_000
"""Maximum size of a request's spans: below the limit of a proxy (nginx: 1 MiB) and of the collector (20 MiB)."""
_TOO_LARGE: Final = re.compile(rb"(?i)too large|larger than max")
_UNPRINTABLE: Final = re.compile(r"[^ -~]")


class Batch(NamedTuple):
    """A request and the sizes of its transactions, in bytes before compression."""

    body: bytes
    sizes: list[int]


class Answer(NamedTuple):
    """The collector's response."""

    status: int
    retry_after_s: float | None
    body: bytes

    @property
    def is_too_large(self) -> bool:
        """Whether the request had too many bytes: by 413, or in the words of the OpenTelemetry Collector and others."""
        return self.status == 413 or (self.status >= 400 and _TOO_LARGE.search(self.body) is not None)

    @property
    def partial_success(self) -> tuple[int, str]:
        """Number of rejected spans, and why: ExportTraceServiceResponse.partial_success = 1 with the fields 1 and 2."""
        try:
            found = dict(fields(dict(fields(self.body)).get(1, b"")))
            rejected, message = found.get(1, 0), found.get(2, b"").decode("utf-8", "replace")
            return rejected if rejected < 1 << 63 else 0, _UNPRINTABLE.sub("?", message[:200])
        except (ValueError, IndexError, TypeError, AttributeError):  # another server's text
            return 0, ""


class _Own(HTTPConnection):
    """A class of our own: clients/http/http_client.py does not measure our exports."""


class _OwnTLS(HTTPSConnection): ...


class Sender:
    """Posts encoded requests in order, keeps them while the collector is away, and counts losses."""

    def __init__(
        self, settings: Settings, counts: dict[str, int], tls: SSLContext | None = None,
        request_of: Callable[[bytes], bytes] = bytes,
    ) -> None:  # fmt: skip
        """`request_of`: makes a request of encoded spans, which are its end."""
        self.pending: deque[Batch] = deque()
        self._pending_bytes = 0
        self._open: list[bytes] = []
        self._open_bytes = 0
        self.batch_bytes = BATCH_BYTES
        """Maximum size of a request's spans, unless it is a single transaction's; smaller after a refusal."""
        self._request_of = request_of
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

    @property
    def waiting(self) -> int:
        """Transactions that are neither sent nor lost."""
        return len(self._open) + sum([len(batch.sizes) for batch in self.pending.copy()])

    def add(self, transaction: bytes) -> None:
        """Add the encoded spans of a transaction to the next request; a full one goes to `pending`."""
        if len(self._open) >= BATCH or (self._open and self._open_bytes + len(transaction) > self.batch_bytes):
            self.pack()
        self._open.append(transaction)
        self._open_bytes += len(transaction)

    def pack(self, *, even_empty: bool = False) -> None:
        """Make a request of what was added; without any transaction it has the process's counters only."""
        if self._open or even_empty:
            self.pending.append(self._packed(self._open))
            self._open, self._open_bytes = [], 0
        while self._pending_bytes > self._settings.max_pending_bytes and len(self.pending) > 1:
            self._drop("lost_unreachable")

    def _packed(self, transactions: list[bytes]) -> Batch:
        body = self._request_of(b"".join(transactions))
        if self._settings.gzip:
            body = gzip.compress(body, compresslevel=1)
        self._pending_bytes += len(body)
        return Batch(body, [len(each) for each in transactions])

    def send_pending(self, closing: bool = False) -> None:
        """Post until all is sent or a request fails; then the next attempt waits for a growing pause."""
        while self.pending and (closing or time.monotonic() >= self._not_before_s):
            batch = self.pending[0]
            try:
                answer = self._post(batch.body)
            except (OSError, HTTPException, ValueError) as error:  # ValueError: an invalid host name or header
                self.close()
                self._back_off(None, f"{type(error).__name__}: {error}")
            else:
                if 200 <= answer.status < 300:
                    self._accepted(self._taken(), answer)
                    continue
                if answer.is_too_large:
                    self._split(self._taken())
                    continue
                if answer.status not in RETRYABLE:
                    message = "walltime: the collector at %s refused %d transactions with status %d; they are lost"
                    warn("refused", message, self._shown, len(batch.sizes), answer.status)
                    self._drop("lost_refused")
                    continue
                self._back_off(answer.retry_after_s, f"status {answer.status}")
            if closing:
                self.lose("lost_unreachable")

    def _accepted(self, batch: Batch, answer: Answer) -> None:
        """Count what the collector has taken; of rejected spans, each may be a transaction's own."""
        rejected, message = answer.partial_success
        lost = min(rejected, len(batch.sizes))
        self._counts["sent"] += len(batch.sizes) - lost
        self._counts["lost_rejected"] += lost
        self._counts["rejected_spans"] += rejected
        if rejected or message:
            text = "walltime: the collector at %s rejected %d spans of %d transactions: %s"
            warn("partial success", text, self._shown, rejected, len(batch.sizes), message or "without a reason")
        self._pause_s = 0.0
        self._outage.end(self.waiting)

    def _split(self, batch: Batch) -> None:
        """Make two requests of one that was too large, and smaller ones from now on; a single transaction is lost."""
        size = sum(batch.sizes)
        if len(batch.sizes) < 2:
            self._counts["lost_too_large"] += len(batch.sizes)
            message = "walltime: the collector at %s refuses a transaction of %d bytes as too large; it is lost. Raise "
            message += "its limit, or the one of a proxy in front of it"
            warn("too large", message, self._shown, size)
            self.batch_bytes = BATCH_BYTES  # it may have been refused for what is in it: other requests as before
            return
        self.batch_bytes = min(self.batch_bytes, size // 2)
        body = gzip.decompress(batch.body) if self._settings.gzip else batch.body
        places = accumulate(batch.sizes, initial=len(body) - size)
        transactions = [body[start:end] for start, end in pairwise(places)]
        half = len(transactions) // 2
        self.pending.extendleft(map(self._packed, (transactions[half:], transactions[:half])))

    def lose(self, why: str) -> None:
        """Count all that waits as lost."""
        self._counts[why] += len(self._open)
        self._open, self._open_bytes = [], 0
        while self.pending:
            self._drop(why)

    def _taken(self) -> Batch:
        batch = self.pending.popleft()
        self._pending_bytes -= len(batch.body)
        return batch

    def _drop(self, why: str) -> None:
        self._counts[why] += len(self._taken().sizes)

    def _back_off(self, retry_after_s: float | None, reason: str) -> None:
        self._outage.begin()
        self._pause_s = min(LONGEST_PAUSE_S, max(FIRST_PAUSE_S, self._pause_s * 2))
        pause_s = self._pause_s if retry_after_s is None else min(LONGEST_PAUSE_S, retry_after_s)
        self._not_before_s = time.monotonic() + pause_s * generator.uniform(0.8, 1.2)
        message = (
            "walltime: no collector at %s (%s); start one with `walltime serve`. At most %d bytes of bills wait here"
        )
        warn("unreachable", message, self._shown, reason, self._settings.max_pending_bytes)

    def _post(self, request: bytes) -> Answer:
        kept_open = self._connection is not None
        try:
            return self.exchange(request)
        except (ConnectionError, HTTPException):
            # The collector may have closed an idle connection: try again once on a new one.
            self.close()
            if not kept_open:
                raise
            return self.exchange(request)

    def exchange(self, request: bytes) -> Answer:
        """
        Post it once.

        Raises:
            OSError, HTTPException, ValueError: no answer.
        """
        if self._connection is None:
            timeout_s = self._settings.timeout_s
            if self._is_https:
                self._connection = self._kind_tls(self._host, self._port, timeout=timeout_s, context=self._tls)
            else:
                self._connection = self._kind(self._host, self._port, timeout=timeout_s)
        connection = self._connection
        if connection.sock is not None:
            connection.sock.settimeout(self._settings.timeout_s)
        deadline_s = time.monotonic() + self._settings.timeout_s
        connection.response_class = response_until(deadline_s)  # type: ignore[assignment]  # http.client only calls it
        failure = None
        try:
            connection.request("POST", self._path, request, self._headers)
        except (BrokenPipeError, ConnectionResetError) as error:  # the answer may have come before all was sent
            if connection.sock is None:
                raise
            failure = error
        try:
            response = connection.getresponse()
        except (OSError, HTTPException) as error:
            raise failure or error from None
        body = response.read(MAX_RESPONSE_BYTES)
        if failure is not None or not response.isclosed():  # longer than any OTLP response: it is not read further
            self.close()
        retry_after = response.headers.get("Retry-After", "")
        return Answer(response.status, float(retry_after) if retry_after.isdigit() else None, body)

    def close(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(OSError):
                self._connection.close()
            self._connection = None
