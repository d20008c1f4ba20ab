"""Segments that could not be stored or read: which wait, which are divided, and which records go to dead/."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import CollectorError, EngineEnded, EngineFull, EngineHung, EngineUnavailable
from ..spool.disk import Disk, write_whole
from ..spool.spool import Content, Segment
from .poison import Trial
from .segments import Care

log = logging.getLogger(__name__)

_LONGEST_PAUSE_S = 300.0
_PATIENCE = 5
"""Tries of a segment before the other segments go first."""
_FAULTS = 10
"""Tries of a segment or record that failed while other segments were stored, before it goes to dead/."""
_BLOWS = 3
"""Failures that may be the part's own, before records that end the process are searched, or the part is divided."""


@dataclass
class _Failing:
    """
    `tries` failed, `faults` of them after another segment had been stored (`loads`: how many had been stored then).

    `blows` are those of the part in `care.current` that a smaller part may not have.
    """

    loads: int
    tries: int = 0
    faults: int = 0
    blows: int = 0
    is_searched: bool = False
    care: Care = field(default_factory=Care)
    postponed_until_s: float = 0.0

    def postpone(self, pause_s: float) -> None:
        """Let others go first; for longer each time when it cannot be given up."""
        doublings = min(max(self.faults - _FAULTS + 1, 0), 10)
        self.postponed_until_s = time.monotonic() + min(pause_s * 2**doublings, _LONGEST_PAUSE_S)


class Failures:
    """
    No segment is tried for ever without a pause: it waits longer and longer, is divided, or goes to dead/.

    Args:
        read: The content of a segment; None when it cannot be read now.
        bury: Moves a whole segment to dead/ and counts it; False when dead/ has no room.
        pause_s: The shortest.
    """

    def __init__(
        self,
        read: Callable[[Segment], Content | None],
        bury: Callable[[Segment, str], bool],
        trial: Trial | None,
        pause_s: float,
    ) -> None:
        self._read, self._bury, self._trial, self._pause_s = read, bury, trial, pause_s
        self._loads = 0
        self._failing: dict[str, _Failing] = {}

    def care(self, segment: Segment) -> Care:
        """What its next INSERT has to avoid."""
        return self._failing_of(segment).care

    def waiting(self) -> set[str]:
        """The segments that are not tried now."""
        now_s = time.monotonic()
        return {name for name, failing in [*self._failing.items()] if failing.postponed_until_s > now_s}

    def any(self) -> bool:
        """Whether a segment waits, or did when it was tried last."""
        return any(failing.postponed_until_s for failing in self._failing.values())

    def stored(self, segment: Segment) -> None:
        """Forget its failures; from now on those of others are their own."""
        self._loads += 1
        _note_of(segment).unlink(missing_ok=True)
        self.forget(segment)

    def forget(self, segment: Segment) -> None:
        """The segment is in the spool no longer."""
        self._failing.pop(segment.name, None)

    def unreadable(self, segment: Segment) -> bool:
        """Let others go first; True the first time."""
        failing = self._failing_of(segment)
        is_first = not failing.postponed_until_s
        failing.faults += 1
        failing.postpone(self._pause_s)
        return is_first

    def note(self, segment: Segment, error: EngineUnavailable) -> None:
        """Let others go first after some tries; give up what fails while they are stored; divide what is too large."""
        failing = self._failing_of(segment)
        failing.tries += 1
        if self._loads > failing.loads:
            failing.loads, failing.faults = self._loads, failing.faults + 1
        if failing.faults >= _FAULTS and self._give_up(segment, failing, str(error)):
            return
        if failing.tries >= _PATIENCE:
            failing.postpone(self._pause_s)
        if isinstance(error, EngineHung | EngineFull) or (isinstance(error, EngineEnded) and not error.was_killed):
            failing.blows += 1
            if failing.blows == _BLOWS:
                failing.blows = 0
                self._lighten(segment, failing, error)

    def _failing_of(self, segment: Segment) -> _Failing:
        if segment.name not in self._failing:
            self._failing[segment.name] = _Failing(self._loads, care=Care(too_much=_divided(segment)))
        return self._failing[segment.name]

    def _give_up(self, segment: Segment, failing: _Failing, reason: str) -> bool:
        """Put the whole segment into dead/, or the one record of it that fails; False when neither is possible."""
        content, (first, end) = self._read(segment), failing.care.current
        if content is None or (first, end) == (0, len(content.records)):
            if not self._bury(segment, reason):
                return False
            log.error("%s: it alone cannot be stored, kept in dead/: %s", segment.path.name, reason)
            self.forget(segment)
            return True
        if end - first == 1:  # the others may be stored under tokens of their own
            failing.care.deadly[first] = reason
            failing.faults = 0
        return end - first == 1

    def _lighten(self, segment: Segment, failing: _Failing, error: EngineUnavailable) -> None:
        """
        Leave out the records that end the database's process; if there are none, divide the part that failed.

        An INSERT is one block, whose parts are committed when all of it is computed. So one that took too much memory
        has stored nothing, and its records can have other tokens. A note on disk says so: after a restart the whole
        would succeed where there is more memory, and store again what its parts have stored.
        """
        if isinstance(error, EngineEnded) and self._trial is not None and not failing.is_searched:
            failing.is_searched = self._find_deadly(segment, failing, self._trial)
            return
        first, end = failing.care.current
        if end - first > 1:
            too_much = failing.care.too_much | {failing.care.current}
            try:
                write_whole(Disk(), _note_of(segment), [json.dumps(sorted(too_much)).encode()])
            except OSError as failure:
                log.warning("%s: cannot be divided now: %s", segment.path.name, failure)
                return
            failing.care.too_much = too_much
            failing.faults = 0
            text = "%s: %d records cannot be stored in one INSERT and are divided: %s"
            log.warning(text, segment.path.name, end - first, error)

    def _find_deadly(self, segment: Segment, failing: _Failing, trial: Trial) -> bool:
        """Whether all records could be tried."""
        content = self._read(segment)
        if content is None:
            return False
        text = "%s: the database's process ended over it %d times; searching for the cause"
        log.warning(text, segment.path.name, _BLOWS)
        try:
            deadly = trial.deadly(content.records)
        except (CollectorError, OSError) as error:
            log.warning("%s: its records cannot be tried now: %s", segment.path.name, error)
            return False
        failing.care.deadly |= dict.fromkeys(deadly, "the database's process ends at every try to store it")
        return True


def _note_of(segment: Segment) -> Path:
    """Where `Care.too_much` survives a restart."""
    return segment.path.with_suffix(".divided")


def _divided(segment: Segment) -> set[tuple[int, int]]:
    try:
        return {(first, end) for first, end in json.loads(_note_of(segment).read_bytes())}
    except (OSError, ValueError):
        return set()
