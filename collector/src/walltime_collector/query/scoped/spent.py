"""Where the transactions of a Scope spent their time: components on their servers, and statements."""

from __future__ import annotations

from dataclasses import dataclass

from ...clickhouse.engine import Engine
from ...statements.fingerprint import fingerprint_id, of_template
from ..components import Sums, sums
from ..queries import run
from ..scope import Scope

MAX_TARGETS = 1_000
MAX_STATEMENTS = 1_000


@dataclass(frozen=True, kw_only=True)
class TargetSpent(Sums):
    """A component on one server: sums over the transactions of the scope."""

    component: str
    address: str


@dataclass(frozen=True)
class StatementSpent:
    """All statements of one fingerprint: sums over the transactions of the scope, as the application measured them."""

    fingerprint_id: str
    """16 hexadecimal digits, see query/digest/answer.py."""
    text: str
    calls: int
    time_ns: int
    errors: int


def targets(engine: Engine, scope: Scope) -> tuple[TargetSpent, ...]:
    """
    Components on their servers, the one with the most time first, at most MAX_TARGETS.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    return tuple(
        TargetSpent(component=row["component"], address=row["address"], **vars(sums(row)))
        for row in run(engine, "scoped/targets", **scope.aligned().divided(), limit=MAX_TARGETS)
    )


def statements(engine: Engine, scope: Scope) -> tuple[StatementSpent, ...]:
    """
    Statements by fingerprint, the one with the most time first; MAX_STATEMENTS texts are read.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    gathered: dict[str, StatementSpent] = {}
    for row in run(engine, "scoped/statements", **scope.aligned().divided(), limit=MAX_STATEMENTS):
        text = of_template(row["text"])
        calls, time_ns, errors = (int(row[counter]) for counter in ("calls", "time_ns", "errors"))
        each = gathered.get(text)
        if each is not None:
            calls, time_ns, errors = calls + each.calls, time_ns + each.time_ns, errors + each.errors
        identity = each.fingerprint_id if each else f"{fingerprint_id(text):016X}"
        gathered[text] = StatementSpent(identity, text, calls, time_ns, errors)
    return tuple(sorted(gathered.values(), key=lambda each: (-each.time_ns, each.fingerprint_id)))
