"""
The bounded queue between requests and the export thread, and the thread: bill, decide, encode, send.

A request only appends to the queue. The thread starts with the first finished transaction of each process, so a fork
gets its own; it never keeps the process alive longer than `exit_timeout_s`.
"""

from __future__ import annotations

import atexit
import contextlib
import encodings.idna  # noqa: F401  # else the thread imports it to connect, and a child forked meanwhile never can
import gzip
import os
import random
import secrets
import socket
import sys
import threading
import time
from base64 import b64encode
from collections import deque
from contextvars import Context
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from opentelemetry.sdk import version as otel_version
from opentelemetry.sdk.resources import OTELResourceDetector

from walltime.detail import Detail
from walltime.errors import contain, warn
from walltime.export import one_line, otlp
from walltime.export.deadline import answer_until
from walltime.export.json_lines import JsonLines
from walltime.export.protobuf import resource_attribute
from walltime.hotpath import clock, outside_calls
from walltime.patching import unwrapped
from walltime.redact import Redaction, redact_url

if TYPE_CHECKING:
    from collections.abc import Callable
    from ssl import SSLContext

    from walltime.bill import Bill
    from walltime.hotpath import Transaction
    from walltime.settings import Settings

MAX_QUEUED_CALLS: Final = 50_000
"""Calls that may wait in the queue, about 12 MB; beyond, a transaction is added up at once and loses its detail."""
BATCH: Final = 512
"""Transactions in one export; so many waiting wake the thread before its time."""
AT_A_STRETCH: Final = 16
"""
Transactions added up, some 0.05 ms each, before others are let in.

Python leaves the interpreter to a busy thread for 5 ms, and a request would wait as long each time it has let it go.
"""
LEAST_WAIT_S: Final = 0.001
"""Between two looks at the queue, so that a delay of 0 does not keep a processor busy."""
LONGEST_AFTER_RESPONSE_S: Final = 10.0
"""How long a bill waits for what its request does after the response; later calls are `late`."""
MAX_ANSWER_BYTES: Final = 65_536
RETRYABLE: Final = frozenset({429, 502, 503, 504})
"""Statuses after which OTLP allows the same request again."""
FIRST_PAUSE_S: Final = 1.0
LONGEST_PAUSE_S: Final = 30.0


