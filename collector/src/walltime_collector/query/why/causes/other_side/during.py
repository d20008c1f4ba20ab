"""Whether what happened on a server carries a difference: transactions during it beside all others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ....queries import Row
from ....statistics import CHANCE, SUPPORT
from ....statistics.estimates import difference
from ...answer import Contribution
from ...finding import Finding
from ...reading import Reading

Measure = Literal["lost", "time_ns", "failed"]
Span = tuple[int, int]
"""Start and end, Unix nanoseconds."""
_MOST = 0.7
"""Of the difference; the rest may be before the event, or after it."""
_AT_ONCE = 0.5
"""In the first minute it is at least this part of what it is in all of the time."""
_FEWEST_EARLY = 5


@dataclass(frozen=True)
class Asked:
    """What a server does for one component, in the unit that the difference is of."""

    target: Contribution
    measure: Measure


def carried(reading: Reading, asked: Asked, spans: Sequence[Span], *, is_at_once: bool = False) -> Finding | None:
    """
    A finding without a sentence, when most of the difference is in transactions during these spans, beyond chance.

    Args:
        is_at_once: It is only believed when the difference begins in the first minute of a span.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    of = {"component": asked.target.component, "address": asked.target.address, "measure": asked.measure}
    of_spans = {"starts_ns": [start for start, _ in spans], "ends_ns": [end for _, end in spans]}
    both = reading.sides("during", **of, **of_spans) if spans else None
    if both is None:
        return None
    tested = _tested(*both, is_at_once=is_at_once)
    if tested is None:
        return None
    names = ("during", "beside", "amount_during", "amount_beside")
    numbers = {f"{row['side']}_{name}": float(row[name]) for row in both for name in names}
    evidence = reading.evidence("during", numbers, **of, **of_spans)
    return Finding(
        "other_side", "", p_value=tested, subject=f"{of['component']} {asked.target.address}", evidence=evidence
    )


def _tested(usual: Row, slow: Row, *, is_at_once: bool) -> float | None:
    """The p-value of the difference between during and beside; None when it does not carry the one of the sides."""
    usual_rate = _per_transaction(usual, "during", "beside")
    excess = {name: slow[f"amount_{name}"] - usual_rate * slow[name] for name in ("during", "beside")}
    if excess["during"] <= 0 or excess["during"] < _MOST * sum(excess.values()):
        return None
    during, beside = (
        (
            sum(row[f"amount_{name}"] for row in (usual, slow)) / number,
            sum(row[f"variance_{name}"] * row[name] for row in (usual, slow) if row[name]) / number,
            round(number),
        )
        if (number := usual[name] + slow[name]) >= SUPPORT
        else (0.0, 0.0, 0)
        for name in ("during", "beside")
    )
    if not (during[2] and beside[2]):
        return None
    p_value = difference(beside, during).p_value
    is_early = usual["early"] + slow["early"] < _FEWEST_EARLY
    early_rate = (usual["amount_early"] + slow["amount_early"]) / max(usual["early"] + slow["early"], 1)
    is_believed = not is_at_once or is_early or early_rate >= _AT_ONCE * during[0]
    return p_value if during[0] > beside[0] and p_value < CHANCE and is_believed else None


def _per_transaction(row: Row, *names: str) -> float:
    return float(sum(row[f"amount_{name}"] for name in names) / max(sum(row[name] for name in names), 1e-9))
