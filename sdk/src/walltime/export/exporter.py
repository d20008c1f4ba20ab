"""
The export thread and the bounded queue in front of it: adds up, decides what to keep, encodes, sends.

A request only appends to the queue. The thread starts with the first finished transaction of a process, so a forked
child gets its own. It delays the exit of the process by at most `exit_timeout_s`.
"""

from __future__ import annotations

import atexit
import os
import secrets
import socket
import sys
import threading
import time
from collections import deque
from contextvars import Context
from typing import TYPE_CHECKING, Final

from opentelemetry.sdk import version as otel_version
from opentelemetry.sdk.resources import OTELResourceDetector

from walltime.core.execution import close
from walltime.core.transaction import clock, outside_calls
from walltime.errors import contain
from walltime.export import one_line, otlp
from walltime.export.detail import Detail
from walltime.export.json_lines import JsonLines
from walltime.export.metrics import Metrics
from walltime.export.protobuf import resource_attribute
from walltime.export.sender import Sender
from walltime.redaction.redact import Redaction

if TYPE_CHECKING:
    from collections.abc import Callable
    from ssl import SSLContext

    from walltime.core.bill import Bill
    from walltime.core.transaction import Transaction
    from walltime.settings.settings import Settings

MAX_QUEUED_CALLS: Final = 50_000
"""Calls that may wait in the queue, about 12 MB. A further transaction is added up at once and loses its detail."""
BATCH: Final = 512
"""Transactions in one export; as many waiting transactions wake the thread early."""
BEFORE_YIELD: Final = 16
"""
Transactions to encode, about 0.05 ms each, before the thread yields the GIL.

Python switches from a busy thread after 5 ms, and a request would wait that long each time it releases the GIL.
"""
YIELD_S: Final = 1e-6
"""A sleep of 0 comes back at once, and under Python 3.10 with the GIL; the kernel makes of this about 0.05 ms."""
LEAST_WAIT_S: Final = 0.001
"""Minimum time between two checks of the queue, so that a delay of 0 does not use a whole core."""
LONGEST_AFTER_RESPONSE_S: Final = 10.0
"""Maximum time that a bill waits for calls after its response; later calls are `late`."""