class Exporter:
    """Takes finished transactions and sends them to the collector, losing nothing silently (`counts`)."""

    def __init__(self, settings: Settings, version: str, tls: SSLContext | None) -> None:
        self._settings = settings
        self._version = version
        self._tls = tls
        self._redaction = Redaction(
            settings.key_salt.encode() or secrets.token_bytes(16),
            raw_sessions=settings.raw_session_ids,
            raw_keys=settings.raw_keys,
            hash_users=settings.hash_user_ids,
            denied=settings.denied_annotations,
        )
        self._detail = Detail(settings)
        self.begin()
        atexit.register(self.shutdown)

    def begin(self) -> None:
        """Make the state of this process; a forked child begins anew, for its parent sends what the parent measured."""
        self._pid = os.getpid()
        self._queue: deque[Transaction] = deque()
        self._queued_calls = 0
        self._held: dict[int, tuple[Transaction, int]] = {}
        """By `id`: the response is over, its application has not returned yet; with the time from when."""
        self._asked = self._answered = 0
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._closing = False
        self.counts = {
            "sent": 0,
            "lost_queue_full": 0,
            "lost_unreachable": 0,
            "lost_refused": 0,
            "lost_internal": 0,
        }

    def hold(self, transaction: Transaction) -> None:
        """Keep a transaction whose response is over until `release`, at most LONGEST_AFTER_RESPONSE_S."""
        if self._thread is None:
            self._start()
        self._held[id(transaction)] = transaction, clock()
        if self._closing or len(self._held) > self._settings.max_queue:
            self.release(transaction)

    def release(self, transaction: Transaction) -> None:
        """Take a transaction that was held; once it was let go, this does nothing."""
        if self._held.pop(id(transaction), None) is not None:
            transaction.is_over = True
            transaction.after_ns = max(0, clock() - transaction.started_ns - transaction.duration_ns)
            self.submit(transaction)

    def _release_overdue(self, now_ns: int) -> None:
        for transaction, held_since_ns in self._held.copy().values():
            if now_ns - held_since_ns < LONGEST_AFTER_RESPONSE_S * 1e9:
                break  # they are in the order in which they came
            self.release(transaction)

    def submit(self, transaction: Transaction) -> None:
        """Take a finished transaction; 0.3 µs, never waits. When the queue is full it is lost and counted."""
        if len(self._queue) >= self._settings.max_queue or self._closing:
            self.counts["lost_queue_full"] += 1
            return
        self._queued_calls += len(transaction.calls)
        if self._queued_calls > MAX_QUEUED_CALLS:
            self._queued_calls -= len(transaction.calls)
            transaction.add_up(detail=False)
            transaction.calls.clear()
        self._queue.append(transaction)
        if self._thread is None:
            self._start()
        elif len(self._queue) == BATCH:
            self._wake.set()

    def _start(self) -> None:
        # Nobody waits here: under gevent the lock may be a native one, which would stop the hub.
        if not self._starting.acquire(blocking=False):
            return
        try:
            if self._thread is None:
                # Made now and not in `begin`, so that they are gevent's when it has patched them in the meantime.
                self._wake = threading.Event()
                self._flushes = threading.Condition()
                self._thread = threading.Thread(target=self._run, name="walltime-export", daemon=True)
                Context().run(self._thread.start)  # it works for no transaction that happens to run here
                _at_child_exit(self.shutdown)
        except RuntimeError:  # the interpreter is shutting down and starts no more threads
            self._thread = None
            self.counts["lost_queue_full"] += len(self._queue)
            self._queue.clear()
        finally:
            self._starting.release()

    def flush(self, timeout_s: float | None = None) -> bool:
        """Send what waits; True when all of it is sent or lost, False when the time was up first."""
        thread = self._thread
        if thread is None or not thread.is_alive() or self._pid != os.getpid():
            return True
        with self._flushes:
            self._asked += 1
            mine = self._asked
            self._wake.set()
            return self._flushes.wait_for(
                lambda: self._answered >= mine, self._settings.timeout_s if timeout_s is None else timeout_s
            )

    def shutdown(self, timeout_s: float | None = None) -> None:
        """Send what waits and stop; takes at most `exit_timeout_s`, whatever state the collector is in."""
        atexit.unregister(self.shutdown)
        thread = self._thread
        if thread is None or self._pid != os.getpid():
            return
        for transaction, _ in self._held.copy().values():  # what they still do is on no bill
            self.release(transaction)
        self._closing = True
        self._wake.set()
        thread.join(self._settings.exit_timeout_s if timeout_s is None else timeout_s)

    # ---- the thread ----

    def _run(self) -> None:
        try:
            self._work()
        except Exception as error:  # noqa: BLE001  # a mistake of ours; the next transaction starts a new thread
            contain("export thread", error)
            self._thread = None

    def _work(self) -> None:
        settings = self._settings
        sender = Sender(settings, self.counts, self._tls)
        resource = _resource(settings)
        encoder = otlp.Encoder(resource, self._version, settings.sample_probability, self._redaction)
        file = JsonLines(settings.json_lines_path, resource, self.counts) if settings.json_lines_path else None
        while True:
            self._release_overdue(clock())
            closing, asked = self._closing, self._asked
            while self._queue:
                self._export_batch(encoder, sender, file)
            sender.send_pending(closing)
            if not sender.pending:
                with self._flushes:  # all that was finished before they asked is sent, or lost and counted
                    self._answered = asked
                    self._flushes.notify_all()
            if closing:
                sender.close()
                if file is not None:
                    file.close()
                return
            self._wake.wait(max(LEAST_WAIT_S, self._settings.export_delay_s))
            self._wake.clear()

    def _export_batch(self, encoder: otlp.Encoder, sender: Sender, file: JsonLines | None) -> None:
        spans = bytearray()
        count = 0
        while self._queue and count < BATCH:
            transaction = self._queue.popleft()
            self._queued_calls = max(0, self._queued_calls - len(transaction.calls))
            try:
                bill = transaction.add_up(detail=True)
                encoded = encoder.transaction(transaction, bill, self._detail.why_kept(transaction))
                spans += encoded
                count += 1
                transaction.calls.clear()  # a thread or task that outlives it may hold it for long
                transaction.after = None
            except Exception as error:  # noqa: BLE001  # one transaction that cannot be encoded costs no other
                self.counts["lost_internal"] += 1
                contain("export", error)
            else:
                self._tell(transaction, bill, encoded, file)
            if count % AT_A_STRETCH == 0 and self._has_time():
                time.sleep(0)
        if count and "otlp" in self._settings.exporters and not self._settings.endpoint:
            self.counts["lost_unreachable"] += count  # a variable that cannot be used: nobody knows where to
        elif count and "otlp" in self._settings.exporters:
            sender.add(encoder.request(bytes(spans), self._missing()), count)
            sender.send_pending(self._closing)

    def _has_time(self) -> bool:
        """Say whether nobody waits for us and little waits: busy threads might keep the interpreter for long."""
        return len(self._queue) < BATCH and self._asked == self._answered and not self._closing

    def _missing(self) -> dict[str, int]:
        """What of this process is on no bill so far: docs/wire.md, attributes of the scope."""
        missing = {f"walltime.lost.{why[5:]}": n for why, n in self.counts.items() if why.startswith("lost_")}
        missing["walltime.outside.calls"] = sum(outside_calls.copy().values())
        return missing

    def _tell(self, transaction: Transaction, bill: Bill, encoded: bytes, file: JsonLines | None) -> None:
        """Write it where people look, when the settings say so."""
        try:
            if file is not None:
                file.write(encoded)
            if self._settings.summary:
                one_line.log(transaction, bill)
        except Exception as error:  # noqa: BLE001  # also one of the application's log handlers
            contain("summary", error)


