"""
What of a server's statements was read: which, and how many.

performance_schema keeps the last statements in a ring, and how many there were in a summary. A statement is known by
its thread and event id; those of a thread end in the order of these ids, so the last one that was read is enough. What
the summary has counted and the ring did not have any more was overwritten before it was read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

OVERLAP_PS = 1_000_000_000_000
"""A statement may appear in the ring so long after its end, on a busy machine: what ended since is compared again."""


@dataclass(frozen=True)
class Mark:
    """The moment of a look, just before the ring is read; picoseconds since the server started."""

    thread_id: int
    """Of the connection that looks: its own statements are left out of all numbers."""
    own: int
    """How many these are, this moment's included."""
    start_ps: int
    end_ps: int
    """The summary was read between the two."""
    counted: int
    """What it had, of all connections."""


@dataclass(frozen=True)
class Seen:
    """What is known after a look."""

    run: str = ""
    """Of the server: another one, or the same one after a restart, begins anew."""
    mark_ps: int = 0
    """Start of the last mark."""
    last: Mapping[str, int] = field(default_factory=dict)
    """Thread → event id of its last statement that was read; of threads with one that ended within OVERLAP_PS."""
    thread_id: int = 0
    """Of the connection that looked last."""
    own: int = 0
    own_before: int = 0
    """Its own statements until the last mark, and those of connections before it."""
    counted: int = 0
    """At the last mark, of others."""
    read: int = 0
    """Statements that ended before the last mark."""
    perhaps: int = 0
    """Statements that ended during the mark: counted at it, or not."""
    ahead: int = 0
    """Statements that ended since the last mark began."""
    base: int | None = None
    """What was counted and never to be read, because it was before the first look; None: not known yet."""
    lost: int = 0
    """Statements that were overwritten before they were read. Never too many; all, once the server is quiet."""

    @property
    def since_ps(self) -> int:
        """What ended later may be new."""
        return max(self.mark_ps - OVERLAP_PS, 0)

    def is_new(self, thread_id: int, event_id: int) -> bool:
        """Whether a statement that ended after `since_ps` was not read before."""
        return event_id > self.last.get(str(thread_id), 0)

    def after(self, mark: Mark, new: Iterable[tuple[int, int, int]]) -> Seen:
        """
        Return what is known after the next look.

        Args:
            new: Thread, event id and end of each statement that was read, of the look's own ones too.
        """
        last = dict(self.last) if self.mark_ps > mark.start_ps - OVERLAP_PS else {}
        late = read = perhaps = ahead = 0
        for thread_id, event_id, end_ps in new:
            if end_ps > mark.start_ps - OVERLAP_PS:
                last[str(thread_id)] = max(event_id, last.get(str(thread_id), 0))
            if thread_id == mark.thread_id:
                continue
            if end_ps > mark.start_ps:
                ahead += 1
                perhaps += end_ps < mark.end_ps
            else:
                read += 1
                late += end_ps <= self.mark_ps
        own_before = self.own_before + (self.own if mark.thread_id != self.thread_id else 0)
        counted = mark.counted - mark.own - own_before
        seen = Seen(
            self.run,
            mark.start_ps,
            last,
            mark.thread_id,
            mark.own,
            own_before,
            counted,
            self.read + self.ahead + read,
            perhaps,
            ahead,
            lost=self.lost,
        )
        if not self.mark_ps or counted < self.counted:  # the first look; or somebody emptied the summary
            return seen
        # of the mark before: what was late for it is here now
        missing = self.counted - self.read - late
        base = missing if self.base is None else self.base
        return replace(seen, base=base, lost=max(self.lost, missing - self.perhaps - base))
