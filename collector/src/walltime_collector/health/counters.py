"""The counters of the collector since its start: received = stored + rejected + spooled + dead + lost."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

ENDS = ("stored", "rejected", "dead", "lost")
"""The final states of a span."""


@dataclass(frozen=True)
class Trouble:
    """
    Why data does not move.

    Args:
        reason: One of REASONS.
        what: A sentence. It can name paths and addresses, so only the admin gets it.
    """

    reason: str
    what: str

    @property
    def is_taking(self) -> bool:
        """Whether data is still accepted, to be stored when the trouble is over."""
        return self.reason not in ("spool_full", "spool_failed", "stopping")


REASONS = ("spool_full", "spool_failed", "engine", "loader_stuck", "damaged", "stopping")
"""
spool_full    the spool is at its limit, or its disk has only the reserve left: senders get 503
spool_failed  the disk failed under the spool within the last minute
engine        the database does not answer, or refused the last segment; the collector tries again
loader_stuck  data waits, and for some time none of it was stored
damaged       a part of the embedded database cannot be read: rows are missing
stopping      the collector is shutting down
"""

DESCRIPTIONS = {
    "load_retries": "times that the database did not accept a segment",
    "engine_restarts": "restarts of the embedded database's process",
    "quarantined_bytes": "damaged bytes of the spool, moved to quarantine/",
    "torn_bytes": "bytes at the end of a segment that a crash cut off; they were not acknowledged",
    "unreadable_segments": "segments of the spool that could not be read at all",
    "slow_log_entries": "entries of slow logs that are stored",
    "slow_log_malformed": "entries of slow logs without a statement or a readable time",
    "slow_log_skipped_bytes": "bytes of slow logs that belong to no entry",
    "slow_log_gaps": "times that the log after the last entry read was gone",
    "slow_log_refused": "entries of slow logs that the database refused; they are in slowlog/dead/",
    "observed_rows": "rows about databases and caches that are stored",
    "observed_lost": "rows about databases and caches that could not be stored",
    "statements_overwritten": "statements that a database overwrote before they were read",
    "foreign_roots": "spans of other SDKs that can be requests, in windows that this collector assembled",
    "foreign_roots_late": "of them, stored after their window, assembled later",
    "foreign_spans_late": "spans of other SDKs stored after their request's window: on no bill",
    "foreign_retries": "times that assembling transactions of other SDKs failed and was tried again",
    "full_disk_days": "days dropped before their retention ended because the disk was full",
    "full_disk_rows": "rows of those days",
    "incident_looks": "looks for incidents",
    "incident_looks_failed": "looks for incidents that failed",
    "incidents_opened": "incidents opened by this collector",
    "incidents_severity": "incidents that became critical",
    "incidents_closed": "incidents closed by this collector",
    "incident_messages_sent": "messages about incidents that the webhook accepted",
    "incident_messages_retried": "times that sending a message about incidents failed and was tried again",
    "incident_messages_lost": "messages about incidents that were refused, or tried for too long",
    "services_over_limit": "services over the limit of names per day; the other names are stored as _OTHER",
}
"""Of the counters that /metrics and `walltime status` show."""

CLOSED = {
    "limit": "refused, all connections are in use",
    "address_limit": "refused, their address has its maximum",
    "made_room": "closed while idle, to accept others",
    "no_descriptors": "not accepted, the system gave no file descriptor",
    "silent": "closed, they sent nothing",
    "handshake": "closed, the TLS handshake failed or was too slow",
    "slow_headers": "closed, the headers did not arrive in time",
    "slow_body": "closed, the body did not arrive in time",
    "slow_reader": "closed, the response was not read in time",
    "unread_answers": "closed, unread responses took too much memory",
}
"""Why a connection was refused or closed, as in the counter `closed_<port>_<reason>` → text."""


class Health:
    """
    Counters, in spans unless the name says otherwise; safe to use from several threads.

    received        in accepted requests, or in the spool or dead/ at the start
    stored          in the engine
    rejected        refused one by one in accepted requests (unusable ids), or dropped from dead/
    spooled         on disk, and not yet any of the others
    dead            in dead/ now: refused by the engine for good, until they are retried or dropped
    dead_retried    moved from dead/ back into the spool
    lost            refused by the engine when dead/ was full, or damaged in the spool
    refused_*       requests answered with an error, by reason
    refused_connections  beyond the limits of a port: refused, or closed while idle to accept others
    closed_<port>_<reason>   connections refused or closed, by the reasons of CLOSED
    not_stored_metrics, not_stored_logs   accepted and not stored: metrics, log records
    nested_values_cut    attribute values nested deeper than 16, or beyond 100,000 of a request: stored as null
    unknown_segments     of another version of the collector; they stay in the spool
    others          see DESCRIPTIONS
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._last_s: dict[str, float] = {}
        self._started_s = time.time()
        self._loader_error = ""
        self._engine_error = ""
        self._damage = ""
        self._incidents_error = ""
        self._slow_logs: dict[str, str] = {}
        self._servers: dict[str, tuple[str, str]] = {}
        self._troubles: Sequence[Trouble] = ()
        self._gauges: dict[str, float] = {}
        self._is_stopping = False

    def add(self, name: str, count: int = 1) -> None:
        """Add to a counter."""
        with self._lock:
            self._counts[name] += count
            self._last_s[name] = time.monotonic()

    def ago_s(self, name: str) -> float:
        """Time since the counter last grew; infinite if it never did."""
        with self._lock:
            return time.monotonic() - self._last_s.get(name, float("-inf"))

    def loader_failed(self, error: str) -> None:
        with self._lock:
            self._loader_error = error
            self._counts["load_retries"] += 1
            self._last_s["load_retries"] = time.monotonic()

    def loader_works(self) -> None:
        with self._lock:
            self._loader_error = ""

    def engine_answers(self, error: str = "") -> None:
        """The engine answers, or why it does not."""
        with self._lock:
            self._engine_error = error

    def damaged(self, what: str) -> None:
        """The database has data that it cannot read, or none when `what` is empty."""
        with self._lock:
            self._damage = what

    def looked_for_incidents(self, error: str = "") -> None:
        """The last look succeeded, or why it failed."""
        with self._lock:
            self._incidents_error = error

    def slow_log(self, path: str, error: str = "") -> bool:
        """A slow log is followed, or why it is not; True when that has changed."""
        with self._lock:
            before, self._slow_logs[path] = self._slow_logs.get(path, ""), error
        return before != error

    def observed(self, server: str, error: str = "", lacks: str = "") -> bool:
        """A server answers, or why it does not, and what it lacks; True when one of them has changed."""
        with self._lock:
            before, self._servers[server] = self._servers.get(server), (error, lacks)
        return before != (error, lacks)

    def left(self, server: str) -> None:
        """It is not observed any more."""
        with self._lock:
            self._servers.pop(server, None)

    def stopping(self) -> None:
        """From now on no request is accepted."""
        self._is_stopping = True

    def watched(self, troubles: Sequence[Trouble], gauges: dict[str, float]) -> None:
        """The results of the watch: troubles other than the engine's, and gauges."""
        with self._lock:
            self._troubles, self._gauges = tuple(troubles), dict(gauges)

    def troubles(self) -> list[Trouble]:
        """Why data does not move now; empty while it does."""
        with self._lock:
            troubles = list(self._troubles)
            if error := self._loader_error or self._engine_error:
                troubles.insert(0, Trouble("engine", error))
            if self._damage:
                troubles.append(Trouble("damaged", self._damage))
        if self._is_stopping:
            troubles.append(Trouble("stopping", "the collector is shutting down; it loads the spool"))
        return troubles

    def is_ready(self) -> bool:
        """Whether data is accepted now: on disk before it is acknowledged."""
        return all(trouble.is_taking for trouble in self.troubles())

    def report(self) -> dict[str, Any]:
        """All counters, gauges and troubles at one moment; `ok` while data moves."""
        troubles = self.troubles()
        with self._lock:
            counts, error, slow_logs = dict(self._counts), self._loader_error, dict(self._slow_logs)
            incidents_error = self._incidents_error
            servers, gauges = dict(self._servers), dict(self._gauges)
        received = counts.pop("received", 0)
        ended = {name: counts.pop(name, 0) for name in ENDS}
        return {
            "ok": not troubles,
            "ready": all(trouble.is_taking for trouble in troubles),
            "troubles": [asdict(trouble) for trouble in troubles],
            "started_s": self._started_s,
            # a segment may be stored before the receiver has counted it
            "spans": {"received": received, "spooled": max(received - sum(ended.values()), 0), **ended},
            "gauges": gauges,
            "slow_logs": slow_logs,
            "servers": servers,
            "incidents_error": incidents_error,
            "counts": counts,
            "error": error,
        }
