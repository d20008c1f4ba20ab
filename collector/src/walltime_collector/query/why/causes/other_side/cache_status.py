"""What cache_status says of both sides: evictions, hits of all clients, and how long the collector waited."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from .....format import count, duration, ratio, size
from ....queries import run
from ....statistics import CHANCE
from ....statistics.blocks import Blocks, compare
from ....statistics.estimates import BLOCKS, Sums
from ...answer import Contribution, Cost
from ...finding import Finding
from ...reading import Reading
from ..because import STEADY_HITS
from .during import Asked, carried

_NOTABLE = 0.3
"""Of the change that is to be explained."""
_LEAST_NS, _MUCH = 300_000, 2.0
_FEWEST_LOOKUPS = 200
_UNREAD, _BURST = 0.9, 2.0
_LEAST_RATE = 1.0
_COLUMNS = ("seconds", "hits", "misses", "evictions", "unread_evictions", "ping_ns", "pings", "max_bytes")


@dataclass(frozen=True)
class Side:
    """Sums of one server by column, for blocks of equal time."""

    blocks: Mapping[str, Sums]

    def sum(self, column: str) -> float:
        """Over all blocks."""
        return float(self.blocks[column].sum())

    def per(self, column: str, of: str) -> float:
        """The mean."""
        return self.sum(column) / max(self.sum(of), 1e-9)

    def tries(self, column: str, of: str) -> Blocks:
        """For a test; a burst, as when a cache is filled, counts as two usual blocks."""
        tries = self.blocks[of]
        means = self.blocks[column] / np.maximum(tries, 1e-9)
        return np.column_stack([tries, np.minimum(means, _BURST * np.median(means)) * tries])


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
        now, before = (each.per("evictions", "seconds") for each in (self.slow, self.usual))
        misses, usual_misses = (each.per("misses", "seconds") for each in (self.slow, self.usual))
        words, p_value = f"{self.server} evicts {count(now)} items a second", None
        if self.is_of_one_window:
            before = usual_misses = 0.0
        else:
            words += f" instead of {count(before)}" if before >= _LEAST_RATE else ""
            p_value = self._p_value("evictions", "seconds")
        if now - before < max(_LEAST_RATE, _NOTABLE * (misses - usual_misses)) or (p_value or 0) >= CHANCE:
            return None
        if self.slow.sum("unread_evictions") >= _UNREAD * self.slow.sum("evictions"):
            words += ", nearly all before they were read"
        words += f": {size(self.slow.blocks['max_bytes'].max())} are too little"
        return self._finding(words, p_value, "evictions", "misses", "seconds")

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
        now_ns, before_ns = (each.per("ping_ns", "pings") for each in (self.slow, self.usual))
        more_ns = (part.slow.per_call_ns or 0) - (part.usual.per_call_ns or 0)
        is_much = now_ns >= _MUCH * before_ns and now_ns - before_ns >= max(_LEAST_NS, _NOTABLE * more_ns)
        if self.is_of_one_window or not is_much or (p_value := self._p_value("ping_ns", "pings")) >= CHANCE:
            return None
        return self._finding(_slow(self.server, now_ns, before_ns), p_value, "ping_ns", "pings")

    def _p_value(self, column: str, of: str) -> float:
        tested = compare(self.usual.tries(column, of), self.slow.tries(column, of))
        return 1.0 if tested.is_drift else tested.p_value

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
