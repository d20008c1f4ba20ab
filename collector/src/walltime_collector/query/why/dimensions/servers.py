"""Servers whose calls fail more often than usual: beyond chance, of all servers."""

from __future__ import annotations

from ...statistics import CHANCE
from ...statistics.counts import more_often
from ...statistics.estimates import Estimate, Sums, share
from ...statistics.multiple import holm
from ..answer import Contribution
from ..causes.cause import fails_more
from ..reading import Reading
from . import blocks

_MOST = 50


def failing(reading: Reading) -> list[tuple[Contribution, float]]:
    """
    The servers of `reading.targets` that fail more, with p-values corrected for all of them; the most failures first.

    Bursts count as one, and transactions instead of calls, which fail together.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    worse = sorted(filter(fails_more, reading.targets), key=lambda each: -each.slow.errors)[:_MOST]
    if not worse:
        return []
    names = [f"{each.component} {each.address}" for each in worse]
    _, *sides = blocks.read(reading, "servers", ("failed", "transactions"), len(names) + 1, servers=names)
    p_values = [_p_value(usual, slow, blocks.length(reading)) for usual, slow in sides]
    corrected = zip(worse, holm(p_values, len(reading.targets)), strict=True)
    return [(each, p_value) for each, p_value in corrected if p_value < CHANCE]


def _p_value(usual: Sums, slow: Sums, times: float) -> float:
    """That the part is as large as usual; each side has the part and the whole of each block."""
    # a server without usual calls had no failures
    before = share(*usual) if usual[1].any() else Estimate(0.0, 0.0)
    change = share(*slow).since(before, times)
    by_count = more_often(*map(round, (*slow.sum(1), *usual.sum(1)))) if usual[1].any() else 0.0
    return max(change.p_value, by_count) if change.size > 0 else 1.0
