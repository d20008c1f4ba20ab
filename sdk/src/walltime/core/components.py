"""The components of frameworks: the same names in every framework; they have no server (docs/instrumentation.md)."""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from walltime.core.call import line
from walltime.settings.valid import COMPONENTS

if TYPE_CHECKING:
    from walltime.core.call import Call

CONTAINERS: Final = frozenset({"middleware", "view"})
"""Their own time is what no component inside explains, like `other`."""
LINES: Final = {component: line(component) for component in COMPONENTS}
CONTAINER_LINES: Final = frozenset(LINES[component] for component in CONTAINERS)
BITS: Final = {component: 1 << number for number, component in enumerate(COMPONENTS)}
"""Component → its bit in `open_components` of an execution context."""

_STARTED_NS: Final = itemgetter(2)


@lru_cache(maxsize=16)
def bits(components: tuple[str, ...]) -> int:
    return sum(BITS[component] for component in set(components))


def subtract_branches(calls: list[Call]) -> None:
    """Make the own time of each container what no call inside it covers, in whatever execution context it ran."""
    if CONTAINER_LINES.isdisjoint(call[0] for call in calls):
        return
    ordered = sorted(calls, key=_STARTED_NS)
    starts = [call[2] for call in ordered]
    for place, call in enumerate(calls):
        line, subject, started_ns, ended_ns, own_ns, failure, requested, matched = call
        if line in CONTAINER_LINES:
            until_ns, rest_ns = started_ns, ended_ns - started_ns
            for inner in ordered[bisect_right(starts, started_ns) :]:
                if inner[2] >= ended_ns:
                    break
                inner_ended_ns = min(inner[3], ended_ns)
                if inner_ended_ns > until_ns:
                    rest_ns -= inner_ended_ns - max(inner[2], until_ns)
                    until_ns = inner_ended_ns
            own_ns = min(own_ns, rest_ns)
            calls[place] = (line, subject, started_ns, ended_ns, own_ns, failure, requested, matched)
