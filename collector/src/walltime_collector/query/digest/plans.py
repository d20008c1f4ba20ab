"""The plans of a statement, from what was stored of EXPLAIN."""

from __future__ import annotations

from ...clickhouse.engine import Engine
from ...format import iso_time
from ...statements.plans.shape import Step, from_json, plan_id
from ...statements.plans.words import change, lines, summary
from ..queries import run
from .answer import Plan, PlanLine

_MOST = 20
_MS = 1_000_000


def plans(engine: Engine, number: int) -> tuple[Plan, ...]:
    """
    The plans of the statement whose fingerprint has this id.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    rows = run(engine, "digest/plans", fingerprint_id=number, limit=_MOST)
    before: dict[tuple[str, str], Step] = {}
    found = []
    for row in sorted(rows, key=lambda row: (int(row["first_ms"]), int(row["last_ms"]))):
        where = str(row["server"]), str(row["database"])
        step = from_json(str(row["shape_text"]))
        changed = change(before[where], step) if where in before else ""
        found.append(plan_of(step, *where, int(row["first_ms"]), int(row["last_ms"]), changed))
        before[where] = step
    found.reverse()
    return tuple(sorted(found, key=lambda plan: (plan.server, plan.database)))


def plan_of(step: Step, server: str, database: str, first_ms: int, last_ms: int, changed: str) -> Plan:
    """A plan for people."""
    return Plan(
        server,
        database,
        f"{plan_id(step):016X}",
        iso_time(first_ms * _MS),
        iso_time(last_ms * _MS),
        summary(step),
        tuple(PlanLine(depth, text) for depth, text in lines(step)),
        changed,
    )
