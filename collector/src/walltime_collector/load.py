"""Moves spool to engine: a sealed segment is one INSERT under its own token, tried until it succeeds."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Sequence

from .crashpoint import reach
from .engine import Engine
from .errors import CollectorError, InsertRefused, SegmentCorrupt
from .health import Health
from .spool.segment import Record
from .spool.spool import Segment, Spool

log = logging.getLogger(__name__)

_LOOK_EVERY_S = 0.05
_FIRST_RETRY_S = 0.2
_LAST_RETRY_S = 15.0


class Loader:
    """A thread of its own between a spool and an engine."""

    def __init__(self, spool: Spool, engine: Engine, health: Health) -> None:
        self._spool, self._engine, self._health = spool, engine, health
        self._stop = threading.Event()
        self._counted: set[str] = set()
        self._found = {segment.token for segment in spool.sealed()}
        self._thread = threading.Thread(target=self._run, name="loader", daemon=True)

    def start(self) -> None:
        """Begin with what earlier runs left in the spool."""
        self._thread.start()

    def stop(self, drain_s: float) -> None:
        """Load what is spooled for at most `drain_s`; what remains stays on disk for the next start."""
        self._spool.seal()
        deadline_s = time.monotonic() + drain_s
        while self._spool.sealed() and time.monotonic() < deadline_s and self._thread.is_alive():
            time.sleep(0.01)
        self._stop.set()
        # An INSERT that runs cannot be interrupted, and need not be: its token makes a repetition harmless.
        self._thread.join(max(deadline_s - time.monotonic(), 0.1))

    def _run(self) -> None:
        retry_s = _FIRST_RETRY_S
        has_tables = False
        while not self._stop.is_set():
            try:
                if not has_tables:  # a server may have been away when the collector started
                    self._engine.migrate()
                    has_tables = True
                    self._health.loader_works()
                self._spool.seal_if_due()
                for segment in self._spool.sealed():
                    self._load(segment)
                    self._health.loader_works()
                    retry_s = _FIRST_RETRY_S
                    if self._stop.is_set():
                        return
                self._stop.wait(_LOOK_EVERY_S)
            except Exception as error:  # whatever it is, the data is on disk and this thread must go on
                if not isinstance(error, CollectorError | OSError):
                    log.exception("the loader failed in a way nobody thought of; it tries again")
                elif retry_s == _FIRST_RETRY_S:
                    log.warning("cannot load now, will try again: %s", error)
                self._health.loader_failed(str(error))
                self._stop.wait(retry_s)
                retry_s = min(retry_s * 2, _LAST_RETRY_S)

    def _load(self, segment: Segment) -> None:
        try:
            content = self._spool.read(segment)
        except SegmentCorrupt as error:
            log.error("%s: %s; moved to quarantine", segment.path.name, error)  # noqa: TRY400 no traceback for a bad file
            self._health.add("unreadable_segments")
            self._spool.set_aside(segment)
            return
        if segment.token not in self._counted:  # once, however often the INSERT has to be tried
            self._counted.add(segment.token)
            self._health.add("quarantined_bytes", content.quarantined_bytes)
            self._health.add("torn_bytes", content.torn_bytes)
            if segment.token in self._found:
                self._health.add("received", sum(record.spans for record in content.records))
        outcome = self._insert(segment, content.records, 0, segment.token)
        reach("after_insert")
        self._spool.acknowledge(segment)
        self._counted.discard(segment.token)
        for name, spans in outcome.items():
            self._health.add(name, spans)

    def _insert(self, segment: Segment, records: Sequence[Record], first: int, token: str) -> Counter[str]:
        """
        Insert, and say how many spans were stored, dead or lost.

        When the data is refused, halve until the one bad request is alone, and put that one aside. Parts have tokens of
        their own that come out the same on every try.
        """
        spans = sum(record.spans for record in records)
        try:
            if records:
                self._engine.insert(records, token)
        except InsertRefused as error:
            if len(records) > 1:
                middle = len(records) // 2
                parts = ((records[:middle], first), (records[middle:], first + middle))
                return sum(
                    (self._insert(segment, part, at, f"{segment.token}:{at}+{len(part)}") for part, at in parts),
                    Counter[str](),
                )
            is_kept = self._spool.dead_letter(segment, records, first)
            log.error("the database refused a request, %s: %s", "kept in dead/" if is_kept else "lost", error)  # noqa: TRY400
            return Counter({"dead" if is_kept else "lost": spans})
        return Counter(stored=spans)
