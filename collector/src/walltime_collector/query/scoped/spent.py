"""Where the transactions of a Scope spent their time: components by server, and statements."""

from __future__ import annotations

from ...clickhouse.engine import Engine
from ..answers import Target, from_row
from ..digest.answer import DigestedStatement
from ..digest.rank import MAX_ROWS, digested
from ..sampled import run_sums
from ..scope import Scope

MAX_TARGETS = 1_000
_STEP_S = 86_400 * 7
"""Of servers/steps, whose steps are not wanted."""


def targets(engine: Engine, scope: Scope) -> tuple[Target, ...]:
    """
    Components on their servers, the one with the most time first, at most MAX_TARGETS.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    rows = run_sums(engine, "servers/steps", **scope.aligned().divided(_STEP_S), address="", limit=MAX_TARGETS)
    return tuple(from_row(Target, row) for row in rows)


def statements(engine: Engine, scope: Scope) -> tuple[DigestedStatement, ...]:
    """
    Statements as the applications measured them, the one with the most time first.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    rows = run_sums(engine, "digest/application", **scope.aligned().divided(), limit=MAX_ROWS)
    return tuple(sorted(digested(rows, ()), key=lambda each: (-each.total_ns, each.fingerprint_id)))
