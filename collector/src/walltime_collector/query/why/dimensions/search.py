"""Finds a mix that changed, and the hosts, versions, users and other values that explain a difference: decision 037."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ....clickhouse.engine import Engine, Parameter
from ...condition.fields import ANNOTATION
from ...condition.parse import parse
from ...condition.tree import field_names
from ...queries import Row, run
from ...statistics import CHANCE, SUPPORT
from ...statistics.contrast import BLOCKS, ratio
from ...statistics.multiple import holm
from ...windows import Comparison
from ..answer import CALLED, DIMENSIONS, NO_MIX, Dimension, Mix, Stratum
from ..cause import Cause
from ..reading import Reading
from .effects import NONE, SUMS, Effect, Side, count, mean_ns, more, of_part, slower
from .mix import Group, split

SERVING = ("version", "host", "environment", "instance")
"""What serves the transactions. A new one is compared with the others of its time; a new user is another mix."""
_CANDIDATES_OF_EACH = 6
_MOST_CANDIDATES = 60
_MOST_NAMED = 3
_LEAST_PART = 0.1
"""A mix, or a value, explains at least this part of the difference,"""
_LEAST_OF_USUAL = 0.025
"""and of the usual time, when two times are compared;"""
_LEAST_BY_CHANCE = 0.1
"""and this part of it where the difference itself may be chance."""
_AS_USUAL = 1.1
"""A share of the transactions that is up to so many times the usual one, or its reciprocal, has not changed."""
_INSIDE = 0.05
_ALIKE = 0.9


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

    values: tuple[Dimension, ...] = ()
    looked_at: int = 0
    mix: Mix | None = None
    replaced: tuple[Replaced, ...] = ()
    statuses: tuple[Stratum, ...] = ()


@dataclass(frozen=True)
class _Candidate:
    """A value and what it explains, with corrected p-values; `left_slow` is without the values that are named."""

    row: Row
    usual: Side
    slow: Side
    more: Effect
    slower: Effect
    left_slow: float

    @property
    def dimension(self) -> str:
        return str(self.row["dimension"])

    @property
    def is_new(self) -> bool:
        return count(self.usual.own) < SUPPORT

    @property
    def preference(self) -> int:
        """Of values with the same transactions."""
        return DIMENSIONS.index(self.dimension)

    @property
    def order(self) -> tuple[float, int]:
        """The clearest first."""
        return -round(max(self.more.strength, self.slower.strength), 2), self.preference


def find(reading: Reading) -> Dimensions:
    """
    The mix, and the values that explain a part of the difference like with like, the clearest first.

    After each value its transactions are left out, so that the next one is named only for what it explains besides.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    search = _Search(reading)
    rows = search.rows()
    others = [row for row in rows if _field(row) not in search.compared_fields]  # those say nothing new
    candidates = search.candidates(others)
    search.mix = None if search.is_selected else search.changed_mix(candidates)
    if search.mix or search.is_of_part is not reading.compared.is_of_one_window:
        search.is_of_part = reading.compared.is_of_one_window
        said = search.mix.dimension if search.mix and search.is_of_part else ""
        candidates = search.candidates([row for row in others if _field(row) != said])
    who = [each for each in candidates if each.dimension not in CALLED]
    values = (*search.named(who), *search.called(candidates))
    return Dimensions(values, search.looked_at, search.mix, search.replaced(others), search.statuses(rows))


def without_effects(values: Sequence[Dimension], causes: Sequence[Cause]) -> tuple[Dimension, ...]:
    """Without statements that more, or fewer, transactions send because of lost lookups: the causes name them."""
    if not any(each.lookups.losing for each in causes):
        return tuple(values)
    return tuple(
        each
        for each in values
        if each.dimension != "statement" or (each.lift and 1 / _AS_USUAL <= each.lift <= _AS_USUAL)
    )


