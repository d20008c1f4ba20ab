"""What cache_status says of both sides: evictions, hits of all clients, and how long the collector waited."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from .....format import count, duration, ratio, size
from ....queries import run
from ....statistics import CHANCE
from ....statistics.estimates import BLOCKS, Estimate, Sums
from ....statistics.estimates import ratio as estimated
from ...answer import Contribution, Cost
from ...finding import Finding
from ...reading import Reading
from ..because import STEADY_HITS
from .during import Asked, carried

_NOTABLE = 0.3
"""Of the change that is to be explained."""
_LEAST_NS, _MUCH = 300_000, 2.0
_FEWEST_LOOKUPS = 200
_UNREAD, _BURST = 0.9, 3.0
_LEAST_RATE, _S = 1.0, 1_000_000_000
_COLUMNS = ("time_ns", "hits", "misses", "evictions", "unread_evictions", "ping_ns", "pings", "max_bytes")


@dataclass(frozen=True)
class Side:
    """Sums of one server by column, for blocks of equal time."""

    blocks: Mapping[str, Sums]

    def sum(self, column: str) -> float:
        """Over all blocks."""
        return float(self.blocks[column].sum())

    def per(self, column: str, of: str) -> Estimate:
        """The mean, and how sure it is."""
        return estimated(self.blocks[column], self.blocks[of])

    def capped(self, column: str) -> Estimate:
        """Of a time; a burst, as when a cache is filled, counts as three usual blocks."""
        rates = self.blocks[column] / self.blocks["time_ns"]
        return estimated(np.minimum(rates, _BURST * np.median(rates)) * self.blocks["time_ns"], self.blocks["time_ns"])


@dataclass(frozen=True)
class Status:
    """Of one server, both sides; of one window they are the same."""

    reading: Reading
    server: str
    usual: Side
    slow: Side

    @property
    def is_of_one_window(self) -> bool:
        """Then nothing can be compared."""
        return self.usual is self.slow

    def too_small(self) -> Finding | None:
        """It evicts more than usual, or in one window always: so many items that the additional misses can be them."""
        now, misses = (self.slow.per(name, "time_ns") for name in ("evictions", "misses"))
        more, more_misses, p_value = now.size, misses.size, None
        words = f"{self.server} evicts {count(now.size * _S)} items a second"
        if not self.is_of_one_window:
            before = self.usual.per("evictions", "time_ns")
            words += f" instead of {count(before.size * _S)}" if before.size * _S >= _LEAST_RATE else ""
            more = now.size - before.size
            p_value = self.slow.capped("evictions").minus(self.usual.capped("evictions")).p_value
            more_misses -= self.usual.per("misses", "time_ns").size
        if more * _S < _LEAST_RATE or more < _NOTABLE * more_misses or (p_value is not None and p_value >= CHANCE):
            return None
        if self.slow.sum("unread_evictions") >= _UNREAD * self.slow.sum("evictions"):
            words += ", nearly all of which were never read: it is filled with what nobody reads"
        else:
            words += f": {size(self.slow.blocks['max_bytes'].max())} are too little"
        return self._finding(words, p_value, "evictions", "misses", "time_ns")

    def as_ever(self, kind: Contribution) -> Finding | None:
        """The lookups of all others hit as usual, so it is not the cache that changed."""
        if self.is_of_one_window:
            return None
        usual_hits, usual_all = _others(self.usual, kind.usual)
        hits, lookups = _others(self.slow, kind.slow)
        if min(usual_all, lookups) < _FEWEST_LOOKUPS or abs(hits / lookups - usual_hits / usual_all) >= STEADY_HITS:
            return None
        words = f"{self.server} hits as ever for all others ({ratio(hits, lookups)}): this kind asks for other keys"
        return self._finding(words, None, "hits", "misses")

    def slow_itself(self, part: Contribution) -> Finding | None:
        """The collector waits longer for its answers too, by a good part of what the calls do."""
        now, before = (each.per("ping_ns", "pings") for each in (self.slow, self.usual))
        more_ns = (part.slow.per_call_ns or 0) - (part.usual.per_call_ns or 0)
        p_value, least_ns = now.minus(before).p_value, max(_LEAST_NS, _NOTABLE * more_ns)
        is_much = now.size >= _MUCH * before.size and now.size - before.size >= least_ns
        if self.is_of_one_window or not is_much or p_value >= CHANCE:
            return None
        return self._finding(_slow(self.server, now.size, before.size), p_value, "ping_ns", "pings")

    def _finding(self, sentence: str, p_value: float | None, *columns: str) -> Finding:
        sides = {"slow": self.slow} if self.is_of_one_window else {"usual": self.usual, "slow": self.slow}
        numbers = {f"{name}_{column}": side.sum(column) for name, side in sides.items() for column in columns}
        evidence = self.reading.evidence("cache_status", numbers, server=self.server)
        return Finding("other_side", sentence, p_value=p_value, subject=self.server, evidence=evidence)


def read(reading: Reading, server: str) -> Status | None:
    """
    None when the server was not observed in both windows.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    rows = run(reading.engine, "why/cache_blocks", **reading.compared.parameters(), server=server, blocks=BLOCKS)
    sides = {
        is_slow: Side({name: np.array([row[name] for row in mine], float) for name in _COLUMNS})
        for is_slow in (False, True)
        if (mine := [row for row in rows if bool(row["is_slow"]) == is_slow])
    }
    usual = sides.get(reading.compared.is_of_one_window)
    return Status(reading, server, usual, sides[True]) if usual and True in sides else None


def slow_at_times(reading: Reading, server: str, asked: Asked) -> Finding | None:
    """
    In the seconds in which the collector waits long, the calls do as well: most of the difference is of these.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    rows = run(reading.engine, "why/slow_seconds", **reading.compared.parameters(), server=server)
    found = carried(reading, asked, [(row["start_ns"], row["end_ns"]) for row in rows])
    if not found:
        return None
    now_ns = sum(row["now_ns"] for row in rows) / len(rows)
    words = f"{_slow(server, now_ns, rows[0]['usual_ns'])} in {count(len(rows))} of the seconds"
    return Finding("other_side", words, p_value=found.p_value, subject=found.subject, evidence=found.evidence)


def _slow(server: str, now_ns: float, before_ns: float) -> str:
    waits = f"the collector waits {duration(now_ns)} for its shortest answer instead of {duration(before_ns)}"
    return f"{server} is slow itself: {waits}"


def _others(side: Side, mine: Cost) -> tuple[int, int]:
    """Hits and lookups of all but this kind."""
    hits = max(round(side.sum("hits")) - mine.hits, 0)
    return hits, hits + max(round(side.sum("misses")) - mine.misses, 0)
