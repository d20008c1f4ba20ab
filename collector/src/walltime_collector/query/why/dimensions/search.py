"""Finds a mix that changed, and the hosts, versions, users and other values that explain a difference: decision 037."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...condition.parse import parse
from ...queries import Row, run
from ...statistics import CHANCE, SUPPORT
from ...statistics.multiple import holm
from ..reading import Reading
from ..values import DIMENSIONS, NO_MIX, Dimension, Mix, Stratum
from . import blocks
from .effects import SUMS, TIME, Effect, Side, count, mean_ns, more, of_part, slower
from .mix import field_of, group_of, split

SERVING = ("version", "host", "environment", "instance")
"""What serves the transactions. A new one is compared with the others of its time; a new user is another mix."""
_CANDIDATES_OF_EACH, _MOST_CANDIDATES, _MOST_NAMED = 6, 60, 3
_LEAST_PART = 0.1
"""A mix, or a value, explains at least this part of the difference,"""
_LEAST_OF_USUAL = 0.025
"""and of the usual time, when two times are compared;"""
_LEAST_BY_CHANCE = 0.1
"""and this part of it where the difference itself may be chance."""
_INSIDE, _ALIKE = 0.05, 0.9
_OUTCOMES = {"status", "error", "error.type"}


@dataclass(frozen=True)
class Replaced:
    """All transactions have a value that none had before: it changed at the same time, which proves nothing."""

    dimension: str
    value: str
    before: str
    """The value that all had before; empty when there were several."""


@dataclass(frozen=True)
class Dimensions:
    """What was found, and among how many values."""

    values: tuple[Dimension, ...]
    looked_at: int
    mix: Mix | None
    replaced: tuple[Replaced, ...]
    statuses: tuple[Stratum, ...]
    errors: tuple[float | None, float | None]
    """The standard errors of the usual and the slow mean, as parts of them."""


@dataclass(frozen=True, eq=False)
class _Candidate:
    """A value and what it explains, with corrected p-values; `left_slow` is without the values that are named."""

    row: Row
    usual: Side
    slow: Side
    more: Effect
    slower: Effect
    left_slow: float

    @property
    def is_new(self) -> bool:
        return count(self.usual.own) < SUPPORT

    @property
    def is_serving(self) -> bool:
        return self.row["dimension"] in SERVING

    @property
    def preference(self) -> int:
        """Of values with the same transactions."""
        return DIMENSIONS.index(self.row["dimension"])

    @property
    def order(self) -> tuple[float, int]:
        """The clearest first."""
        return -round(max(self.more.strength, self.slower.strength), 2), self.preference

    def has_those_of(self, best: _Candidate, *, is_of_part: bool) -> bool:
        """
        It has nearly the same transactions: hardly any is left without those of `best`, and there were as many.

        So also on the usual side, but for a version that is new on a host which was there before.
        """
        mine, its = count(self.slow.own), count(best.slow.own)
        is_same = self.left_slow <= _INSIDE * mine and mine >= _ALIKE * its
        may_be_new = not is_of_part and self.is_serving and best.is_serving
        return is_same and (may_be_new or abs(self.usual.share - best.usual.share) <= _INSIDE)


def find(reading: Reading) -> Dimensions:
    """
    The mix, and the values that explain a part of the difference like with like, the clearest first.

    After each value its transactions are left out, so that the next one is named only for what it explains besides.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    search = _Search(reading)
    rows = search.rows()
    others = [row for row in rows if field_of(row) not in search.compared_fields]  # those say nothing new
    candidates = search.candidates(others)
    search.mix = None if search.is_selected else search.changed_mix(candidates)
    if search.mix or search.is_of_part is not reading.compared.is_of_one_window:
        search.is_of_part = reading.compared.is_of_one_window
        known = search.mix.dimension if search.mix and search.is_of_part else ""
        candidates = search.candidates([row for row in others if field_of(row) != known])
    values = tuple(search.named(candidates))
    if search.mix and values:
        search.mix = replace(search.mix, rest_p_value=min(search.mix.rest_p_value, *(each.p_value for each in values)))
    return Dimensions(
        values, search.looked_at, search.mix, search.replaced(others), search.statuses(rows), search.errors
    )