def relative_errors(
    engine: Engine, params: Mapping[str, Parameter], compared: Comparison
) -> tuple[float | None, float | None]:
    """
    The standard errors of the usual and the slow mean, as parts of them; None where they are not known.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    sums = np.zeros((2, 2, BLOCKS))
    for row in run(engine, "dimensions/all", **params, **block_lengths(compared)):
        sums[int(row["is_slow"]), :, block(row)] += [row["transactions"], row["total_ns"]]
    usual, slow = (ratio(total_ns, transactions).relative_error for transactions, total_ns in sums)
    return usual, slow


def block_lengths(compared: Comparison) -> dict[str, int]:
    """Parameters of queries that cut each window into BLOCKS of equal time."""
    windows = (("usual", compared.usual), ("slow", compared.slow))
    return {f"{side}_block_ns": max((each.end_ns - each.start_ns) // BLOCKS, 1) for side, each in windows}


def block(row: Row) -> int:
    """The block of a row; the last one has the rest of the window."""
    return min(int(row["block"]), BLOCKS - 1)


def length(reading: Reading) -> float:
    """Of the usual side as a multiple of the slow one: in time or in transactions, whichever is less."""
    usual, slow = (max(each.end_ns - each.start_ns, 1) for each in (reading.compared.usual, reading.compared.slow))
    return min(usual / slow, reading.usual.transactions / reading.slow.transactions)


def _field(row: Row) -> str:
    """The field of conditions, and of Mix, that has this value."""
    if row["dimension"] == "annotation":
        return f"{ANNOTATION}.{str(row['value']).partition('=')[0]}"
    return str(row["dimension"]).replace(" ", ".")


def _group(row: Row) -> Group:
    value = str(row["value"])
    sums = (float(row[f"{side}_{name}"]) for side in ("usual", "slow") for name in ("transactions", "ns"))
    return (value.partition("=")[2] if row["dimension"] == "annotation" else value, *sums)  # type: ignore[return-value]


def _is_alike(left: _Candidate, best: _Candidate) -> bool:
    """It has nearly the same transactions: hardly any is left without those of `best`, and there were as many."""
    mine, its = count(left.slow.own), count(best.slow.own)
    return left.left_slow <= _INSIDE * mine and mine >= _ALIKE * its


class _Search:
    """One question of `why`."""

    def __init__(self, reading: Reading) -> None:
        compared = reading.compared
        self.reading = reading
        self.looked_at = 0
        self.dimensions: set[str] = set()
        self.mix: Mix | None = None
        """Once it is known, the usual side gets the mix of the slow one."""
        self.compared_fields = field_names(parse(compared.when)) if compared.when else ()
        self.is_selected = compared.slowest_percent is not None or "duration" in self.compared_fields
        """The slow ones were chosen for being slow."""
        self.is_of_part = self.is_selected
        """Values are looked for that have more than their part of the slow ones; otherwise, slower or more ones."""
        usual, slow = reading.usual.mean_ns, abs(reading.difference_ns)
        least_of_usual = 0.0 if self.is_selected else _LEAST_OF_USUAL if reading.is_different else _LEAST_BY_CHANCE
        self.least_ns = max(_LEAST_PART * slow, least_of_usual * usual)

    def rows(self) -> Sequence[Row]:
        """The values with the most that differs from their usual part, and all classes of status."""
        usual, slow = self.reading.usual, self.reading.slow
        rows = run(
            self.reading.engine,
            "dimensions/values",
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
        groups = [_group(row) for row in rows if row["dimension"] == "status"]
        strata = split("status", groups, self.reading.usual, self.reading.slow).strata
        used = [each for each in strata if each.usual_transactions or each.slow_transactions]
        return tuple(sorted(used, key=lambda each: (-each.usual_share, each.value)))

    def replaced(self, rows: Sequence[Row]) -> tuple[Replaced, ...]:
        """Hosts and versions that all have now and none had before."""
        reading = self.reading
        usual, slow = reading.usual.transactions, reading.slow.transactions
        if self.is_of_part or not reading.is_different or min(usual, slow) < 2 * SUPPORT:
            return ()
        serving = [row for row in rows if row["dimension"] in SERVING]
        only = [(row, int(row["usual_transactions"]) / usual, int(row["slow_transactions"]) / slow) for row in serving]
        gone = {row["dimension"]: str(row["value"]) for row, before, now in only if (before, now) == (1, 0)}
        new = [row for row, before, now in only if (before, now) == (0, 1)]
        new.sort(key=lambda row: DIMENSIONS.index(row["dimension"]))
        return tuple(Replaced(row["dimension"], row["value"], gone.get(row["dimension"], "")) for row in new)

    def candidates(self, rows: Sequence[Row], named: Sequence[int] = ()) -> list[_Candidate]:
        """The values with what they explain of the transactions that have none of the named values."""
        if not rows:
            return []
        (_, every), *sides = self._sides(rows, named)
        part = count(every.all) / self.reading.slow.transactions
        effects = [effect for side in sides for effect in self._effects(*side)]
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
            is_deployed = each.is_new and each.dimension in SERVING
            if each.more.p_value < CHANCE and each.dimension not in CALLED and not is_deployed:
                changed[_field(each.row)].append(each)
        usual, slow = self.reading.usual, self.reading.slow
        mixes = []
        for name, mine in changed.items():
            # there are few classes of status: each is a stratum
            strata = [each for each in candidates if each.dimension == "status"] if name == "status" else mine
            p_value = max(each.more.p_value for each in mine)
            mixes.append(split(name, (_group(each.row) for each in strata), usual, slow, p_value))
        best = max(mixes, key=lambda each: abs(each.mix_ns), default=None)
        return best if best and abs(best.mix_ns) >= self.least_ns else None

    def named(self, candidates: Sequence[_Candidate]) -> list[Dimension]:
        """Who sent or served the transactions, at most three."""
        named: list[Dimension] = []
        hashes: list[int] = []
        while len(named) < _MOST_NAMED and (clear := [each for each in candidates if self._explains(each)]):
            best = min(clear, key=lambda each: each.order)
            hashes.append(int(best.row["hash"]))
            others = [each for each in candidates if each is not best]
            now = self.candidates([each.row for each in others], hashes)
            left = [
                replace(each, more=it.more, slower=it.slower, left_slow=it.left_slow)
                for each, it in zip(others, now, strict=True)
            ]
            alike = {id(best.row), *(id(each.row) for each in left if _is_alike(each, best))}
            same = [each for each in candidates if id(each.row) in alike]
            candidates = [each for each, was in zip(left, others, strict=True) if was in clear]
            chosen = min((each for each in same if each in clear), key=lambda each: each.preference)
            # a new version on a host that was there before: that shows by how much it is slower than before
            known = [] if self.is_of_part else [each for each in same if not each.is_new]
            proofs = [each for each in known if each in clear] if known else [chosen]
            if proofs:
                chosen = replace(chosen, more=proofs[0].more, slower=proofs[0].slower)
                named.append(self._dimension(chosen, [each for each in same if each.row is not chosen.row]))
        return named

    def called(self, candidates: Sequence[_Candidate]) -> list[Dimension]:
        """Servers and statements, at most three."""
        called = [each for each in candidates if each.dimension in CALLED and self._explains(each)]
        called.sort(key=lambda each: -abs(each.more.ns + each.slower.ns))
        return [self._dimension(each, []) for each in called[:_MOST_NAMED]]

    def _explains(self, each: _Candidate) -> bool:
        """Whether a part of it is beyond chance, and large enough."""
        return bool(self._counted(each))

    def _counted(self, each: _Candidate) -> list[Effect]:
        is_more = self.is_of_part or each.dimension in CALLED
        is_deployed = each.dimension in SERVING and self.reading.is_different
        if each.is_new and not (self.is_of_part or is_deployed or each.dimension in CALLED):
            return []  # who is new is another mix, and where nothing is slower no version is
        difference_ns = self.mix.like_with_like_ns if self.mix else self.reading.difference_ns
        if not self.reading.is_different:
            difference_ns = 1.0
        return [
            effect
            for effect in ((each.more, each.slower) if is_more else (each.slower,))
            if effect.p_value < CHANCE and abs(effect.ns) >= self.least_ns and effect.ns * difference_ns > 0
        ]

    def _dimension(self, each: _Candidate, same: Sequence[_Candidate]) -> Dimension:
        usual, slow = each.usual, each.slow
        means = (mean_ns(sums) if count(sums) else None for sums in (usual.own, slow.own, usual.rest, slow.rest))
        usual_mean_ns, slow_mean_ns, usual_rest_mean_ns, slow_rest_mean_ns = means
        counted = self._counted(each)
        return Dimension(
            dimension=each.dimension,
            value=str(each.row["value"]),
            same=tuple(
                f"{one.dimension} {one.row['value']}{' (new)' if one.is_new and not each.is_new else ''}"
                for one in same
            ),
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
            more_ns=each.more.ns if each.more in counted else 0.0,
            slower_ns=each.slower.ns if each.slower in counted else 0.0,
            p_value=min(effect.p_value for effect in counted),
        )

    def _effects(self, usual: Side, slow: Side) -> tuple[Effect, Effect]:
        if self.is_of_part:
            effect, is_longer = of_part(usual, slow)
            return (NONE, effect) if is_longer else (effect, NONE)
        times = length(self.reading)
        return more(usual, slow, times), slower(usual, slow, times)

    def _sides(self, rows: Sequence[Row], named: Sequence[int]) -> list[tuple[Side, Side]]:
        """Usual and slow of all transactions, then of each row."""
        reading, sums = self.reading, np.zeros((len(rows) + 1, 2, len(SUMS), BLOCKS))
        is_alike = self.mix and not self.is_of_part
        for row in run(
            reading.engine,
            "dimensions/blocks",
            **reading.params,
            **block_lengths(reading.compared),
            **(self.mix.parameters() if self.mix and is_alike else NO_MIX),
            longest_ns=max(reading.usual.p99_ns, reading.slow.p99_ns),
            candidates=[int(row["hash"]) for row in rows],
            named=named,
        ):
            sums[int(row["value"]), int(row["is_slow"]), :, block(row)] += [row[name] for name in SUMS]
        return [(Side(usual, sums[0, 0]), Side(slow, sums[0, 1])) for usual, slow in sums]
