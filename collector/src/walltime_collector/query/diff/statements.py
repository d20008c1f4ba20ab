"""Statements that one of two versions, or those that match a condition, send and the other side does not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ...clickhouse.engine import Engine
from ...statements.fingerprint import fingerprint_id, of_template
from ..answers import Kind
from ..digest.new_since import chance_of_none
from ..queries import Row
from ..sampled import run_sums
from ..scope import Scope
from ..statistics import CHANCE
from .answer import StatementDifference
from .slices import Name

_MOST_ROWS = 20_000
_OTHER = "(other)"
"""The SDK's text for the statements that had no line on a bill: they can be any."""
Side = tuple[Scope, Mapping[Name, Kind]]
"""What is compared, and its kinds."""


def statements_on_one_side(engine: Engine, usual: Side, now: Side) -> list[StatementDifference]:
    """
    The statements that are new, or gone, beyond chance: those with the most time first.

    Two times are not compared: what is sent rarely comes in bursts.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    if usual[0].window != now[0].window:
        return []
    sides = (usual, now)
    read = [run_sums(engine, "advise/statements", **side[0].divided(), limit=_MOST_ROWS) for side in sides]
    sent = [_by_statement(rows) for rows in read]
    found: list[StatementDifference] = []
    for at, change in ((1, "new"), (0, "gone")):
        if len(read[1 - at]) < _MOST_ROWS:
            found += _only_on(sides[at], sides[1 - at], sent[at], sent[1 - at], is_new=change == "new")
    return sorted(found, key=lambda each: (-each.time_ns, each.fingerprint_id))


def _by_statement(rows: Sequence[Row]) -> dict[tuple[str, str], list[Row]]:
    """Of each service and fingerprint, the kind with the most time first."""
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        text = row["text"]
        found.setdefault((row["service"], text if text == _OTHER else of_template(text)), []).append(row)
    return found


def _only_on(
    side: Side,
    other: Side,
    sent: Mapping[tuple[str, str], Sequence[Row]],
    of_other: Mapping[tuple[str, str], Sequence[Row]],
    *,
    is_new: bool,
) -> Iterator[StatementDifference]:
    candidates = [key for key in sent if key not in of_other]
    for service, fingerprint in candidates:
        rows = sent[service, fingerprint]
        unknown = {row["name"] for row in of_other.get((service, _OTHER), ())}
        for row in rows:
            name = service, str(row["name"])
            kind, opposite = side[1].get(name), other[1].get(name)
            if fingerprint == _OTHER or name[1] in unknown or kind is None or opposite is None:
                continue
            many = sum(int(each["transactions"]) for each in rows if each["name"] == name[1])
            numbers = min(many, kind.transactions), kind.transactions, opposite.transactions
            sides = (side, side, other)
            read = [number // each[0].one_in for number, each in zip(numbers, sides, strict=True)]
            p_value = chance_of_none(*read) * len(candidates) * len(rows)
            if p_value < CHANCE:
                yield StatementDifference(
                    f"{fingerprint_id(fingerprint):016X}",
                    fingerprint,
                    "new" if is_new else "gone",
                    *name,
                    *numbers,
                    sum(int(each["calls"]) for each in rows),
                    sum(int(each["time_ns"]) for each in rows),
                    p_value,
                )
                break
