"""Reads what both sides spent their time on, like with like: with the weights of a mix (Mix.parameters)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...clickhouse.engine import Engine, Parameter
from ..components import counters_by_component, sums
from ..queries import Row, run
from .answer import Contribution, Weights
from .arithmetic import Totals, contribution, contributions
from .reading import Reading

MAX_TARGETS, MAX_STATEMENTS = 1_000, 100


@dataclass(frozen=True)
class Parts:
    """The rows of queries/why/populations.sql by side, slow or not, and the components' parts of their difference."""

    rows: Mapping[bool, Row]
    components: tuple[Contribution, ...]


def read_parts(engine: Engine, params: Mapping[str, Parameter], weights: Weights) -> Parts:
    """
    Read the sums of both sides.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    rows = {bool(row["is_slow"]): row for row in run(engine, "why/populations", **params, **weights)}
    return Parts(rows, contributions(_totals(rows[False]), _totals(rows[True])))


def drilled(reading: Reading, weights: Weights) -> tuple[tuple[Contribution, ...], tuple[Contribution, ...]]:
    """
    The components once more, by server and by statement.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    limits = {"targets": MAX_TARGETS, "statements": MAX_STATEMENTS}
    targets, statements = (_drilled(reading, weights, name, limit) for name, limit in limits.items())
    return targets, statements


def _drilled(reading: Reading, weights: Weights, name: str, limit: int) -> tuple[Contribution, ...]:
    usual_n, slow_n = (each.total_ns / each.mean_ns for each in (reading.usual, reading.slow))
    sides = {"usual_transactions": usual_n, "slow_transactions": slow_n}
    rows = run(reading.engine, f"why/{name}", **reading.params, **weights, **sides, limit=limit)
    names = ("component", "address", "statement")
    return tuple(
        contribution(
            sums(row, "usual_"), usual_n, sums(row, "slow_"), slow_n, **{each: row.get(each, "") for each in names}
        )
        for row in rows
    )


def _totals(row: Row) -> Totals:
    components = {name: sums(counters) for name, counters in counters_by_component(row).items()}
    return Totals(float(row["number"]), int(row["total_ns"]), int(row["other_total_ns"]), components)