class Exporter:
    """Sends finished transactions to the collector; counts every loss (`counts`)."""

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
        self._metrics = Metrics(version) if settings.metrics else None
        self.begin()
        atexit.register(self.shutdown)

    def begin(self) -> None:
        """Create the state of this process. A forked child starts empty: its parent sends what the parent measured."""
        self._pid = os.getpid()
        self._queue: deque[Transaction] = deque()
        self._queued_calls = 0
        self._held: dict[int, tuple[Transaction, int]] = {}
        """By `id`: transactions after their response whose application has not returned, and since when."""
        self._flushes_requested = self._flushes_done = 0
        self._thread: threading.Thread | None = None
        self._sender: Sender | None = None
        self._starting = threading.Lock()
        self._closing = False
        self.counts = {"sent": 0, "lost_queue_full": 0, "lost_unreachable": 0, "lost_refused": 0, "lost_internal": 0}

    def hold(self, transaction: Transaction) -> None:
        """Keep a transaction whose response is over until `release`, at most LONGEST_AFTER_RESPONSE_S."""
        if self._thread is None:
            self._start()
        self._held[id(transaction)] = transaction, clock()
        if self._closing or len(self._held) > self._settings.max_queue:
            self.release(transaction)

    def release(self, transaction: Transaction) -> None:
        """Submit a held transaction; does nothing when it was submitted before."""
        if self._held.pop(id(transaction), None) is not None:
            close(transaction)
            transaction.after_ns = max(0, clock() - transaction.started_ns - transaction.duration_ns)
            self.submit(transaction)

    def _release_overdue(self, now_ns: int) -> None:
        for transaction, held_since_ns in self._held.copy().values():
            if now_ns - held_since_ns < LONGEST_AFTER_RESPONSE_S * 1e9:
                break  # they are in the order of their time
            self.release(transaction)

    @property
    def is_used(self) -> bool:
        """Whether this process has submitted a transaction."""
        return self._thread is not None

    def submit(self, transaction: Transaction) -> None:
        """Queue a finished transaction; 0.3 µs, never waits. When the queue is full, it is dropped and counted."""
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
        # Never wait here: under gevent, the lock may be a native one and would block the hub.
        if not self._starting.acquire(blocking=False):
            return
        try:
            if self._thread is None:
                # Created here and not in `begin`: gevent may patch these classes in between.
                self._wake = threading.Event()
                self._flushes = threading.Condition()
                self._thread = threading.Thread(target=self._run, name="walltime-export", daemon=True)
                Context().run(self._thread.start)  # without the context of the current transaction
                _at_child_exit(self.shutdown)
        except RuntimeError:  # the interpreter is shutting down and cannot start threads
            self._thread = None
            self.counts["lost_queue_full"] += len(self._queue)
            self._queue.clear()
        finally:
            self._starting.release()

    def flush(self, timeout_s: float | None = None) -> bool:
        """Send the queue; True when everything is sent or lost, False after the timeout."""
        thread = self._thread
        if thread is None or not thread.is_alive() or self._pid != os.getpid():
            return True
        with self._flushes:
            self._flushes_requested += 1
            mine = self._flushes_requested
            self._wake.set()
            return self._flushes.wait_for(
                lambda: self._flushes_done >= mine, self._settings.timeout_s if timeout_s is None else timeout_s
            )

    def shutdown(self, timeout_s: float | None = None) -> None:
        """Send the queue and stop; takes at most `exit_timeout_s`, in any state of the collector."""
        atexit.unregister(self.shutdown)
        thread = self._thread
        if thread is None or self._pid != os.getpid():
            return
        for transaction, _ in self._held.copy().values():  # their later calls are on no bill
            self.release(transaction)
        self._closing = True
        self._wake.set()
        thread.join(self._settings.exit_timeout_s if timeout_s is None else timeout_s)

    # ---- the thread ----

    def _run(self) -> None:
        try:
            self._work()
        except Exception as error:  # a bug of ours; the next transaction starts a new thread
            if self._sender is not None:
                self._sender.lose("lost_internal")
            contain("export thread", error)
            self._thread = None

    def _work(self) -> None:
        settings = self._settings
        self._sender = sender = Sender(settings, self.counts, self._tls)
        sender.prepare()
        resource = _resource(settings)
        encoder = otlp.Encoder(resource, self._version, settings.sample_probability, self._redaction)
        file = JsonLines(settings.json_lines_path, resource, self.counts) if settings.json_lines_path else None
        while True:
            self._release_overdue(clock())
            closing, requested = self._closing, self._flushes_requested
            while self._queue:
                self._export_batch(encoder, sender, file)
            sender.send_pending(closing)
            if not sender.pending:
                with self._flushes:  # everything before these requests is sent, or lost and counted
                    self._flushes_done = requested
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
                kept = self._detail.why_kept(transaction)
                encoded = encoder.transaction(transaction, bill, kept)
                spans += encoded
                count += 1
                transaction.calls.clear()  # a thread or task that outlives it may keep a reference
                transaction.after = transaction.samples = None
            except Exception as error:  # a transaction that cannot be encoded affects no other
                self.counts["lost_internal"] += 1
                contain("export", error)
            else:
                self._write_locally(transaction, bill, kept, encoded, file)
            if count % BEFORE_YIELD == 0 and self._has_time():
                time.sleep(YIELD_S)
        if count and "otlp" in self._settings.exporters and not self._settings.endpoint:
            self.counts["lost_unreachable"] += count  # an invalid variable: the address is unknown
        elif count and "otlp" in self._settings.exporters:
            sender.add(encoder.request(bytes(spans), self._missing()), count)
            sender.send_pending(self._closing)

    def _has_time(self) -> bool:
        """Say whether the thread may yield: no flush waits, and the queue is short. Yielding may take long."""
        return len(self._queue) < BATCH and self._flushes_requested == self._flushes_done and not self._closing

    def _missing(self) -> dict[str, int]:
        """Return what of this process is on no bill so far: attributes of the scope in docs/wire.md."""
        missing = {f"walltime.lost.{why[5:]}": n for why, n in self.counts.items() if why.startswith("lost_")}
        missing["walltime.outside.calls"] = sum(outside_calls.copy().values())
        return missing

    def _write_locally(
        self, transaction: Transaction, bill: Bill, kept: str, encoded: bytes, file: JsonLines | None
    ) -> None:
        """Write the bill to the JSON file and to the log, and add it to the metrics, if the settings say so."""
        try:
            if file is not None:
                file.write(encoded)
            if self._settings.summary:
                one_line.log(transaction, bill)
        except Exception as error:  # it may come from the application's log handlers
            contain("summary", error)
        try:
            if self._metrics is not None:
                self._metrics.add(transaction, bill, kept)
        except Exception as error:  # of the application's MeterProvider, or ours
            contain("metrics", error)


def _at_child_exit(act: Callable[[], None]) -> None:
    """Call it at the end of a multiprocessing child, which does not run its parent's exit handlers."""
    process = sys.modules.get("multiprocessing.process")
    if process is not None and process.parent_process() is not None:
        from multiprocessing.util import Finalize

        Finalize(None, act, exitpriority=-1000)  # after those of the application: they may make transactions


def _resource(settings: Settings) -> bytes:
    """Return this process as an encoded OTLP Resource (attributes = 1), with OTEL_RESOURCE_ATTRIBUTES."""
    # Not Resource.create: it starts a thread pool, which fails while the interpreter exits.
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
