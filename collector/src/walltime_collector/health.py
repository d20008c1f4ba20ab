"""What the collector did since it started: received = stored + rejected + spooled + dead + lost."""

from __future__ import annotations

import threading
import time
from collections import Counter
from typing import Any


class Health:
    """
    Counters, in spans unless the name says otherwise; safe to use from several threads.

    received        in requests that were taken, or in the spool or in dead/ at the start
    stored          taken by the engine
    rejected        refused one by one in requests whose other spans were taken (unusable ids), or dropped from dead/
    spooled         on disk, and not yet any of the others
    dead            in dead/ now: refused by the engine for good, until somebody retries or drops them
    dead_retried    moved from dead/ back into the spool
    lost            refused by the engine when dead/ was full, or damaged in the spool
    refused_*       requests answered with an error, by reason
    quarantined_bytes, torn_bytes, unreadable_segments   damage found in the spool
    unknown_segments     of another version of the collector; they stay in the spool
    slow_log_entries     entries of slow logs that are stored
    slow_log_malformed   entries without a statement or a readable time; not stored
    slow_log_skipped_bytes   what belongs to no entry, or is beyond the limit of one
    slow_log_gaps        how often what followed the last entry read was gone: more may be missing
    slow_log_refused     entries the engine refused for good
    foreign_roots        SERVER and CONSUMER spans of other SDKs in the windows that were assembled here
    foreign_roots_late, foreign_spans_late   stored after their window was: transactions all the same; on no bill
    foreign_retries      how often assembling failed and was tried again
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._started_s = time.time()
        self._loader_error = ""
        self._slow_logs: dict[str, str] = {}

    def add(self, name: str, count: int = 1) -> None:
        """Add to a counter."""
        with self._lock:
            self._counts[name] += count

    def loader_failed(self, error: str) -> None:
        """The loader cannot store now; it tries again."""
        with self._lock:
            self._loader_error = error
            self._counts["load_retries"] += 1

    def loader_works(self) -> None:
        """The loader stored something."""
        with self._lock:
            self._loader_error = ""

    def slow_log(self, path: str, error: str = "") -> bool:
        """A slow log is followed, or why it is not; True when that is news."""
        with self._lock:
            before, self._slow_logs[path] = self._slow_logs.get(path, ""), error
        return before != error

    def report(self) -> dict[str, Any]:
        """
        One consistent picture for /healthz; `ok` while data moves: nothing lost, and the loader can store.
        """
        with self._lock:
            counts, error, slow_logs = dict(self._counts), self._loader_error, dict(self._slow_logs)
        received = counts.pop("received", 0)
        ended = {name: counts.pop(name, 0) for name in ("stored", "rejected", "dead", "lost")}
        return {
            "ok": not error and not ended["lost"],
            "started_s": self._started_s,
            "spans": {"received": received, "spooled": received - sum(ended.values()), **ended},
            "slow_logs": slow_logs,
            "counts": counts,
            "error": error,
        }
