"""Where the transactions of a Scope spent their time: components by server, and statements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...clickhouse.engine import Engine
from ...statements.fingerprint import fingerprint_id, of_template
from ..components import SUMMED, Sums
from ..sampled import run_sums
from ..scope import Scope
from .distribution import MOST_READ, Distribution

MAX_TARGETS = 1_000
MAX_STATEMENTS = 1_000
_S = 1_000_000_000


@dataclass(frozen=True)
class Sample:
    """Which steps of the window are read one by one."""

    every: int
    """The first step of so many; 1 when all are read, or the sums per minute have them."""
    transactions: int
    """In the steps that are read."""
    of: int
    """In the whole window."""

    @classmethod
    def of_scope(cls, scope: Scope, known: Distribution, most: int = MOST_READ) -> Sample:
        """
        As many steps as have about `most` transactions.

        Args:
            known: Of the same scope.
        """
        every = 1 if scope.filters.are_in_minutes or scope.sample_level else -(-known.transactions // most) or 1
        read = sum(each.transactions for each in known.cells if each.step % every == 0)
        return cls(every, read, known.transactions) if every > 1 and read else cls(1, *[known.transactions] * 2)

    @property
    def share(self) -> float:
        """Of the transactions; 1 when the numbers are exact."""
        return self.transactions / self.of if self.every > 1 else 1.0

    def parameters(self, scope: Scope) -> Mapping[str, str | int]:
        """Of queries/scoped/targets.sql and statements.sql; the scope is aligned."""
        return {**scope.divided(), "every": self.every, "chart_step_ns": scope.step_s * _S}

    def estimated(self, number: object) -> int:
        """A sum over the steps that are read, as it would be over all."""
        return round(int(str(number)) / self.share)


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


def targets(engine: Engine, scope: Scope, sample: Sample) -> tuple[TargetSpent, ...]:
    """
    Components on their servers, the one with the most time first, at most MAX_TARGETS.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    rows = run_sums(engine, "scoped/targets", **sample.parameters(scope.aligned()), limit=MAX_TARGETS)
    return tuple(
        TargetSpent(
            component=row["component"],
            address=row["address"],
            **{counter: sample.estimated(row[counter]) for counter in SUMMED},
        )
        for row in rows
    )


def statements(engine: Engine, scope: Scope, sample: Sample) -> tuple[StatementSpent, ...]:
    """
    Statements by fingerprint, the one with the most time first; MAX_STATEMENTS texts are read.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    gathered: dict[str, StatementSpent] = {}
    for row in run_sums(engine, "scoped/statements", **sample.parameters(scope.aligned()), limit=MAX_STATEMENTS):
        text = of_template(row["text"])
        calls, time_ns, errors = (sample.estimated(row[counter]) for counter in ("calls", "time_ns", "errors"))
        each = gathered.get(text)
        if each is not None:
            calls, time_ns, errors = calls + each.calls, time_ns + each.time_ns, errors + each.errors
        identity = each.fingerprint_id if each else f"{fingerprint_id(text):016X}"
        gathered[text] = StatementSpent(identity, text, calls, time_ns, errors)
    return tuple(sorted(gathered.values(), key=lambda each: (-each.time_ns, each.fingerprint_id)))
