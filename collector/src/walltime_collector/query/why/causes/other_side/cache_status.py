"""What cache_status says of both sides: evictions, hits of all clients, and how long the collector waited."""

from __future__ import annotations

from dataclasses import dataclass

from .....format import count, duration, ratio, size
from ....queries import Row, run
from ....statistics import CHANCE
from ....statistics.estimates import difference
from ...answer import Contribution, Cost
from ...finding import Finding
from ...reading import Reading
from ..because import STEADY_HITS
from .during import Asked, carried

_FEWEST_BLOCKS = 2
_NOTABLE = 0.3
"""Of the change that is to be explained."""
_LEAST_NS = 300_000
_MUCH = 2.0
_FEWEST_LOOKUPS = 200
_UNREAD = 0.9


@dataclass(frozen=True)
class Status:
    """Of one server, both sides; of one window they are the same."""

    reading: Reading
    server: str
    usual: Row
    slow: Row

    @property
    def is_of_one_window(self) -> bool:
        return self.usual is self.slow

    def too_small(self) -> Finding | None:
        """It evicts more than usual, or in one window so much that most misses follow, and items that were read."""
        now, before, seconds = self.slow["evictions_per_s"], self.usual["evictions_per_s"], self.slow["seconds"]
        more_misses = self.slow["misses"] / seconds
        p_value = None
        words = f"{self.server} evicts {count(now)} items a second"
        if not self.is_of_one_window:
            more_misses -= self.usual["misses"] / self.usual["seconds"]
            p_value = self._p_value("evictions_per_s", "evictions_variance")
            words += f" instead of {count(before)}" if before >= 0.5 else ""
            now -= before
        if now < 1 or now < _NOTABLE * more_misses or (p_value is not None and p_value >= CHANCE):
            return None
        words += f": {size(self.slow['max_bytes'])} are too little"
        if self.slow["unread_evictions"] >= _UNREAD * self.slow["evictions"]:
            words = f"{words.partition(':')[0]}, nearly all of them never read: it is filled with what nobody reads"
        return self._finding(words, p_value, "evictions_per_s", "misses", "seconds")

    def as_ever(self, kind: Contribution) -> Finding | None:
        """The lookups of all others hit as usual, so it is not the cache that changed."""
        if self.is_of_one_window:
            return None
        (usual_hits, usual_all), (hits, lookups) = (
            _others(row, cost) for row, cost in ((self.usual, kind.usual), (self.slow, kind.slow))
        )
        if min(usual_all, lookups) < _FEWEST_LOOKUPS or abs(hits / lookups - usual_hits / usual_all) >= STEADY_HITS:
            return None
        words = f"{self.server} hits as ever for all others ({ratio(hits, lookups)}): this kind asks for other keys"
        return self._finding(words, None, "hits", "misses")

    def slow_itself(self, part: Contribution) -> Finding | None:
        """The collector waits longer for its answers too, by a good part of what the calls do."""
        now_ns, before_ns = self.slow["ping_ns"], self.usual["ping_ns"]
        if self.is_of_one_window or None in (now_ns, before_ns):
            return None
        more_ns = (part.slow.per_call_ns or 0) - (part.usual.per_call_ns or 0)
        p_value = self._p_value("ping_ns", "ping_variance")
        is_much = now_ns >= _MUCH * before_ns and now_ns - before_ns >= max(_LEAST_NS, _NOTABLE * more_ns)
        if not is_much or p_value >= CHANCE:
            return None
        return self._finding(_slow(self.server, now_ns, before_ns), p_value, "ping_ns")

    def _p_value(self, mean: str, variance: str) -> float:
        usual, slow = ((row[mean], row[variance], row["blocks"]) for row in (self.usual, self.slow))
        if min(usual[2], slow[2]) < _FEWEST_BLOCKS:
            return 1.0
        return difference(usual, slow).p_value

    def _finding(self, sentence: str, p_value: float | None, *columns: str) -> Finding:
        rows = (self.slow,) if self.is_of_one_window else (self.usual, self.slow)
        numbers = {f"{row['side']}_{name}": float(row[name]) for row in rows for name in columns}
        evidence = self.reading.evidence("cache_status", numbers, server=self.server)
        return Finding("other_side", sentence, p_value=p_value, subject=self.server, evidence=evidence)


def read(reading: Reading, server: str) -> Status | None:
    """
    None when the server was not observed in both windows.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    rows = {
        row["side"]: row for row in run(reading.engine, "why/evidence/cache_status", **reading.params, server=server)
    }
    usual = rows.get("slow" if reading.compared.is_of_one_window else "usual")
    return Status(reading, server, usual, rows["slow"]) if usual and "slow" in rows else None


def slow_at_times(reading: Reading, server: str, asked: Asked) -> Finding | None:
    """
    In the seconds in which the collector waits long, the calls do as well: most of the difference is of these.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    rows = run(reading.engine, "why/slow_seconds", **reading.params, server=server)
    found = carried(reading, asked, [(row["start_ns"], row["end_ns"]) for row in rows])
    if not found:
        return None
    now_ns = sum(row["now_ns"] for row in rows) / len(rows)
    words = f"{_slow(server, now_ns, rows[0]['usual_ns'])} in {count(len(rows))} of the seconds"
    return Finding("other_side", words, p_value=found.p_value, subject=found.subject, evidence=found.evidence)


def _slow(server: str, now_ns: float, before_ns: float) -> str:
    return f"{server} is slow itself: the collector waits {duration(now_ns)} for its shortest answer" + (
        f" instead of {duration(before_ns)}"
    )


def _others(row: Row, mine: Cost) -> tuple[int, int]:
    """Hits and lookups of all but this kind; its windows end a little later than its transactions."""
    hits = max(row["hits"] - mine.hits, 0)
    return hits, hits + max(row["misses"] - mine.misses, 0)
