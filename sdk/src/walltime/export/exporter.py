"""
The export thread and the bounded queue in front of it: adds up, decides what to keep, encodes, sends.

A request only appends to the queue. The thread starts with a process's first finished transaction, so a forked child
gets its own. It delays the exit of the process by at most `exit_timeout_s`.
"""

from __future__ import annotations

import os
import secrets
import time
from collections import deque
from typing import TYPE_CHECKING, Final

from walltime.core.execution import close
from walltime.core.transaction import clock, outside_calls
from walltime.errors import contain
from walltime.export import one_line, otlp
from walltime.export.detail import Detail, held_bytes, keep_totals
from walltime.export.json_lines import JsonLines
from walltime.export.metrics import Metrics
from walltime.export.sender import BATCH, Sender
from walltime.export_thread import ExportThread
from walltime.redaction.redact import Redaction

if TYPE_CHECKING:
    from ssl import SSLContext

    from walltime.core.bill import Bill
    from walltime.core.transaction import Transaction
    from walltime.settings.settings import Settings

BYTES_EACH: Final = 16_384
"""
Memory of the transactions that wait, on average: 32 MiB with the usual `max_queue`. Beyond three quarters of it, one
keeps only its totals; beyond all of it, it is lost. A call takes 245 bytes and its text.
"""
LEAST_BYTES: Final = 8 * 1024 * 1024  # also with a short queue: one transaction with all its calls has room
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
        self._sends = "otlp" in settings.exporters
        self._version = version
        self._tls = tls
        self._redaction = Redaction(
            settings.key_salt.encode() or secrets.token_bytes(16), raw_sessions=settings.raw_session_ids,
            raw_keys=settings.raw_keys, hash_users=settings.hash_user_ids, denied=settings.denied_annotations,
        )  # fmt: skip
        self._metrics = Metrics(version) if settings.metrics else None
        self.successor: Exporter | None = None
        """The one in force since another `configure`: it takes what comes too late here."""
        self.begin()

    def begin(self) -> None:
        """Create the state of this process. A forked child starts empty: its parent sends what the parent measured."""
        self._pid = os.getpid()
        self._queue: deque[tuple[Transaction, int]] = deque()
        """Transactions and their memory in bytes."""
        self._waiting_bytes = 0
        self._max_bytes = max(LEAST_BYTES, self._settings.max_queue * BYTES_EACH)
        self._held: dict[int, tuple[Transaction, int, int]] = {}
        """By `id`: transactions after their response whose application has not returned, since when, and memory."""
        self._detail = Detail(self._settings)
        self._sender: Sender | None = None
        self._thread = ExportThread(self._work, self.shutdown)
        self._has_exported = self._report_is_due = False
        self._program = ""
        self.counts = {
            "sent": 0, "lost_queue_full": 0, "lost_unreachable": 0, "lost_refused": 0, "lost_too_large": 0,
            "lost_rejected": 0, "lost_internal": 0, "rejected_spans": 0,
        }  # fmt: skip

    def hold(self, transaction: Transaction) -> None:
        """Keep a transaction whose response is over until `release`, at most LONGEST_AFTER_RESPONSE_S."""
        if not self._thread.is_started:
            self._start()
        size = held_bytes(transaction)
        self._held[id(transaction)] = transaction, clock(), size
        self._waiting_bytes += size
        if (
            len(self._held) > self._settings.max_queue
            or self._waiting_bytes > self._max_bytes // 2
            or self._thread.is_closing
        ):
            self.release(transaction)

    def release(self, transaction: Transaction) -> None:
        """Submit a held transaction; does nothing when it was submitted before."""
        held = self._held.pop(id(transaction), None)
        if held is not None:
            self._waiting_bytes -= held[2]
            close(transaction)
            transaction.after_ns = max(0, clock() - transaction.started_ns - transaction.duration_ns)
            self.submit(transaction, held[2] if transaction.after is None else 0)

    def _release_overdue(self, now_ns: int) -> None:
        for transaction, held_since_ns, _ in self._held.copy().values():
            if now_ns - held_since_ns < LONGEST_AFTER_RESPONSE_S * 1e9:
                break  # they are in the order of their time
            self.release(transaction)

    @property
    def is_used(self) -> bool:
        """Whether this process has submitted a transaction."""
        return bool(self._has_exported or self._queue or self._held or any(self.counts.values()))

    @property
    def is_over(self) -> bool:
        """Whether its counts stay as they are: it is closed, and its thread has ended."""
        return self._thread.is_over

    def report(self, program: str) -> None:
        """Send the counters of a process without transactions, a `<kind>.<module>` of servers/unsupported.py or ''."""
        self._program, self._report_is_due = program, True
        self._start()

    def submit(self, transaction: Transaction, size: int = 0) -> None:
        """Queue it, of `size` bytes if known; 1 µs, never waits. When the queue is full, it is lost and counted."""
        thread, queue, max_bytes = self._thread, self._queue, self._max_bytes
        try:
            size = size or held_bytes(transaction)
            waiting_bytes = self._waiting_bytes
            if waiting_bytes + size > max_bytes * 3 // 4:
                keep_totals(transaction)
                size = held_bytes(transaction)
            if len(queue) >= self._settings.max_queue or waiting_bytes + size > max_bytes:
                self.counts["lost_queue_full"] += 1
                return
            self._waiting_bytes += size
            queue.append((transaction, size))
            if not thread.is_started:
                self._start()
            elif len(queue) == BATCH or waiting_bytes <= max_bytes // 4 < waiting_bytes + size:
                thread.wake()
            if thread.has_ended:
                self._pass_on()
        except Exception:
            self.counts["lost_internal"] += 1
            raise

    def _next(self) -> Transaction | None:
        """Take the first transaction from the queue; None without one. Each is taken once."""
        try:
            transaction, size = self._queue.popleft()
        except IndexError:
            return None
        self._waiting_bytes -= size
        return transaction

    def counters(self) -> dict[str, int]:
        """Return the counts and what is neither sent nor lost so far."""
        waiting = len(self._queue) + len(self._held) + (0 if self._sender is None else self._sender.waiting)
        return {**self.counts, "queued": waiting}

    def _start(self) -> None:
        try:
            self._thread.start()
        except RuntimeError:  # the interpreter is shutting down and cannot start threads
            while self._next() is not None:
                self.counts["lost_queue_full"] += 1

    def _pass_on(self) -> None:
        """Give what was added after the thread's last look to the exporter in force."""
        following = self
        while following.successor is not None:
            following = following.successor
        while (transaction := self._next()) is not None:
            if following is not self:
                following.submit(transaction)
            else:
                self.counts["lost_queue_full"] += 1

    def flush(self, timeout_s: float | None = None) -> bool:
        """Send the queue; True when everything is sent or lost, False after the timeout."""
        if self._pid != os.getpid():
            return True
        return self._thread.flush(self._settings.timeout_s if timeout_s is None else timeout_s)

    def shutdown(self, timeout_s: float | None = None) -> None:
        """Send the queue and stop; takes at most `exit_timeout_s`, in any state of the collector."""
        if self._pid == os.getpid() and self._thread.is_started:
            self._close(timeout_s)

    def retire(self, successor: Exporter) -> None:
        """Send the queue and stop, as another exporter is in force, which gets what comes here from now on."""
        self.successor = successor
        successor._has_exported |= self.is_used
        if self._pid == os.getpid():
            self._close(None)

    def _close(self, timeout_s: float | None) -> None:
        self._thread.is_closing = True  # first: what is held from now on is released at once
        for transaction, _, _ in self._held.copy().values():  # their later calls are on no bill
            self.release(transaction)
        self._thread.close(self._settings.exit_timeout_s if timeout_s is None else timeout_s)
        if self._thread.has_ended:
            self._pass_on()

    def _work(self) -> None:
        settings = self._settings
        resource = otlp.resource(settings)
        encoder = otlp.Encoder(resource, self._version, settings.sample_probability, self._redaction)
        request_of = lambda spans: encoder.request(spans, self._missing())  # noqa: E731
        self._sender = sender = Sender(settings, self.counts, self._tls, request_of)
        sender.prepare()
        file = JsonLines(settings.json_lines_path, resource, self.counts) if settings.json_lines_path else None
        try:
            while not self._thread.has_ended:
                self._release_overdue(clock())
                if self._thread.is_closing:
                    self._thread.end()
                flushes = self._thread.flushes
                self._has_exported |= bool(self._queue)
                self._drain(encoder, sender, file)
                sender.pack(even_empty=self._report_is_due and self._sends and bool(settings.endpoint))
                self._report_is_due = False
                sender.send_pending(self._thread.is_closing)
                if not sender.pending:  # everything before these flushes is sent, or lost and counted
                    self._thread.flushed(flushes)
                if not self._thread.has_ended:
                    self._thread.wait(max(LEAST_WAIT_S, settings.export_delay_s))
        except Exception:
            sender.lose("lost_internal")
            raise
        sender.close()
        if file is not None:
            file.close()

    def _drain(self, encoder: otlp.Encoder, sender: Sender, file: JsonLines | None) -> None:
        """Encode what waits, and send full requests."""
        count = 0
        while (transaction := self._next()) is not None:
            try:
                bill = transaction.add_up(detail=True)
                kept = self._detail.why_kept(transaction)
                encoded = encoder.transaction(transaction, bill, kept)
                transaction.calls.clear()  # a thread or task that outlives it may keep a reference
                transaction.after = transaction.samples = None
            except Exception as error:  # a transaction that cannot be encoded affects no other
                self.counts["lost_internal"] += 1
                contain("export", error)
            else:
                self._write_locally(transaction, bill, kept, encoded, file)
                if self._sends and not self._settings.endpoint:
                    self.counts["lost_unreachable"] += 1  # an invalid variable: the address is unknown
                elif self._sends:
                    sender.add(encoded)
            count += 1
            is_short = len(self._queue) < BATCH  # yielding may take long
            if count % BEFORE_YIELD == 0 and is_short and not self._thread.flushes and not self._thread.is_closing:
                time.sleep(YIELD_S)
            if sender.pending:
                sender.send_pending(self._thread.is_closing)
        # Recomputed here: several threads change it, and an update that is lost must not stay.
        self._waiting_bytes = sum([size for _, _, size in self._held.copy().values()])

    def _missing(self) -> dict[str, int]:
        """Return what of this process is on no bill so far: attributes of the scope in docs/wire.md."""
        missing = {f"walltime.lost.{why[5:]}": n for why, n in self.counts.items() if why.startswith("lost_")}
        missing["walltime.outside.calls"] = sum(outside_calls.copy().values())
        if self._program and not self.is_used:
            missing[f"walltime.outside.{self._program}"] = missing["walltime.outside.calls"]
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
