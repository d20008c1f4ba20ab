"""Which keys lost their hits in a cache, by their prefix; kept calls say it, whether the cache is observed or not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .....format import printable, ratio
from ....queries import Row, run
from ....statistics import CHANCE, SUPPORT, estimates
from ...answer import Contribution
from ...finding import Finding
from ...reading import Reading
from ...wording import joined
from ..because import STEADY_HITS
from ..cause import Cause

_CARRY, _MOST_NAMED = 0.8, 3
"""Those that are named lost so many of all hits that were lost; when that takes more of them, it is everywhere."""


@dataclass(frozen=True)
class Keys:
    """Lookups of one prefix of keys: rows of queries/why/keys.sql."""

    prefix: str
    usual: Row
    slow: Row

    @cached_property
    def lost(self) -> float:
        """Hits that were lost, of the lookups of the slow side."""
        return -sum(self.slow["keys"]) * self._change.size

    def is_chance(self, looked_at: int) -> bool:
        """Of so many prefixes, one may differ as much by chance, or it is little, or of few transactions."""
        if min(len(self.usual["keys"]), len(self.slow["keys"])) < SUPPORT:
            return True
        return self._change.size > -STEADY_HITS or self._change.p_value * looked_at >= CHANCE

    @cached_property
    def _change(self) -> estimates.Estimate:
        """Of the hit ratio; transactions are independent."""
        now, before = (
            estimates.ratio(np.array(side["hits"], float), np.array(side["keys"], float), joined=(1,))
            for side in (self.slow, self.usual)
        )
        return now.minus(before)

    def __str__(self) -> str:
        """`product:` (99 % → 5 %)."""
        before, now = (ratio(sum(side["hits"]), sum(side["keys"])) for side in (self.usual, self.slow))
        return f"`{printable(self.prefix)}` ({before} → {now})"


def findings(reading: Reading, causes: Sequence[Cause]) -> list[Finding]:
    """
    A finding for each cache that lost hits, where few prefixes are most of that, each beyond chance.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    caches = dict.fromkeys(cache for each in causes for cache in each.lookups.changed if each.part.more_calls > 0)
    return [finding for cache in caches if (finding := _of(reading, cache))]


def _of(reading: Reading, cache: Contribution) -> Finding | None:
    of, sides = {"component": cache.component, "address": cache.address}, defaultdict[str, dict[bool, Row]](dict)
    for row in run(reading.engine, "why/keys", **reading.params, **of):
        sides[row["prefix"]][bool(row["is_slow"])] = row
    looked_up = [Keys(prefix, both[False], both[True]) for prefix, both in sides.items() if len(both) == 2]
    losing = sorted((each for each in looked_up if each.lost > 0), key=lambda each: -each.lost)
    named, whole = losing[:_MOST_NAMED], sum(each.lost for each in losing)
    while len(named) > 1 and sum(each.lost for each in named[:-1]) >= _CARRY * whole:
        named.pop()
    if (
        not named
        or sum(each.lost for each in named) < _CARRY * whole
        or any(not each.prefix or each.is_chance(len(looked_up)) for each in named)
    ):
        return None
    first = named[0]
    numbers = {
        f"{side}_{column}": sum(row[column])
        for side, row in (("usual", first.usual), ("slow", first.slow))
        for column in ("keys", "hits")
    }
    evidence = reading.evidence("keys", numbers, **of, prefix=first.prefix)
    sentence = f"The keys {joined(map(str, named))} lost their hits on {cache.address}."
    return Finding("other_side", sentence, subject=f"{cache.component} {cache.address}", evidence=evidence)