def _at_child_exit(act: Callable[[], None]) -> None:
    """Have it called at the end of a child of multiprocessing, which runs no exit handlers of its parent's."""
    process = sys.modules.get("multiprocessing.process")
    if process is not None and process.parent_process() is not None:
        from multiprocessing.util import Finalize

        Finalize(None, act, exitpriority=-1000)  # after those of the application, which may still make transactions


def _resource(settings: Settings) -> bytes:
    """This process as an encoded OTLP Resource (attributes = 1): OTEL_RESOURCE_ATTRIBUTES, then what we know better."""
    # Not Resource.create: it runs its detectors in a thread pool, which an exiting interpreter refuses to start.
    resource = OTELResourceDetector().detect().attributes
    attributes: dict[str, object] = {
        "telemetry.sdk.language": "python",
        "telemetry.sdk.name": "opentelemetry",
        "telemetry.sdk.version": otel_version.__version__,
        "service.name": "unknown_service",
        "service.instance.id": secrets.token_hex(8),
        "host.name": socket.gethostname(),
        "process.pid": os.getpid(),
        **resource,
    }
    if settings.service_name:
        attributes["service.name"] = settings.service_name
    return b"".join([resource_attribute(key, value) for key, value in attributes.items()])


class _Own(HTTPConnection):
    """Our exports are no calls of the application: clients/http_client.py knows these two by where they are."""


class _OwnTLS(HTTPSConnection): ...


