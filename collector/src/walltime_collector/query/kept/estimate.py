"""What groups of kept calls cost, each call with its weight."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from ..answers import Call
from .sample import SampledCall

Key = TypeVar("Key", bound=Hashable)


@dataclass
class Estimate:
    """Sums over kept calls, each multiplied by the calls that it stands for."""

    calls: float = 0.0
    time_ns: float = 0.0
    errors: float = 0.0
    hits: float = 0.0
    misses: float = 0.0
    calls_share: float = 0.0
    """Of the calls of all groups."""
    share: float = 0.0
    """Of the time of all groups."""

    @property
    def mean_ns(self) -> int:
        """Of a call."""
        return round(self.time_ns / self.calls)


def estimates(calls: Iterable[SampledCall], key_of: Callable[[SampledCall], Key | None]) -> list[tuple[Key, Estimate]]:
    """The groups of calls with the same key, the one with the most time first; calls with the key None are left out."""
    groups: dict[Key, Estimate] = {}
    for each in calls:
        key = key_of(each)
        if key is None:
            continue
        group = groups.setdefault(key, Estimate())
        hits, misses = looked_up(each.call)
        group.calls += each.weight
        group.time_ns += each.weight * each.call.own_ns
        group.errors += each.weight * bool(each.call.error)
        group.hits += each.weight * hits
        group.misses += each.weight * misses
    all_calls, all_ns = (sum(getattr(each, name) for each in groups.values()) or 1 for name in ("calls", "time_ns"))
    for group in groups.values():
        group.calls_share, group.share = group.calls / all_calls, group.time_ns / all_ns
    return sorted(groups.items(), key=lambda item: (-item[1].time_ns, item[0]))


def looked_up(call: Call) -> tuple[int, int]:
    """Hits and misses of a call: `hit`, `miss`, or `3/5` of a lookup of several keys."""
    found, slash, keys = call.result.partition("/")
    if slash and found.isdigit() and keys.isdigit() and call.component.rpartition(".")[2] not in ("set", "add"):
        return int(found), int(keys) - int(found)
    return int(call.result == "hit"), int(call.result == "miss")
