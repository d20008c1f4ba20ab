"""Finds which hosts, versions, users and other values explain a difference, with queries/dimensions/*.sql."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ...clickhouse.engine import Engine, Parameter
from ..condition.fields import ANNOTATION
from ..condition.parse import parse
from ..condition.tree import field_names
from ..queries import Row, run
from ..windows import Comparison
from .answer import DIMENSIONS, Dimension, Population
from .cause import Cause
from .chance import CHANCE
from .effects import BLOCKS, NONE, SUPPORT, Cell, Effect, Side, between, of_part, relative_error

CALLED = ("server", "statement")
"""What was called. It can have the same transactions as who is affected, so neither excludes the other."""
_CANDIDATES_OF_EACH = 6
_MOST_CANDIDATES = 60
_MOST_NAMED = 3
_LEAST_PART = 0.1
"""A value explains at least this part of the difference,"""
_LEAST_OF_USUAL = 0.025
"""and of the usual time, when two times are compared."""
_AS_USUAL = 1.1
"""A share of the transactions that is up to so many times the usual one, or its reciprocal, has not changed."""
_INSIDE = 0.05
_ALIKE = 0.9


@dataclass(frozen=True)
class Dimensions:
    """The values, and among how many they were found."""

    values: tuple[Dimension, ...] = ()
    looked_at: int = 0


@dataclass(frozen=True)
class _Candidate:
    """A value and what it explains; `left_*` is without the transactions of the values that are named already."""

    row: Row
    usual: Side
    slow: Side
    more: Effect
    slower: Effect
    left_slow: int

    @property
    def dimension(self) -> str:
        return str(self.row["dimension"])

    @property
    def order(self) -> tuple[float, int]:
        """The clearest first."""
        return -round(max(self.more.strength, self.slower.strength), 2), DIMENSIONS.index(self.dimension)


def find(
    engine: Engine,
    params: Mapping[str, Parameter],
    compared: Comparison,
    usual: Population,
    slow: Population,
    *,
    is_different: bool,
) -> Dimensions:
    """
    The values that explain a part of the difference, the clearest first.

    After each one its transactions are left out, so that the next one is named only for what it explains besides.

    Args:
        params: Of queries/why/_compared.sql.
        is_different: The two populations differ beyond chance.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    search = _Search(engine, params, compared, usual, slow, is_different)
    candidates = search.first()
    called = [each for each in candidates if each.dimension in CALLED and search.explains(each)]
    called.sort(key=lambda each: -abs(each.more.ns + each.slower.ns))
    candidates = [each for each in candidates if each.dimension not in CALLED]
    named: list[Dimension] = []
    hashes: list[int] = []
    while len(named) < _MOST_NAMED and (clear := [each for each in candidates if search.explains(each)]):
        best = min(clear, key=lambda each: each.order)
        hashes.append(int(best.row["hash"]))
        left = search.without(hashes, [each for each in candidates if each is not best])
        alike = {id(best.row), *(id(each.row) for each in left if _is_alike(each, best))}
        same = [each for each in candidates if id(each.row) in alike]
        best = min((each for each in same if each in clear), key=lambda each: DIMENSIONS.index(each.dimension))
        named.append(search.dimension(best, [each for each in same if each is not best]))
        candidates = [each for each in left if each.row is not best.row and any(each.row is one.row for one in clear)]
    named += [search.dimension(each, []) for each in called[:_MOST_NAMED]]
    return Dimensions(tuple(named), search.looked_at)


def without_effects(values: Sequence[Dimension], causes: Sequence[Cause]) -> tuple[Dimension, ...]:
    """Without statements that more, or fewer, transactions send because of lost lookups: the causes name them."""
    if not any(each.lookups.losing for each in causes):
        return tuple(values)
    return tuple(each for each in values if each.dimension != "statement" or _is_sent_as_usual(each))


def _is_sent_as_usual(statement: Dimension) -> bool:
    return statement.lift is not None and 1 / _AS_USUAL <= statement.lift <= _AS_USUAL