class Sender:
    """Posts encoded requests in order, keeps what the collector cannot take now, and counts what is lost."""

    def __init__(self, settings: Settings, counts: dict[str, int], tls: SSLContext | None = None) -> None:
        self.pending: deque[tuple[bytes, int]] = deque()
        self._pending_bytes = 0
        self._settings = settings
        self._counts = counts
        self._kind, self._kind_tls = unwrapped(_Own), unwrapped(_OwnTLS)  # seen by nobody who traces HTTP
        self._connection: HTTPConnection | None = None
        self._pause_s = 0.0
        self._not_before_s = 0.0
        parts = urlsplit(settings.endpoint)
        self._is_https = parts.scheme == "https"
        self._tls = tls
        self._shown = redact_url(settings.endpoint)
        self._host, self._port = str(parts.hostname), parts.port
        self._path = parts.path or "/"
        self._headers = {
            "Content-Type": "application/x-protobuf",
            "User-Agent": "walltime",
            **settings.headers,
        }
        if parts.username is not None:
            login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            self._headers.setdefault("Authorization", f"Basic {b64encode(login.encode()).decode()}")
        if settings.gzip:
            self._headers["Content-Encoding"] = "gzip"

    def add(self, request: bytes, count: int) -> None:
        if self._settings.gzip:
            request = gzip.compress(request, compresslevel=1)
        self.pending.append((request, count))
        self._pending_bytes += len(request)
        while self._pending_bytes > self._settings.max_pending_bytes and len(self.pending) > 1:
            self._drop("lost_unreachable")

    def send_pending(self, closing: bool = False) -> None:
        """Post until all is sent or the collector cannot take it; then wait out a growing pause before the next try."""
        while self.pending and (closing or time.monotonic() >= self._not_before_s):
            request, count = self.pending[0]
            try:
                status, retry_after_s = self._post(request)
            except (OSError, HTTPException, ValueError) as error:  # ValueError: of a host's name or a header
                self.close()
                self._back_off(None, f"{type(error).__name__}: {error}")
            else:
                if status == 200:
                    self._counts["sent"] += count
                    self._pending_bytes -= len(request)
                    self.pending.popleft()
                    self._pause_s = 0.0
                    continue
                if status not in RETRYABLE:
                    message = "walltime: the collector at %s refused %d transactions with status %d; they are lost"
                    warn("refused", message, self._shown, count, status)
                    self._drop("lost_refused")
                    continue
                self._back_off(retry_after_s, f"status {status}")
            if closing:
                while self.pending:
                    self._drop("lost_unreachable")

    def _drop(self, why: str) -> None:
        request, count = self.pending.popleft()
        self._pending_bytes -= len(request)
        self._counts[why] += count

    def _back_off(self, retry_after_s: float | None, reason: str) -> None:
        self._pause_s = min(LONGEST_PAUSE_S, max(FIRST_PAUSE_S, self._pause_s * 2))
        pause_s = self._pause_s if retry_after_s is None else min(LONGEST_PAUSE_S, retry_after_s)
        self._not_before_s = time.monotonic() + pause_s * random.uniform(0.8, 1.2)
        message = (
            "walltime: no collector at %s (%s); start one with `walltime serve`. At most %d bytes of bills wait here"
        )
        warn("unreachable", message, self._shown, reason, self._settings.max_pending_bytes)

    def _post(self, request: bytes) -> tuple[int, float | None]:
        kept_open = self._connection is not None
        try:
            return self._exchange(request)
        except (ConnectionError, HTTPException):
            # A connection that was kept open may have been closed by the other side: once more on a new one.
            self.close()
            if not kept_open:
                raise
            return self._exchange(request)

    def _exchange(self, request: bytes) -> tuple[int, float | None]:
        if self._connection is None:
            timeout_s = self._settings.timeout_s
            if self._is_https:
                self._connection = self._kind_tls(self._host, self._port, timeout=timeout_s, context=self._tls)
            else:
                self._connection = self._kind(self._host, self._port, timeout=timeout_s)
        if self._connection.sock is not None:
            self._connection.sock.settimeout(self._settings.timeout_s)
        deadline_s = time.monotonic() + self._settings.timeout_s
        self._connection.response_class = answer_until(deadline_s)  # type: ignore[assignment]  # it only calls it
        self._connection.request("POST", self._path, request, self._headers)
        answer = self._connection.getresponse()
        answer.read(MAX_ANSWER_BYTES)
        if not answer.isclosed():  # longer than any OTLP answer: not read, not trusted
            self.close()
        retry_after = answer.headers.get("Retry-After", "")
        return answer.status, float(retry_after) if retry_after.isdigit() else None

    def close(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(OSError):
                self._connection.close()
            self._connection = None
