"""Moves spool to engine: a sealed segment is one INSERT under its own token, tried until it succeeds."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..clickhouse.engine import Engine
from ..crashpoint import reach
from ..errors import CollectorError, EngineEnded, EngineUnavailable, InsertRefused, SegmentCorrupt, SegmentUnknown
from ..health.counters import Health
from ..spool.reserve import Reserve
from ..spool.segment import Record
from ..spool.spool import Content, Segment, Spool
from .poison import Trial

log = logging.getLogger(__name__)

_LOOK_EVERY_S = 0.05
_FIRST_RETRY_S = 0.2
_LAST_RETRY_S = 5.0
_PATIENCE = 5
"""Tries of a segment before the others go first."""
_FAULTS = 10
"""Tries of a segment that failed while others went through, before it is put into dead/ as it is."""
_ENDS = 3
"""Deaths of the engine over a segment, before it is looked for what it dies of."""
_TOGETHER_NS = 24 * 3600 * 1_000_000_000
"""Starts are stored at most 29 days before and a day after receipt; so an INSERT touches 32 days at most."""


Numbered = Sequence[tuple[int, Record]]
"""Records with their positions in the segment."""


@dataclass
class _Failing:
    """
    A segment that the engine did not store.

    `faults`: tries between which others were; `loads`: how many then. `ends`: tries over which the engine's process
    ended; `deadly`: the positions of the requests that it dies of.
    """

    loads: int
    tries: int = 0
    faults: int = 0
    ends: int = 0
    deadly: frozenset[int] = frozenset()


class Loader:
    """
    A thread of its own between a spool and an engine.

    A segment is loaded when it is full, or when nothing else waits and the last one was a second ago: one small INSERT
    a second while little comes, and few large ones while the engine is busy or away.
    """

    def __init__(
        self, spool: Spool, engine: Engine, health: Health, reserve: Reserve | None = None, trial: Trial | None = None
    ) -> None:
        self._spool, self._engine, self._health = spool, engine, health
        self._reserve, self._trial = reserve, trial
        self._stop = threading.Event()
        self._damage_counted: set[str] = set()
        self._postponed_until_s: dict[str, float] = {}
        self._failing: dict[str, _Failing] = {}
        self._loads = 0
        self._found = spool.sealed()
        dead = sum(letter.spans for letter in spool.dead_letters())
        health.add("received", dead)
        health.add("dead", dead)
        self._has_tables = False
        self._retry_s = _FIRST_RETRY_S
        self._thread = threading.Thread(target=self._run, name="loader", daemon=True)

    def start(self) -> None:
        """Begin with what earlier runs left in the spool."""
        self._thread.start()

    def stop(self, drain_s: float) -> None:
        """Load what is spooled for at most `drain_s`; what remains stays on disk for the next start."""
        self._spool.seal()
        deadline_s = time.monotonic() + drain_s
        while self._waiting() and time.monotonic() < deadline_s and self._thread.is_alive():
            time.sleep(0.01)
        self._stop.set()
        # An INSERT that runs cannot be interrupted, and need not be: its token makes a repetition harmless.
        self._thread.join(max(deadline_s - time.monotonic(), 0.1))

    def load_waiting(self) -> None:
        """
        Load what waits now, in the calling thread.

        Raises:
            EngineUnavailable, OSError: What is not loaded waits on.
        """
        while self._found and not self._stop.is_set():
            self._take_over(self._found.pop())
        self._check_room()
        if not self._has_tables:  # a server may have been away when the collector started
            self._engine.migrate()
            self._has_tables = True
        self._works()
        if not self._waiting():
            self._spool.seal_if_due()
        for segment in self._waiting():
            try:
                self._load(segment)
            except EngineUnavailable as error:
                self._fails(segment, error)
                raise
            self._retry_s = _FIRST_RETRY_S
            if self._stop.is_set():
                return

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self.load_waiting()
                self._stop.wait(_LOOK_EVERY_S)
            except Exception as error:  # whatever it is, the data is on disk and this thread must go on
                if not isinstance(error, CollectorError | OSError):
                    log.exception("the loader failed in a way nobody thought of; it tries again")
                elif self._retry_s == _FIRST_RETRY_S:
                    log.warning("cannot load now, will try again: %s", error)
                self._health.loader_failed(str(error))
                # not all collectors of one server at the same moment
                self._stop.wait(self._retry_s * random.uniform(0.5, 1))
                self._retry_s = min(self._retry_s * 2, _LAST_RETRY_S)

    def _waiting(self) -> list[Segment]:
        now_s = time.monotonic()
        return [each for each in self._spool.sealed() if self._postponed_until_s.get(each.name, 0) <= now_s]

    def _take_over(self, segment: Segment) -> None:
        """Count what an earlier run left."""
        try:
            spans = self._spool.count(segment).spans or 0
        except SegmentUnknown as error:
            log.warning("%s: %s", segment.path.name, error)
            self._health.add("unknown_segments")
            self._spool.leave(segment)
            return
        except (OSError, SegmentCorrupt):
            return  # said when it is its turn
        self._health.add("received", spans)

    def _load(self, segment: Segment) -> None:
        self._check_room()
        content = self._read(segment)
        if content is None:
            return
        outcome: Counter[str] = Counter()
        deadly = self._failing[segment.name].deadly if segment.name in self._failing else frozenset()
        # what is left out leaves the token of the rest as it is, for what was stored before the engine's process ended
        whole = content.token + "".join(f"-{at}" for at in sorted(deadly))
        for part in _together(content.records):
            token = content.token if len(part) == len(content.records) else _part(content.token, part)
            outcome += self._insert(segment, whole, [each for each in part if each[0] not in deadly], token)
        for at in sorted(deadly):
            reason = "the database's process ends at every try to store it"
            outcome += self._put_aside(segment, at, content.records[at], reason)
        reach("after_insert")
        self._spool.acknowledge(segment)
        reach("after_acknowledge")
        self._loads += 1
        self._forget(segment)
        read = sum(record.spans for record in content.records)
        if segment.spans is None:  # it could not be counted when it was found
            outcome["received"] += read + content.lost_spans
            outcome["lost"] += content.lost_spans
        else:
            outcome["lost"] += max(segment.spans - read, 0)
        for name, spans in outcome.items():
            self._health.add(name, spans)
        self._works()

    def _check_room(self) -> None:
        if self._reserve is not None:
            self._reserve.check()

    def _works(self) -> None:
        if not self._postponed_until_s:
            self._health.loader_works()

    def _fails(self, segment: Segment, error: EngineUnavailable) -> None:
        """After some tries the others go first; when they are stored and it never is, it is put away."""
        failing = self._failing.setdefault(segment.name, _Failing(self._loads))
        failing.tries += 1
        if self._loads > failing.loads:
            failing.loads, failing.faults = self._loads, failing.faults + 1
        if failing.faults >= _FAULTS and self._spool.bury(segment, str(error)):
            log.error("%s: it alone cannot be stored, kept in dead/: %s", segment.path.name, error)
            self._health.add("dead", segment.spans or 0)
            self._forget(segment)
            return
        if failing.tries >= _PATIENCE:
            self._postpone(segment)
        if isinstance(error, EngineEnded):
            failing.ends += 1
            if failing.ends == _ENDS:
                self._try_out(segment, failing)

    def _try_out(self, segment: Segment, failing: _Failing) -> None:
        content = self._read(segment)
        if self._trial is None or content is None:
            return
        log.warning(
            "%s: the database's process ended over it %d times; looking for what ends it", segment.path.name, _ENDS
        )
        try:
            failing.deadly = frozenset(self._trial.deadly(content.records))
        except (CollectorError, OSError) as error:
            failing.ends = 0
            log.warning("%s: cannot be tried out now: %s", segment.path.name, error)

    def _postpone(self, segment: Segment) -> None:
        self._postponed_until_s[segment.name] = time.monotonic() + _LAST_RETRY_S

    def _forget(self, segment: Segment) -> None:
        self._damage_counted.discard(segment.name)
        self._postponed_until_s.pop(segment.name, None)
        self._failing.pop(segment.name, None)

    def _read(self, segment: Segment) -> Content | None:
        """What is in the segment; None when nothing of it can be loaded now. No bad file holds up the others."""
        try:
            content = self._spool.read(segment)
        except SegmentUnknown:
            self._spool.leave(segment)
            return None
        except SegmentCorrupt as error:
            log.error("%s: %s; moved to quarantine", segment.path.name, error)  # noqa: TRY400 no traceback for a bad file
            self._health.add("unreadable_segments")
            self._health.add("lost", segment.spans or 0)
            self._spool.set_aside(segment)
            return None
        except FileNotFoundError:
            log.error("%s: somebody removed it before it was loaded", segment.path.name)  # noqa: TRY400
            self._health.add("unreadable_segments")
            self._health.add("lost", segment.spans or 0)
            self._spool.acknowledge(segment)
            return None
        except OSError as error:
            if segment.name not in self._postponed_until_s:
                log.error("%s: cannot be read: %s; the others are loaded, and it is tried again", segment.path, error)  # noqa: TRY400
            self._health.loader_failed(f"{segment.path}: cannot be read: {error}")
            self._postpone(segment)
            return None
        if segment.name not in self._damage_counted:  # once, however often the INSERT has to be tried
            self._damage_counted.add(segment.name)
            self._health.add("quarantined_bytes", content.quarantined_bytes)
            self._health.add("torn_bytes", content.torn_bytes)
        return content

    def _insert(
        self, segment: Segment, whole: str, part: Numbered, token: str, *, is_refused: bool = False
    ) -> Counter[str]:
        """
        Insert, and say how many spans were stored, dead or lost.

        When the data is refused, halve until the one bad request is alone, and put that one aside. Parts have tokens of
        their own that come out the same on every try.

        Args:
            is_refused: It is in there: the other half of what was refused went through. So it is halved untried.
        """
        refusal: InsertRefused | None = None
        if not is_refused or len(part) == 1:
            try:
                if part:
                    self._engine.insert([record for _, record in part], token)
            except InsertRefused as error:
                refusal = error
            else:
                return Counter(stored=sum(record.spans for _, record in part))
        if len(part) == 1:
            return self._put_aside(segment, *part[0], str(refusal))
        left, right = part[: len(part) // 2], part[len(part) // 2 :]
        outcome = self._insert(segment, whole, left, _part(whole, left))
        is_right = not outcome["dead"] and not outcome["lost"]
        return outcome + self._insert(segment, whole, right, _part(whole, right), is_refused=is_right)

    def _put_aside(self, segment: Segment, at: int, record: Record, reason: str) -> Counter[str]:
        is_kept = self._spool.dead_letter(segment, [record], at, reason)
        log.error("the database refused a request, %s: %s", "kept in dead/" if is_kept else "lost", reason)
        return Counter({"dead" if is_kept else "lost": record.spans})


def _part(whole: str, part: Numbered) -> str:
    return f"{whole}:{part[0][0]}+{len(part)}"


def _together(records: Sequence[Record]) -> Iterator[Numbered]:
    """Cut where more than a day lies between receipts: the segment was open for long, or the clock jumped."""
    part: list[tuple[int, Record]] = []
    earliest = latest = records[0].received_at_ns if records else 0
    for at, record in enumerate(records):
        earliest, latest = min(earliest, record.received_at_ns), max(latest, record.received_at_ns)
        if latest - earliest > _TOGETHER_NS:
            yield part
            part, earliest, latest = [], record.received_at_ns, record.received_at_ns
        part.append((at, record))
    yield part