def relative_errors(
    engine: Engine, params: Mapping[str, Parameter], compared: Comparison
) -> tuple[float | None, float | None]:
    """
    The standard errors of the usual and the slow mean, as parts of them; None where they are not known.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    cells: tuple[dict[int, Cell], dict[int, Cell]] = ({}, {})
    for row in run(engine, "dimensions/all", **params, **_block_lengths(compared)):
        cells[bool(row["is_slow"])][int(row["block"])] = Cell(int(row["transactions"]), int(row["total_ns"]))
    usual, slow = (relative_error(side) for side in cells)
    return usual if math.isfinite(usual) else None, slow if math.isfinite(slow) else None


def _block_lengths(compared: Comparison) -> dict[str, int]:
    windows = (("usual", compared.usual), ("slow", compared.slow))
    return {f"{side}_block_ns": max((each.end_ns - each.start_ns) // BLOCKS, 1) for side, each in windows}


def _field_name(row: Row) -> str:
    """The field of conditions that has this value."""
    if row["dimension"] == "annotation":
        return f"{ANNOTATION}.{str(row['value']).partition('=')[0]}"
    return str(row["dimension"]).replace(" ", ".")


def _is_alike(left: _Candidate, best: _Candidate) -> bool:
    """It has nearly the same transactions: hardly any is left without those of `best`, and there were as many."""
    mine, its = left.slow.own.transactions, best.slow.own.transactions
    return left.left_slow <= _INSIDE * mine and mine >= _ALIKE * its


@dataclass
class _Search:
    """One question of `why`."""

    engine: Engine
    params: Mapping[str, Parameter]
    compared: Comparison
    usual: Population
    slow: Population
    is_different: bool
    looked_at: int = 0

    def first(self) -> list[_Candidate]:
        """The values with the most time beyond their usual part, with what they explain."""
        rows = run(
            self.engine,
            "dimensions/values",
            **self.params,
            slow_total_ns=float(self.slow.total_ns),
            usual_total_ns=float(self.usual.total_ns),
            support=SUPPORT,
            transactions=self.usual.transactions + self.slow.transactions,
            of_each=_CANDIDATES_OF_EACH,
            limit=_MOST_CANDIDATES,
        )
        if self.compared.when:  # values of the fields that it compares say nothing new
            compared = field_names(parse(self.compared.when))
            rows = [row for row in rows if _field_name(row) not in compared]
        self.looked_at = int(rows[0]["all_values"]) if rows else 0
        rows = [row for row in rows if any(map(self._is_large, self._effects(*self._in_one_block(row))))]
        if not rows:
            return []
        _, *sides = self._sides(rows, ())
        return [
            _Candidate(row, usual, slow, *self._effects(usual, slow), slow.own.transactions)
            for row, (usual, slow) in zip(rows, sides, strict=True)
        ]

    def without(self, named: Sequence[int], candidates: Sequence[_Candidate]) -> list[_Candidate]:
        """The candidates, with what they explain of the transactions that have none of the named values."""
        (_, all_left), *sides = self._sides([each.row for each in candidates], named)
        part = all_left.total.transactions / self.slow.transactions
        left = []
        for each, (usual, slow) in zip(candidates, sides, strict=True):
            more, slower = (replace(effect, ns=effect.ns * part) for effect in self._effects(usual, slow))
            left.append(replace(each, more=more, slower=slower, left_slow=slow.own.transactions))
        return left

    def explains(self, each: _Candidate) -> bool:
        """Whether a part of it is beyond chance, and large enough."""
        return any(map(self._counts, (each.more, each.slower)))

    def dimension(self, each: _Candidate, same: Sequence[_Candidate]) -> Dimension:
        """The row of the answer."""
        usual, slow = each.usual, each.slow
        means = (side.mean_ns if side.transactions else None for side in (usual.own, slow.own, usual.rest, slow.rest))
        usual_mean_ns, slow_mean_ns, usual_rest_mean_ns, slow_rest_mean_ns = means
        counted = [effect for effect in (each.more, each.slower) if self._counts(effect)]
        return Dimension(
            dimension=each.dimension,
            value=str(each.row["value"]),
            same=tuple(f"{one.dimension} {one.row['value']}" for one in same),
            values=int(each.row["values_of_dimension"]),
            usual_transactions=usual.own.transactions,
            slow_transactions=slow.own.transactions,
            usual_share=usual.share,
            slow_share=slow.share,
            lift=slow.share / usual.share if usual.share else None,
            usual_mean_ns=usual_mean_ns,
            slow_mean_ns=slow_mean_ns,
            usual_rest_mean_ns=usual_rest_mean_ns,
            slow_rest_mean_ns=slow_rest_mean_ns,
            more_ns=each.more.ns if each.more in counted else 0.0,
            slower_ns=each.slower.ns if each.slower in counted else 0.0,
            p_value=min(map(self._corrected, counted)),
        )

    def _in_one_block(self, row: Row) -> tuple[Side, Side]:
        """Usual and slow, enough for what a value explains without its p-value."""
        usual, slow = (
            Side(
                {0: Cell(int(row[f"{name}_transactions"]), int(row[f"{name}_ns"]))},
                {0: Cell(population.transactions, population.total_ns)},
            )
            for name, population in (("usual", self.usual), ("slow", self.slow))
        )
        return usual, slow

    def _counts(self, effect: Effect) -> bool:
        return self._is_large(effect) and self._corrected(effect) < CHANCE

    def _is_large(self, effect: Effect) -> bool:
        difference_ns = self.slow.mean_ns - self.usual.mean_ns
        least_ns = _LEAST_PART * abs(difference_ns)
        if not self.compared.is_of_one_window:
            least_ns = max(least_ns, _LEAST_OF_USUAL * self.usual.mean_ns)
            if not self.is_different:
                difference_ns = 1.0 if effect.p_value else 0.0
        return effect.ns * difference_ns > 0 and abs(effect.ns) >= least_ns

    def _corrected(self, effect: Effect) -> float:
        """Bonferroni's correction, for all values with enough transactions and for two tests of each."""
        tests = self.looked_at * (1 if self.compared.is_of_one_window else 2)
        return min(effect.p_value * tests, 1.0)

    def _effects(self, usual: Side, slow: Side) -> tuple[Effect, Effect]:
        if not self.compared.is_of_one_window:
            return between(usual, slow)
        effect, is_longer = of_part(usual, slow)
        return (NONE, effect) if is_longer else (effect, NONE)

    def _sides(self, rows: Sequence[Row], named: Sequence[int]) -> Iterator[tuple[Side, Side]]:
        """Usual and slow of all transactions, then of each row."""
        cells: dict[tuple[int, bool], dict[int, Cell]] = defaultdict(dict)
        for row in run(
            self.engine,
            "dimensions/blocks",
            **self.params,
            **_block_lengths(self.compared),
            longest_ns=max(self.usual.p99_ns, self.slow.p99_ns),
            candidates=[int(row["hash"]) for row in rows],
            named=named,
        ):
            transactions, total_ns, capped_ns = (int(row[name]) for name in ("transactions", "total_ns", "capped_ns"))
            cell = Cell(transactions, total_ns, capped_ns, float(row["logarithms"]))
            cells[int(row["value"]), bool(row["is_slow"])][int(row["block"])] = cell
        for at in range(len(rows) + 1):
            usual, slow = (Side(cells[at, is_slow], cells[0, is_slow]) for is_slow in (False, True))
            yield usual, slow