class _Search:
    """One question of `why`."""

    def __init__(self, reading: Reading) -> None:
        compared = reading.compared
        self.reading = reading
        self.length = blocks.length(reading)
        self.looked_at = 0
        self.dimensions: set[str] = set()
        self.errors: tuple[float | None, float | None] = (None, None)
        self.mix: Mix | None = None
        """Once it is known, the usual side gets the mix of the slow one."""
        self.compared_fields = set(parse(compared.when).fields if compared.when else ())
        if self.compared_fields & _OUTCOMES:
            self.compared_fields |= _OUTCOMES
        self.is_selected = compared.slowest_percent is not None or "duration" in self.compared_fields
        """The slow ones were chosen for being slow."""
        self.is_of_part = self.is_selected
        """Values are looked for that have more than their part of the slow ones; otherwise, slower or more ones."""
        of_usual = 0.0 if self.is_selected else _LEAST_OF_USUAL if reading.is_different else _LEAST_BY_CHANCE
        self.least_ns = max(_LEAST_PART * abs(reading.difference_ns), of_usual * reading.usual.mean_ns)

    def rows(self) -> Sequence[Row]:
        """The values with the most that differs from their usual part, and all classes of status."""
        usual, slow = self.reading.usual, self.reading.slow
        rows = run(
            self.reading.engine,
            "why/dimensions/values",
            **self.reading.params,
            slow_transactions=slow.transactions,
            usual_transactions=usual.transactions,
            slow_total_ns=float(slow.total_ns),
            usual_total_ns=float(usual.total_ns),
            support=SUPPORT,
            usual_support=2**32 - 1 if self.is_selected else SUPPORT,
            of_each=_CANDIDATES_OF_EACH,
            limit=_MOST_CANDIDATES,
        )
        self.looked_at = int(rows[0]["all_values"]) if rows else 0
        self.dimensions = {str(row["dimension"]) for row in rows}
        return rows

    def statuses(self, rows: Sequence[Row]) -> tuple[Stratum, ...]:
        """All classes of status, the most usual first."""
        groups = [group_of(row) for row in rows if row["dimension"] == "status"]
        strata = split("status", groups, self.reading.usual, self.reading.slow).strata
        used = [each for each in strata if each.usual_transactions or each.slow_transactions]
        return tuple(sorted(used, key=lambda each: (-each.usual_share, each.value)))

    def replaced(self, rows: Sequence[Row]) -> tuple[Replaced, ...]:
        """Hosts and versions that all have now and none had before."""
        reading = self.reading
        usual, slow = reading.usual.transactions, reading.slow.transactions
        if self.is_of_part or not reading.is_different or min(usual, slow) < 2 * SUPPORT:
            return ()
        serving = [row for dimension in SERVING for row in rows if row["dimension"] == dimension]
        only = [(row, int(row["usual_transactions"]) / usual, int(row["slow_transactions"]) / slow) for row in serving]
        gone = {row["dimension"]: str(row["value"]) for row, before, now in only if (before, now) == (1, 0)}
        new = [row for row, before, now in only if (before, now) == (0, 1)]
        return tuple(Replaced(row["dimension"], row["value"], gone.get(row["dimension"], "")) for row in new)

    def candidates(self, rows: Sequence[Row], named: Sequence[int] = ()) -> list[_Candidate]:
        """The values with what they explain of the transactions that have none of the named values."""
        weights = self.mix.parameters() if self.mix and not self.is_of_part else NO_MIX
        longest_ns = max(self.reading.usual.p99_ns, self.reading.slow.p99_ns)
        hashes = [int(row["hash"]) for row in rows]
        chosen = {"candidates": hashes, "named": named, "longest_ns": longest_ns, **weights}
        sums = blocks.read(self.reading, "blocks", SUMS, len(rows) + 1, **chosen)
        every, *sides = [(Side(usual, sums[0][0]), Side(slow, sums[0][1])) for usual, slow in sums]
        if not (named or self.mix):
            self.errors = every[0].mean(TIME).relative_error, every[1].mean(TIME).relative_error
        elif self.mix and not named:
            rest = every[1].mean().since(every[0].mean(), self.length)
            self.mix = replace(self.mix, rest_p_value=rest.p_value)
        part = count(every[1].all) / self.reading.slow.transactions
        if self.is_of_part:
            effects = [effect for side in sides for effect in of_part(*side)]
        else:
            effects = [found(*side, self.length) for side in sides for found in (more, slower)]
        effects = [replace(each, ns=each.ns * part) for each in self._corrected(rows, effects)]
        both = zip(rows, sides, zip(effects[::2], effects[1::2], strict=True), strict=True)
        return [_Candidate(row, *side, *effect, count(side[1].own)) for row, side, effect in both]

    def _corrected(self, rows: Sequence[Row], effects: Sequence[Effect]) -> list[Effect]:
        """Holm's method within each dimension, all of which count alike: thousands of users hide no host."""
        corrected = list(effects)
        tests = 1 if self.is_of_part else 2
        for dimension in self.dimensions:
            mine = [at for at in range(len(effects)) if rows[at // 2]["dimension"] == dimension]
            looked_at = tests * max((int(rows[at // 2]["values_of_dimension"]) for at in mine), default=0)
            for at, p_value in zip(mine, holm([effects[at].p_value for at in mine], looked_at), strict=True):
                corrected[at] = replace(effects[at], p_value=min(len(self.dimensions) * p_value, 1.0))
        return corrected

    def changed_mix(self, candidates: Sequence[_Candidate]) -> Mix | None:
        """That of the dimension where it explains most."""
        changed: dict[str, list[_Candidate]] = defaultdict(list)
        for each in candidates:
            if each.more.p_value < CHANCE and not (each.is_new and each.is_serving):
                changed[field_of(each.row)].append(each)
        usual, slow = self.reading.usual, self.reading.slow
        mixes = []
        for name, mine in changed.items():
            # there are few classes of status: each is a stratum
            strata = [each for each in candidates if each.row["dimension"] == "status"] if name == "status" else mine
            p_value = max(each.more.p_value for each in mine)
            mixes.append(split(name, [group_of(each.row) for each in strata], usual, slow, p_value))
        best = max(mixes, key=lambda each: abs(each.mix_ns), default=None)
        return best if best and abs(best.mix_ns) >= self.least_ns else None

    def named(self, candidates: Sequence[_Candidate]) -> list[Dimension]:
        """Who sent or served the transactions, at most three."""
        named, hashes = list[Dimension](), list[int]()
        while len(named) < _MOST_NAMED and (clear := [each for each in candidates if self._counted(each)]):
            best = min(clear, key=lambda each: each.order)
            hashes.append(int(best.row["hash"]))
            now = self.candidates([each.row for each in candidates], hashes)
            both = [
                (was, replace(was, more=it.more, slower=it.slower, left_slow=it.left_slow))
                for was, it in zip(candidates, now, strict=True)
            ]
            same = [was for was, left in both if was is best or left.has_those_of(best, is_of_part=self.is_of_part)]
            candidates = [left for was, left in both if was in clear and was is not best]
            chosen = min((each for each in same if each in clear), key=lambda each: each.preference)
            # a new version on a host that was there before: that shows by how much it is slower than before
            known = [] if self.is_of_part else [each for each in same if not each.is_new]
            proofs = [each for each in known if each in clear] if known else [chosen]
            if proofs:
                also = [each for each in same if each is not chosen]
                named.append(self._dimension(replace(chosen, more=proofs[0].more, slower=proofs[0].slower), also))
        return named

    def _counted(self, each: _Candidate) -> list[Effect]:
        """The parts of the difference that it explains: beyond chance, and large enough."""
        # who is new is another mix, and where nothing is slower no version is
        if each.is_new and not (self.is_of_part or (each.is_serving and self.reading.is_different)):
            return []
        difference_ns = self.mix.like_with_like_ns if self.mix else self.reading.difference_ns
        sign = difference_ns if self.reading.is_different else 1.0
        return [
            effect
            for effect in ((each.more, each.slower) if self.is_of_part else (each.slower,))
            if effect.p_value < CHANCE and abs(effect.ns) >= self.least_ns and effect.ns * sign > 0
        ]

    def _dimension(self, each: _Candidate, same: Sequence[_Candidate]) -> Dimension:
        usual, slow = each.usual, each.slow
        means = (mean_ns(sums) if count(sums) else None for sums in (usual.own, slow.own, usual.rest, slow.rest))
        usual_mean_ns, slow_mean_ns, usual_rest_mean_ns, slow_rest_mean_ns = means
        counted = self._counted(each)
        return Dimension(
            dimension=str(each.row["dimension"]),
            value=str(each.row["value"]),
            same=tuple(f"{one.row['dimension']} {one.row['value']}" for one in same),
            values=int(each.row["values_of_dimension"]),
            usual_transactions=round(count(usual.own)),
            slow_transactions=round(count(slow.own)),
            usual_share=usual.share,
            slow_share=slow.share,
            lift=slow.share / usual.share if usual.share else None,
            usual_mean_ns=usual_mean_ns,
            slow_mean_ns=slow_mean_ns,
            usual_rest_mean_ns=usual_rest_mean_ns,
            slow_rest_mean_ns=slow_rest_mean_ns,
            # those that match a condition have it in common, which explains nothing by itself
            more_ns=each.more.ns if each.more in counted and self.is_selected else 0.0,
            slower_ns=each.slower.ns if each.slower in counted and self.is_of_part is self.is_selected else 0.0,
            p_value=min(effect.p_value for effect in counted),
        )
