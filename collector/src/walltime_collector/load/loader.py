"""Moves segments from the spool to the engine: each is one INSERT under its own token, tried until it succeeds."""

from __future__ import annotations

import logging
import random
import time
from collections import defaultdict
from dataclasses import dataclass

from ..background import BackgroundThread
from ..clickhouse.engine import Engine
from ..crashpoint import reach
from ..errors import CollectorError, EngineEnded, EngineUnavailable, SegmentCorrupt, SegmentUnknown
from ..health.counters import Health
from ..spool.reserve import Reserve
from ..spool.spool import Content, Segment, Spool
from .poison import Trial
from .segments import store

log = logging.getLogger(__name__)

_POLL_S = 0.05
_FIRST_RETRY_S = 0.2
_LAST_RETRY_S = 5.0
_PATIENCE = 5
"""Tries of a segment before the other segments go first."""
_FAULTS = 10
"""Tries of a segment that failed while others were stored, before the whole segment goes to dead/."""
_ENDS = 3
"""How often the engine's process may end over a segment before the search for the records that end it."""


@dataclass
class _Failing:
    """
    A segment that could not be stored or read.

    `tries` failed, `ends` of them with the engine's process; `faults` of them after another segment had been stored
    (`loads`: how many had been stored then). `deadly` are the positions of the records that end the process.
    """

    loads: int = 0
    tries: int = 0
    faults: int = 0
    ends: int = 0
    deadly: frozenset[int] = frozenset()
    postponed_until_s: float = 0.0


class Loader(BackgroundThread):
    """
    A thread of its own between a spool and an engine.

    It loads a segment when the segment is full, or when no other waits and the last one was a second ago. So there is
    one small INSERT a second at low load, and there are few large ones while the engine is busy or away.
    """

    def __init__(
        self, spool: Spool, engine: Engine, health: Health, reserve: Reserve | None = None, trial: Trial | None = None
    ) -> None:
        super().__init__("loader", "load", _POLL_S)
        self._spool, self._engine, self._health = spool, engine, health
        self._reserve, self._trial = reserve, trial
        self._damage_counted: set[str] = set()
        self._loads: int = 0
        self._failing: defaultdict[str, _Failing] = defaultdict(lambda: _Failing(self._loads))
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
        while self._waiting() and time.monotonic() < deadline_s and self.is_alive():
            time.sleep(0.01)
        # A running INSERT cannot be interrupted, and need not be: its token makes a repetition harmless.
        super().stop(max(deadline_s - time.monotonic(), 0.1))

    def step(self) -> None:
        """
        Load what waits now.

        Raises:
            EngineUnavailable, OSError: The segments that are not loaded keep waiting.
        """
        while self._uncounted and not self.stopping.is_set():
            self._count_spans(self._uncounted.pop())
        self._check_disk()
        if not self._has_tables:  # a server may have been away when the collector started
            self._engine.migrate()
            self._has_tables = True
        self._report_well()
        if not self._waiting():
            self._spool.seal_if_due()
        for segment in self._waiting():
            try:
                self._load(segment)
            except EngineUnavailable as error:
                self._note_failure(segment, error)
                raise
            self._retry_s = _FIRST_RETRY_S
            if self.stopping.is_set():
                return

    def failed(self, error: Exception) -> float:
        """See BackgroundThread; the data is on disk."""
        super().failed(error)
        self._health.loader_failed(str(error))
        retry_s, self._retry_s = self._retry_s, min(self._retry_s * 2, _LAST_RETRY_S)
        return retry_s * random.uniform(0.5, 1)  # the collectors of one server must not all try at the same moment

    def _waiting(self) -> list[Segment]:
        now_s = time.monotonic()
        postponed = {name for name, failing in [*self._failing.items()] if failing.postponed_until_s > now_s}
        return [segment for segment in self._spool.sealed() if segment.name not in postponed]

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
        self._check_disk()
        content = self._read(segment)
        if content is None:
            return
        deadly = self._failing[segment.name].deadly if segment.name in self._failing else frozenset[int]()
        outcome = store(self._spool, self._engine, segment, content, deadly)
        reach("after_insert")
        self._spool.acknowledge(segment)
        reach("after_acknowledge")
        self._loads += 1
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

    def _check_disk(self) -> None:
        if self._reserve is not None:
            self._reserve.check()

    def _report_well(self) -> None:
        if not any(failing.postponed_until_s for failing in self._failing.values()):
            self._health.loader_works()

    def _note_failure(self, segment: Segment, error: EngineUnavailable) -> None:
        """Let other segments go first after some tries; give up a segment that fails while all others are stored."""
        failing = self._failing[segment.name]
        failing.tries += 1
        if self._loads > failing.loads:
            failing.loads, failing.faults = self._loads, failing.faults + 1
        if failing.faults >= _FAULTS and self._spool.bury(segment, str(error)):
            log.error("%s: it alone cannot be stored, kept in dead/: %s", segment.path.name, error)
            self._health.add("dead", segment.spans or 0)
            self._forget(segment)
            return
        if failing.tries >= _PATIENCE:
            failing.postponed_until_s = time.monotonic() + _LAST_RETRY_S
        if isinstance(error, EngineEnded):
            failing.ends += 1
            if failing.ends == _ENDS:
                self._find_deadly(segment, failing)

    def _find_deadly(self, segment: Segment, failing: _Failing) -> None:
        content = self._read(segment)
        if self._trial is None or content is None:
            return
        log.warning(
            "%s: the database's process ended over it %d times; searching for the cause",
            segment.path.name,
            _ENDS,
        )
        try:
            failing.deadly = frozenset(self._trial.deadly(content.records))
        except (CollectorError, OSError) as error:
            failing.ends = 0
            log.warning("%s: its records cannot be tried now: %s", segment.path.name, error)

    def _forget(self, segment: Segment) -> None:
        self._damage_counted.discard(segment.name)
        self._failing.pop(segment.name, None)

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
            failing = self._failing[segment.name]
            if not failing.postponed_until_s:
                log.error("%s: cannot be read: %s; the others are loaded, and it is tried again", segment.path, error)  # noqa: TRY400 no traceback for a bad file
            self._health.loader_failed(f"{segment.path}: cannot be read: {error}")
            failing.postponed_until_s = time.monotonic() + _LAST_RETRY_S
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
