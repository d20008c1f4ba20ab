"""Moves segments from the spool to the engine: each is one INSERT under its own token, tried until it succeeds."""

from __future__ import annotations

import logging
import random
import time
from collections import Counter
from collections.abc import Generator
from dataclasses import dataclass

from ..background import BackgroundThread
from ..clickhouse.engine import Engine
from ..crashpoint import reach
from ..errors import EngineUnavailable, SegmentCorrupt, SegmentUnknown
from ..health.counters import Health
from ..spool.reserve import Reserve
from ..spool.spool import Content, Segment, Spool
from .failures import Failures
from .poison import Trial
from .segments import store

log = logging.getLogger(__name__)

_POLL_S = 0.05
_FIRST_RETRY_S = 0.2
_LAST_RETRY_S = 5.0


@dataclass
class _Search:
    """The search for the refused records of a segment: one INSERT a step."""

    name: str
    content: Content
    steps: Generator[None, None, Counter[str]]


class Loader(BackgroundThread):
    """
    A thread of its own between a spool and an engine.

    It loads a segment when the segment is full, or when no other waits and the last one was a second ago. So there is
    one small INSERT a second at low load, and there are few large ones while the engine is busy or away. A segment with
    records that the database refuses is searched for them, one INSERT at a time, between the others.
    """

    def __init__(
        self, spool: Spool, engine: Engine, health: Health, reserve: Reserve | None = None, trial: Trial | None = None
    ) -> None:
        super().__init__("loader", "load", _POLL_S)
        self._spool, self._engine, self._health = spool, engine, health
        self._reserve = reserve
        self._failures = Failures(self._read, self._bury, trial, _LAST_RETRY_S)
        self._damage_counted: set[str] = set()
        self._refused: dict[str, Segment] = {}
        self._search: _Search | None = None
        self._uncounted = spool.sealed()
        dead = sum(letter.spans for letter in spool.dead_letters())
        health.add("received", dead)
        health.add("dead", dead)
        self._has_tables = False
        self._retry_s = _FIRST_RETRY_S

    def stop(self, drain_s: float) -> None:
        """Load what is spooled for at most `drain_s`; the rest stays on disk for the next start."""
        self._spool.seal()
        deadline_s = time.monotonic() + drain_s
        while (self._waiting() or self._refused) and time.monotonic() < deadline_s and self.is_alive():
            time.sleep(0.01)
        # A running INSERT cannot be interrupted, and need not be: its token makes a repetition harmless.
        super().stop(max(deadline_s - time.monotonic(), 0.1))

    def step(self) -> bool:
        """
        Load what waits now, and go one step on in the search for refused records.

        Raises:
            EngineUnavailable, OSError: The segments that are not loaded keep waiting.
        """
        while self._uncounted and not self.stopping.is_set():
            self._count_spans(self._uncounted.pop())
        if self._reserve is not None:
            self._reserve.check()
        if not self._has_tables:  # a server may have been away when the collector started
            self._engine.migrate()
            self._has_tables = True
        self._report_well()
        if not self._waiting():
            self._spool.seal_if_due()
        for segment in [*self._waiting(), *list(self._refused.values())[:1]]:
            try:
                self._load(segment)
            except EngineUnavailable as error:
                self._end_search(segment)
                self._failures.note(segment, error)
                raise
            self._retry_s = _FIRST_RETRY_S
            if self.stopping.is_set():
                break
        return bool(self._refused)

    def failed(self, error: Exception) -> float:
        """See BackgroundThread; the data is on disk."""
        super().failed(error)
        self._health.loader_failed(str(error))
        retry_s, self._retry_s = self._retry_s, min(self._retry_s * 2, _LAST_RETRY_S)
        return retry_s * random.uniform(0.5, 1)  # the collectors of one server must not all try at the same moment

    def _waiting(self) -> list[Segment]:
        elsewhere = {*self._failures.waiting(), *self._refused}
        return [segment for segment in self._spool.sealed() if segment.name not in elsewhere]

    def _count_spans(self, segment: Segment) -> None:
        """Count the spans of a segment of an earlier run as received."""
        try:
            self._health.add("received", self._spool.count(segment).spans or 0)
        except SegmentUnknown as error:
            log.warning("%s: %s", segment.path.name, error)
            self._health.add("unknown_segments")
            self._spool.leave(segment)
        except (OSError, SegmentCorrupt):
            pass  # logged when the segment is loaded

    def _load(self, segment: Segment) -> None:
        if self._reserve is not None:
            self._reserve.check()
        search = self._search if self._search and self._search.name == segment.name else None
        if search is not None:
            self._search = None  # until it has gone on: after an error it begins again
        else:
            content = self._read(segment)
            if content is None:
                self._end_search(segment)
                return
            care = self._failures.care(segment)
            search = _Search(segment.name, content, store(self._spool, self._engine, segment, content, care))
        try:
            next(search.steps)
        except StopIteration as end:
            self._loaded(segment, search.content, end.value)
        else:
            self._refused[segment.name] = segment
            if next(iter(self._refused)) == segment.name:  # the others are read again when they are the first
                self._search = search

    def _loaded(self, segment: Segment, content: Content, outcome: Counter[str]) -> None:
        reach("after_insert")
        self._spool.acknowledge(segment)
        reach("after_acknowledge")
        self._failures.stored(segment)
        self._forget(segment)
        spans = sum(record.spans for record in content.records)
        if segment.spans is None:  # it could not be counted at the start
            outcome["received"] += spans + content.lost_spans
            outcome["lost"] += content.lost_spans
        else:
            outcome["lost"] += max(segment.spans - spans, 0)
        for name, count in outcome.items():
            self._health.add(name, count)
        self._report_well()

    def _report_well(self) -> None:
        if not self._failures.any():
            self._health.loader_works()

    def _bury(self, segment: Segment, reason: str) -> bool:
        if not self._spool.bury(segment, reason):
            return False
        self._health.add("dead", segment.spans or 0)
        self._forget(segment)
        return True

    def _end_search(self, segment: Segment) -> None:
        self._refused.pop(segment.name, None)
        if self._search is not None and self._search.name == segment.name:
            self._search = None

    def _forget(self, segment: Segment) -> None:
        self._end_search(segment)
        self._damage_counted.discard(segment.name)
        self._failures.forget(segment)

    def _read(self, segment: Segment) -> Content | None:
        """The content of the segment; None when it cannot be loaded now, so that a bad file never delays the others."""
        try:
            content = self._spool.read(segment)
        except SegmentUnknown:
            self._spool.leave(segment)
            self._forget(segment)
            return None
        except SegmentCorrupt as error:
            self._count_lost(segment, f"{error}; moved to quarantine")
            self._spool.set_aside(segment)
            return None
        except FileNotFoundError:
            self._count_lost(segment, "the file was removed before it was loaded")
            self._spool.acknowledge(segment)
            return None
        except OSError as error:
            if self._failures.unreadable(segment):
                log.error("%s: cannot be read: %s; the others are loaded, and it is tried again", segment.path, error)  # noqa: TRY400 no traceback for a bad file
            self._health.loader_failed(f"{segment.path}: cannot be read: {error}")
            return None
        if segment.name not in self._damage_counted:  # once, however often the INSERT has to be tried
            self._damage_counted.add(segment.name)
            self._health.add("quarantined_bytes", content.quarantined_bytes)
            self._health.add("torn_bytes", content.torn_bytes)
        return content

    def _count_lost(self, segment: Segment, why: str) -> None:
        log.error("%s: %s", segment.path.name, why)
        self._health.add("unreadable_segments")
        self._health.add("lost", segment.spans or 0)
        self._forget(segment)
