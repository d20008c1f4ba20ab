"""What the collector did since it started; nothing is lost in silence: received = loaded + spooled + dead + lost."""

from __future__ import annotations

import threading
import time
from collections import Counter
from typing import Any


class Health:
    """
    Counters, in spans unless the name says otherwise; safe to use from several threads.

    received        taken into the spool, or found there at the start
    loaded          given to the engine; those with unusable ids are in its table irregular_spans, not in the others
    dead            refused by the engine for good, kept in dead/
    lost            refused by the engine when dead/ was full
    refused_*       requests answered with an error, by reason
    quarantined_bytes, torn_bytes, unreadable_segments   damage found in the spool
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._started_s = time.time()
        self._loader_error = ""

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

    def report(self) -> dict[str, Any]:
        """
        One consistent picture for /healthz; `ok` while data moves: nothing lost, and the loader can store.
        """
        with self._lock:
            counts, error = dict(self._counts), self._loader_error
        received, loaded, dead, lost = (counts.pop(name, 0) for name in ("received", "loaded", "dead", "lost"))
        return {
            "ok": not error and not lost,
            "started_s": self._started_s,
            "spans": {
                "received": received,
                "loaded": loaded,
                "spooled": received - loaded - dead - lost,
                "dead": dead,
                "lost": lost,
            },
            "counts": counts,
            "error": error,
        }
