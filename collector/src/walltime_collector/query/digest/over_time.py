"""What statements cost over time, as the applications measured them and as the slow log has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...clickhouse.engine import Engine
from ...statements.fingerprint import fingerprint_id, of_template
from ..answers import from_row
from ..queries import Row, run
from ..sampled import run_sums
from ..scope import Scope, Steps
from .rank import MAX_ROWS, of_log

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


def sent_of(engine: Engine, scope: Scope, number: int) -> Sequence[Row]:
    """
    The rows of queries/digest/application.sql of the statement whose fingerprint has this id.

    Raises:
        EngineUnavailable: The engine cannot answer now.
    """
    rows = run_sums(engine, "digest/application", **scope.divided(), limit=MAX_ROWS)
    return [row for row in rows if fingerprint_id(of_template(row["text"])) == number]


def statement_over_time(
    engine: Engine, scope: Scope, number: int, sent: Sequence[Row] | None = None
) -> StatementOverTime:
    """
    One statement, from both its ends.

    Args:
        sent: What `sent_of` returned for this scope, if it is known.

    Raises:
        EngineUnavailable: The engine cannot answer now.
    """
    sent = sent_of(engine, scope, number) if sent is None else sent
    steps = Steps.of(scope, sum(row["calls"] for row in sent))
    sums = _by_fingerprint(engine, scope, steps, sent).get(number, {})
    for row in run(engine, "digest/server_steps", **of_log(scope, number), step_s=steps.step_s):
        before = sums.get(row["step"], StatementStep())
        sums[row["step"]] = StatementStep(before.calls, before.time_ns, before.errors, row["calls"], row["time_ns"])
    text = of_template(sent[0]["text"]) if sent else ""
    return _answer(number, text, steps, sums)


def statements_over_time(engine: Engine, scope: Scope, most: int) -> tuple[StatementOverTime, ...]:
    """
    The statements on which the applications spent the most time, as they measured them.

    Raises:
        EngineUnavailable: The engine cannot answer now.
    """
    rows = run_sums(engine, "digest/application", **scope.divided(), limit=MAX_ROWS)
    times_ns: dict[int, int] = {}
    for row in rows:
        number = fingerprint_id(of_template(row["text"]))
        times_ns[number] = times_ns.get(number, 0) + row["time_ns"]
    shown = sorted(times_ns, key=lambda number: -times_ns[number])[:most]
    sent = [row for row in rows if fingerprint_id(of_template(row["text"])) in shown]
    steps = Steps.of(scope, sum(row["calls"] for row in rows))
    sums = _by_fingerprint(engine, scope, steps, sent)
    texts = {fingerprint_id(of_template(row["text"])): of_template(row["text"]) for row in sent}
    return tuple(_answer(number, texts[number], steps, sums.get(number, {})) for number in shown)


def _by_fingerprint(
    engine: Engine, scope: Scope, steps: Steps, sent: Sequence[Row]
) -> dict[int, dict[int, StatementStep]]:
    texts = list(dict.fromkeys(str(row["text"]) for row in sent))[:MAX_TEXTS]
    sums: dict[int, dict[int, StatementStep]] = {}
    if not texts:
        return sums
    for row in run_sums(engine, "digest/steps", **scope.divided(steps.step_s), texts=texts):
        of = sums.setdefault(fingerprint_id(of_template(row["text"])), {})
        each, before = from_row(StatementStep, row), of.get(row["step"], StatementStep())
        of[row["step"]] = StatementStep(
            each.calls + before.calls, each.time_ns + before.time_ns, each.errors + before.errors
        )
    return sums


def _answer(number: int, text: str, steps: Steps, sums: Mapping[int, StatementStep]) -> StatementOverTime:
    in_order = tuple(sums.get(step, StatementStep()) for step in steps.numbers)
    return StatementOverTime(f"{number:016X}", text, steps, in_order)
