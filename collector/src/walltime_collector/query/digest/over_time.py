"""What statements cost over time, as the applications measured them and as the slow log has them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...clickhouse.engine import Engine
from ...statements.fingerprint import of_template
from ..queries import Row, run
from ..sampled import run_sums
from ..scope import Scope, Steps
from .rank import by_fingerprint, of_log, sent_in

MAX_TEXTS = 500


@dataclass(frozen=True)
class StatementStep:
    """What a statement cost in one step; the log's numbers are weighted."""

    calls: int = 0
    time_ns: int = 0
    errors: int = 0
    logged_calls: int = 0
    logged_ns: int = 0


@dataclass(frozen=True)
class StatementOverTime:
    """One statement, in each step."""

    fingerprint_id: str
    fingerprint: str
    steps: Steps
    sums: tuple[StatementStep, ...]


def statement_over_time(
    engine: Engine, scope: Scope, number: int, sent: Sequence[Row] | None = None
) -> StatementOverTime:
    """
    One statement, from both its ends.

    Args:
        sent: What `sent_in` has of it in this scope, if it is known.

    Raises:
        EngineUnavailable: The engine cannot answer now.
    """
    sent = sent_in(engine, scope).get(number, ()) if sent is None else sent
    steps = Steps.of(scope, sum(row["calls"] for row in sent))
    logged = run(engine, "digest/server_steps", **of_log(scope, number), step_s=steps.step_s)
    (answer,) = _over_time(engine, scope, steps, {number: sent}, logged)
    return answer


def statements_over_time(engine: Engine, scope: Scope, most: int) -> tuple[StatementOverTime, ...]:
    """
    The statements on which the applications spent the most time, as they measured them.

    Raises:
        EngineUnavailable: The engine cannot answer now.
    """
    sent = sent_in(engine, scope)
    shown = sorted(sent, key=lambda number: -sum(row["time_ns"] for row in sent[number]))[:most]
    steps = Steps.of(scope, sum(row["calls"] for rows in sent.values() for row in rows))
    return tuple(_over_time(engine, scope, steps, {number: sent[number] for number in shown}))


def _over_time(
    engine: Engine, scope: Scope, steps: Steps, sent: Mapping[int, Sequence[Row]], logged: Sequence[Row] = ()
) -> Iterator[StatementOverTime]:
    """Each statement of `sent`, with the steps of the log of the only one."""
    texts = list(dict.fromkeys(str(row["text"]) for rows in sent.values() for row in rows))[:MAX_TEXTS]
    rows = run_sums(engine, "digest/steps", **scope.divided(steps.step_s), texts=texts) if texts else ()
    of_statements = by_fingerprint(rows)
    for number, of_kinds in sent.items():
        sums: dict[int, Counter[str]] = defaultdict(Counter)
        for row in of_statements.get(number, ()):
            sums[row["step"]].update(calls=row["calls"], time_ns=row["time_ns"], errors=row["errors"])
        for row in logged:
            sums[row["step"]].update(logged_calls=row["calls"], logged_ns=row["time_ns"])
        in_order = tuple(StatementStep(**sums[step]) for step in steps.numbers)
        text = of_template(of_kinds[0]["text"]) if of_kinds else ""
        yield StatementOverTime(f"{number:016X}", text, steps, in_order)
