"""Reads how long the transactions of both sides took, sets single ones apart, and tests the difference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...clickhouse.engine import Engine, Parameter
from ..queries import run
from ..statistics import SECOND_CHANCE
from ..statistics.blocks import FEWEST, FINEST_BLOCKS, Blocks, Tested, blocks, compare
from ..statistics.counts import more_often
from ..statistics.tails import are_notable, bound
from ..windows import Comparison

LONGEST_NS = 2**63 - 1


@dataclass(frozen=True)
class Times:
    """The transactions of one side, in the order of time; those longer than `bound_ns` are single ones."""

    durations_ns: NDArray[np.float64]
    failed: NDArray[np.bool_]
    bound_ns: int = LONGEST_NS

    def those(self, are_meant: NDArray[np.bool_]) -> Times:
        """Some of them."""
        return Times(self.durations_ns[are_meant], self.failed[are_meant])

    @property
    def typical_ns(self) -> NDArray[np.float64]:
        """Without the single ones."""
        return self.durations_ns[self.durations_ns <= self.bound_ns]

    @property
    def single_ns(self) -> float:
        """What the single ones add to the mean."""
        return float(self.durations_ns.mean() - self.typical_ns.mean())


@dataclass(frozen=True)
class Durations:
    """Both sides. The tests are None where the slow ones were chosen for being slow, or are too few."""

    usual: Times
    slow: Times
    threshold_ns: int
    """The shortest of the slow, when they were chosen for being slow; else 0."""
    typical: Tested | None
    """The difference of the means without single transactions."""
    singles: Tested | None
    """The difference of the shares of single transactions."""
    apart: float
    """The distance of the middles of the two windows, in lengths of the usual one."""

    @property
    def bound_ns(self) -> int:
        """The same for both sides; LONGEST_NS when no single transaction is worth speaking of."""
        return self.usual.bound_ns


def read(engine: Engine, params: Mapping[str, Parameter], compared: Comparison) -> Durations | tuple[bool, bool]:
    """
    Read them; or whether there are usual and slow ones, when one side is empty.

    Args:
        params: Of queries/why/_compared.sql, where `threshold_ns` is 0.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    sides = {
        bool(row["is_slow"]): Times(np.array(row["durations_ns"], np.float64), np.array(row["failed"], np.bool_))
        for row in run(engine, "why/durations", **params)
    }
    none = Times(np.empty(0), np.empty(0, np.bool_))
    usual, slow, threshold_ns = sides.get(False, none), sides.get(True, none), 0
    if compared.slowest_percent is not None and (number := len(slow.durations_ns)):
        at = min(int((1 - compared.slowest_percent / 100) * number), number - 1)
        threshold_ns = int(np.partition(slow.durations_ns, at)[at])
        is_slow = slow.durations_ns >= threshold_ns
        usual, slow = slow.those(~is_slow), slow.those(is_slow)
    if not (len(usual.durations_ns) and len(slow.durations_ns)):
        return bool(len(usual.durations_ns)), bool(len(slow.durations_ns))
    apart = compared.usual.apart(compared.slow)
    return _judged(usual, slow, threshold_ns, apart, is_tested=compared.slowest_percent is None)


def in_blocks(usual: NDArray[np.float64], slow: NDArray[np.float64]) -> tuple[Blocks, Blocks]:
    """Values of both sides, in the order of time, in blocks of about equally many transactions."""
    size = max(min(len(usual), len(slow)) // FINEST_BLOCKS, 1)
    return blocks(usual, size), blocks(slow, size)


def _judged(usual: Times, slow: Times, threshold_ns: int, apart: float, *, is_tested: bool) -> Durations:
    bound_ns = int(min(max(bound(usual.durations_ns), bound(slow.durations_ns)), LONGEST_NS))
    before, now = replace(usual, bound_ns=bound_ns), replace(slow, bound_ns=bound_ns)
    typical = singles = None
    if is_tested and min(len(usual.durations_ns), len(slow.durations_ns)) >= FEWEST:
        typical = compare(*in_blocks(before.typical_ns, now.typical_ns), apart)
        of_usual, of_slow = ((each.durations_ns > bound_ns).astype(np.float64) for each in (before, now))
        singles = compare(*in_blocks(of_usual, of_slow), apart)
        fewer, more = sorted((of_usual, of_slow), key=np.mean)
        exactly = more_often(int(more.sum()), len(more), int(fewer.sum()), len(fewer))
        if exactly >= SECOND_CHANCE:  # blocks are rough with few of them
            singles = replace(singles, p_value=1.0)
    usual_ns = float(before.typical_ns.mean())
    if not are_notable(singles, now.single_ns - before.single_ns, now.typical_ns.mean() - usual_ns, usual_ns):
        before, now = usual, slow
    return Durations(before, now, threshold_ns, typical, singles, apart)
