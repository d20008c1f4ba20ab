"""Follows transactions as they arrive: polls for those that ended lately, and remembers which were shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import count

from ...query.find.answer import Match

LATE_S = 900
"""A transaction is found if it is stored at most so long after its end."""
_RECENT_S = 30
_TURNS = 30
"""Every so many turns it looks back LATE_S, otherwise _RECENT_S: most transactions are stored within 2 s."""


def arrivals(ended_within: Callable[[int], Iterable[Match]], wait: Callable[[], object]) -> Iterator[Match]:
    """
    Each transaction once, soon after it is stored; those that are there at the start are left out. It does not end.

    Args:
        ended_within: Those that ended in the last so many seconds.
        wait: Called between two looks.
    """
    known = {(each.trace_id, each.span_id) for each in ended_within(LATE_S)}
    for turn in count(1):
        wait()
        is_whole = turn % _TURNS == 0
        looked_at = set()
        for each in ended_within(LATE_S if is_whole else _RECENT_S):
            identity = each.trace_id, each.span_id
            looked_at.add(identity)
            if identity not in known:
                known.add(identity)
                yield each
        if is_whole:
            known = looked_at  # the others ended too long ago to be looked at again
