"""What a cache says of itself: it was restarted, is too small, was saving, is slow; or others find their keys in it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from .... import other_side
from ....other_side import ServerEvent, events
from ...answer import Contribution
from ...finding import BECAUSE, Finding
from ...reading import Reading
from ..cause import Cause, fails_more
from . import cache_status
from .during import Asked, Span, carried

_CACHES = ("memcache.", "redis.")
_BEFORE_NS = 600_000_000_000
"""An event this long before the slow time may still be why it is slow."""
_EMPTIED = ("restarted", "started", "replaced", "flushed", "failover")
"""What makes a cache cold, at once and until it has filled again."""
_STOPPED = ("saving", "slow_command")


@dataclass(frozen=True)
class Server:
    """An observed cache that a cause is about."""

    name: str
    asked: Asked
    happened: Sequence[ServerEvent]

    def spans(self, event: str, until_ns: int) -> list[Span]:
        """When it happened; what makes a cache cold lasts."""
        return [
            (each.start_ns, until_ns if event in _EMPTIED else max(each.end_ns, each.start_ns + 1))
            for each in self.happened
            if each.event == event
        ]


def findings(reading: Reading, causes: Sequence[Cause]) -> list[Finding]:
    """
    One finding for each cache that lost lookups, fails or is slower, where its own numbers explain that.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    asked = list(dict.fromkeys(each for cause in causes for each in _asked(reading, cause)))
    if not asked:
        return []
    window = reading.compared.whole
    found: list[Finding] = []
    for each in asked:
        if (name := other_side.meant(each.target.address, reading.observed)) is not None:
            happened = events(reading.engine, replace(window, start_ns=window.start_ns - _BEFORE_NS), (name,))
            server = Server(name, each, happened)
            found += [finding] if (finding := next(_explained(reading, server), None)) else []
    return found


def _asked(reading: Reading, cause: Cause) -> Iterator[Asked]:
    """What is to be explained: lookups that are lost, or calls that are slower or fail."""
    lookups = cause.lookups
    if lookups.is_why or lookups.follow:
        yield from (Asked(each, "lost") for each in lookups.changed)
    component = cause.part.component
    if component.startswith(_CACHES):
        mine: Sequence[Contribution] = cause.targets or [e for e in reading.targets if e.component == component]
        failing = [each for each in mine if fails_more(each)]
        yield from (Asked(each, "failed") for each in failing)
        if cause.has_slower_calls:
            yield from (Asked(each, "time_ns") for each in mine if each not in failing)


def _explained(reading: Reading, server: Server) -> Iterator[Finding]:
    """The explanations that hold, the most certain one first."""
    slow = reading.compared.slow
    if server.asked.measure != "time_ns":
        for event in reversed([each for each in server.happened if each.event in _EMPTIED]):
            if slow.start_ns - _BEFORE_NS <= event.start_ns < slow.end_ns:
                found = carried(reading, server.asked, [(event.start_ns, slow.end_ns)], is_at_once=True)
                yield from _said(found, event.what)
    limits = [each for each in server.happened if each.event == "connection_limit"]
    found = carried(reading, server.asked, server.spans("connection_limit", slow.end_ns))
    yield from _said(found, "; ".join(each.what for each in limits[-1:]))
    status = cache_status.read(reading, server.name)
    if server.asked.measure == "time_ns":
        yield from _stopped(reading, server, status)
    elif server.asked.measure == "lost" and status:
        yield from _said(status.too_small(), "")
        yield from _said(status.as_ever(server.asked.target), "")


def _stopped(reading: Reading, server: Server, status: cache_status.Status | None) -> Iterator[Finding]:
    """It is slow itself: the collector waits as well, or it says what stopped it."""
    slow_itself = status.slow_itself(server.asked.target) if status else None
    if slow_itself is None:
        slow_itself = cache_status.slow_at_times(reading, server.name, server.asked)
    for event in _STOPPED:
        mine = [each for each in server.happened if each.event == event]
        if mine and (slow_itself or any("fork_ns" in each.details for each in mine) or event == "slow_command"):
            found = carried(reading, server.asked, server.spans(event, 0))
            yield from _said(
                found, _most([each for each in mine if each.end_ns > reading.compared.slow.start_ns] or mine)
            )
    if slow_itself:
        yield from _said(slow_itself, "")


def _most(happened: Sequence[ServerEvent]) -> str:
    """The command that took the most time, its longest event, and how many there were."""
    took_s = defaultdict[str, float](float)
    for each in happened:
        took_s[each.details.get("command", "")] += each.number
    longest = max(happened, key=lambda each: (took_s[each.details.get("command", "")], each.number))
    return longest.what + f", the longest of {len(happened)} times" * (len(happened) > 1)


def _said(found: Finding | None, sentence: str) -> Iterator[Finding]:
    if found:
        words = found.sentence or f"{BECAUSE}{sentence}"
        yield replace(found, sentence=f"{words}.")
