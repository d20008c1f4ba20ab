"""Incidents in words, for messages, terminals and pages."""

from __future__ import annotations

from collections.abc import Sequence

from ...format import count, duration, percent, plural, printable
from ..names import shown
from .answer import Change, Incident

_MOST_CHANGES = 4
ENDINGS = {
    "over": "it is as usual again",
    "silent": "it has no transactions any more",
    "lasting": "after a day this is the new usual",
}


def of_changes(name: str, changes: Sequence[Change]) -> str:
    """What changed, in one sentence."""
    more = f" and {plural(len(changes) - _MOST_CHANGES, 'other change')}" if len(changes) > _MOST_CHANGES else ""
    return f"{shown(name)}: {', '.join(map(of_change, changes[:_MOST_CHANGES]))}{more}."


def of_change(change: Change) -> str:
    """One change: `takes 12.1 ms → 40.2 ms`."""
    before, now = numbers(change)
    if change.measure == "time":
        return f"takes {before} → {now}"
    if change.measure == "errors":
        return f"{before} → {now} fail"
    if change.measure == "calls":
        return f"{printable(change.component)} {before} → {now} calls a transaction"
    return f"{printable(change.component)} on {printable(change.address)} hits {before} → {now}"


def numbers(change: Change) -> tuple[str, str]:
    """The usual value, and the one of now."""
    return _number(change, change.usual), _number(change, change.now)


def worst(change: Change) -> str:
    """The worst value."""
    return _number(change, change.worst)


def what(change: Change) -> str:
    """What was measured."""
    names = {"time": "time of a transaction", "errors": "failed transactions", "calls": "calls", "hit_ratio": "hits"}
    where = f" on {change.address}" if change.address else ""
    return printable(f"{change.component} {names[change.measure]}{where}".strip())


def state(incident: Incident) -> str:
    """`open, critical`, or how it ended."""
    return f"open, {incident.severity}" if incident.is_open else ENDINGS.get(incident.ended_because, "ended")


def as_of(incident: Incident) -> str:
    """When the explanation was computed: `as of 2026-11-23 05:46:26 UTC`."""
    at = incident.explained_at or incident.opened_at
    return f"as of {at[:19].replace('T', ' ')} UTC"


def several(number: int) -> str:
    """`2 incidents are open`."""
    return f"{plural(number, 'incident')} {'is' if number == 1 else 'are'} open"


def _number(change: Change, value: float) -> str:
    if change.measure == "time":
        return duration(value)
    return count(round(value, 1)) if change.measure == "calls" else percent(value)
