"""A running 99th percentile of durations, by which `detail` decides what is slow. Runs in the export thread."""

from __future__ import annotations

from typing import Final

WARM_UP: Final = 200
"""Values before the percentile is used."""
WINDOW: Final = 2000
"""Weight at which the counts of all values are halved."""
_EVERY: Final = 64
"""Values between two computations of the percentile."""
_STEPS: Final = 32
"""Buckets for each power of two: the percentile is at most 1/32 too high."""


class RunningP99:
    """
    The 99th percentile of the recent values of one kind, from a decaying histogram.

    At most a hundredth of the values it holds are above `bound_ns`, and more than that are above 31/32 of it. It
    follows a change within some hundred values; 0.4 µs a value, about 3 KiB.
    """

    __slots__ = ("_counts", "_until_look", "bound_ns")

    def __init__(self) -> None:
        self._counts: dict[int, float] = {}
        self._until_look = WARM_UP
        self.bound_ns: int | None = None
        """Slow transactions take at least this long; None before `WARM_UP` values."""

    def add(self, value_ns: int) -> None:
        bucket = _bucket(value_ns)
        self._counts[bucket] = self._counts.get(bucket, 0.0) + 1.0
        self._until_look -= 1
        if not self._until_look:
            self._until_look = _EVERY
            self._look()

    def _look(self) -> None:
        counts = self._counts
        weight = sum(counts.values())
        if weight > WINDOW:
            counts = self._counts = {bucket: count / 2 for bucket, count in counts.items() if count > 0.1}
            weight = sum(counts.values())
        above = 0.0
        for bucket in sorted(counts, reverse=True):
            above += counts[bucket]
            if above > weight / 100:
                self.bound_ns = _end_ns(bucket)
                return


class KindsP99:
    """A percentile for each kind; beyond `limit` kinds, the least recently used one is dropped."""

    def __init__(self, limit: int = 512) -> None:
        self._limit = limit
        self._kinds: dict[str, RunningP99] = {}

    def is_slow(self, kind: str, duration_ns: int) -> bool:
        """Say whether it took longer than 99 % of the recent ones of its kind, and add it to them."""
        p99 = self._kinds.pop(kind, None)
        if p99 is None:
            p99 = RunningP99()
            if len(self._kinds) >= self._limit:
                del self._kinds[next(iter(self._kinds))]
        self._kinds[kind] = p99  # at the end: the first is the least recently used
        bound_ns = p99.bound_ns
        p99.add(duration_ns)
        return bound_ns is not None and duration_ns >= bound_ns


def _bucket(value: int) -> int:
    if value < 2 * _STEPS:
        return max(0, value)
    shift = value.bit_length() - 6
    return shift * _STEPS + (value >> shift)


def _end_ns(bucket: int) -> int:
    """The smallest value beyond the bucket."""
    if bucket < 2 * _STEPS:
        return bucket + 1
    shift = bucket // _STEPS - 1
    return (bucket - shift * _STEPS + 1) << shift
