"""Servers whose calls fail more often, or caches that hit less often, than usual: beyond chance, of all servers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...queries import run
from ...statistics import CHANCE
from ...statistics.counts import more_often
from ...statistics.estimates import BLOCKS, Estimate, Sums, share
from ...statistics.multiple import holm
from ..answer import Contribution
from ..causes.cause import fails_more
from ..reading import Reading
from . import blocks

_COUNTED = (("failed", "transactions"), ("missed", "looked_up"))
_MOST = 50


@dataclass(frozen=True)
class Servers:
    """Components on one server, with their p-values, corrected for all of them."""

    failing: tuple[tuple[Contribution, float], ...] = ()
    """More calls fail than usual; the most failures first."""
    missing: tuple[tuple[Contribution, float], ...] = ()
    """More lookups miss than usual."""


def find(reading: Reading) -> Servers:
    """
    Test the servers of `reading.targets`; bursts count as one, and transactions instead of calls, which fail together.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    failing, missing = (
        sorted(filter(is_worse, reading.targets), key=lambda each: -each.slow.errors - each.slow.misses)[:_MOST]
        for is_worse in (fails_more, _misses_more)
    )
    both = [*dict.fromkeys([*failing, *missing])]
    if not both:
        return Servers()
    sums = np.zeros((len(both) + 1, 2, 4, BLOCKS))
    for row in run(
        reading.engine,
        "why/dimensions/servers",
        **reading.params,
        **blocks.lengths(reading.compared),
        servers=[f"{each.component} {each.address}" for each in both],
    ):
        sums[row["server"], int(row["is_slow"]), :, blocks.at(row)] += [row[name] for pair in _COUNTED for name in pair]
    found = []
    for at, listed in ((0, failing), (2, missing)):
        sides = [sums[1 + both.index(each), :, at : at + 2] for each in listed]
        p_values = [_p_value(usual, slow, blocks.length(reading)) for usual, slow in sides]
        corrected = zip(listed, holm(p_values, len(reading.targets)), strict=True)
        found.append(tuple((each, p_value) for each, p_value in corrected if p_value < CHANCE))
    return Servers(*found)


def _misses_more(target: Contribution) -> bool:
    looked_up = [each.hits + each.misses for each in (target.usual, target.slow)]
    return all(looked_up) and target.slow.misses / looked_up[1] > target.usual.misses / looked_up[0]


def _p_value(usual: Sums, slow: Sums, times: float) -> float:
    """That the part is as large as usual; each side has the part and the whole of each block."""
    # a server without usual calls had no failures
    before = share(*usual) if usual[1].any() else Estimate(0.0, 0.0)
    change = share(*slow).since(before, times)
    by_count = more_often(*map(round, (*slow.sum(1), *usual.sum(1)))) if usual[1].any() else 0.0
    return max(change.p_value, by_count) if change.size > 0 else 1.0
