"""Reads what both sides spent their time on, for the answer and for those who look for a cause."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ...clickhouse.engine import Engine, Parameter
from ...conversion import from_row
from ...format import iso_time
from .. import other_side
from ..components import counters_by_component, sums
from ..queries import Row, run, written
from ..windows import Comparison, Window
from .answer import Contribution, Population
from .arithmetic import Totals, contribution, contributions
from .durations import Durations, Times
from .finding import Evidence

_MAX_TARGETS, _MAX_STATEMENTS = 1_000, 100


@dataclass(frozen=True)
class Reading:
    """The two sides without single transactions, which are a finding of their own."""

    engine: Engine
    params: Mapping[str, Any]
    """Of queries/why/_compared.sql and _weight.sql."""
    compared: Comparison
    usual: Population
    slow: Population
    components: tuple[Contribution, ...]
    """Like with like: the usual side has the mix of the slow one."""
    targets: tuple[Contribution, ...] = ()
    statements: tuple[Contribution, ...] = ()
    is_different: bool = True
    """The two sides differ beyond chance, or were chosen to differ."""

    @property
    def difference_ns(self) -> float:
        """Of the means."""
        return self.slow.mean_ns - self.usual.mean_ns

    @cached_property
    def is_observed(self) -> bool:
        """
        Whether any database or cache was ever observed.

        Raises:
            EngineUnavailable, QueryFailed: No answer.
        """
        return bool(run(self.engine, "why/observed"))

    @cached_property
    def observed(self) -> tuple[other_side.Observed, ...]:
        """
        Databases and caches that answered in the time of both sides.

        Raises:
            EngineUnavailable, QueryFailed: No answer.
        """
        return other_side.servers(self.engine, self.compared.whole)

    def evidence(self, name: str, numbers: Mapping[str, float], *traces: str, **more: Parameter) -> Evidence:
        """
        The evidence that queries/why/evidence/<name>.sql gives: a row for each `side`, `slow` and `usual`.

        Args:
            more: Its parameters beside `params`.
        """
        return Evidence(written(f"why/evidence/{name}", **{**self.params, **more}), numbers, traces)

    def sides(self, name: str, **more: Parameter) -> tuple[Row, Row] | None:
        """
        What the statement of `evidence` finds: the rows of usual and slow; None when a side has no transaction.

        Raises:
            EngineUnavailable, QueryFailed: No answer.
        """
        rows = run(self.engine, f"why/evidence/{name}", **{**self.params, **more})
        by_side = {row["side"]: row for row in rows}
        return (by_side["usual"], by_side["slow"]) if len(by_side) == 2 else None

    def drilled(self) -> Reading:
        """
        With its components once more, by server and by statement.

        Raises:
            EngineUnavailable, QueryFailed: No answer.
        """
        return replace(
            self,
            targets=self._drilled("targets", _MAX_TARGETS),
            statements=self._drilled("statements", _MAX_STATEMENTS),
        )

    def _drilled(self, name: str, limit: int) -> tuple[Contribution, ...]:
        usual_n, slow_n = (each.total_ns / each.mean_ns for each in (self.usual, self.slow))
        sides = {"usual_transactions": usual_n, "slow_transactions": slow_n}
        return tuple(
            contribution(
                *(sums(row, "usual_"), usual_n, sums(row, "slow_"), slow_n),
                **{each: row[each] for each in ("component", "address", "statement") if each in row},
            )
            for row in run(self.engine, f"why/{name}", **self.params, **sides, limit=limit)
        )


def read(
    engine: Engine, params: Mapping[str, Any], compared: Comparison, took: Durations, *, is_different: bool = True
) -> Reading:
    """
    Read the sums of both sides; those of single servers and statements with Reading.drilled.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    rows = {bool(row["is_slow"]): row for row in run(engine, "why/populations", **params)}
    usual = _population(rows[False], took.usual, compared.usual)
    slow = _population(rows[True], took.slow, compared.slow)
    parts = contributions(_totals(rows[False]), _totals(rows[True]))
    return Reading(engine, params, compared, usual, slow, parts, is_different=is_different)


def _population(row: Row, side: Times, window: Window) -> Population:
    """One side; number and mean have the weights of a mix, and no single transactions, unlike percentiles."""
    p50_ns, p95_ns, p99_ns = map(round, np.quantile(side.durations_ns, [0.5, 0.95, 0.99]))
    return from_row(
        Population,
        row,
        since=iso_time(window.start_ns),
        until=iso_time(window.end_ns),
        transactions=round(row["number"]),
        errors=int(side.failed.sum()),
        mean_ns=int(row["total_ns"]) / float(row["number"]),
        p50_ns=p50_ns,
        p95_ns=p95_ns,
        p99_ns=p99_ns,
        max_ns=int(side.durations_ns.max()),
        cpu_ns=row["cpu_mean_ns"],
        queue_ns=row["queue_mean_ns"],
    )


def _totals(row: Row) -> Totals:
    components = {name: sums(counters) for name, counters in counters_by_component(row).items()}
    return Totals(float(row["number"]), int(row["total_ns"]), int(row["other_total_ns"]), components)
