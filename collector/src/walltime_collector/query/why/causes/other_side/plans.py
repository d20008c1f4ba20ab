"""Whether a statement is slower because the database runs it in another way since a moment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timezone

from .....statements.fingerprint import fingerprint_id, of_template
from .... import other_side
from ....components import SQL
from ....other_side import ServerEvent, events
from ....windows import Window
from ...answer import Contribution
from ...finding import BECAUSE, Finding
from ...reading import Reading
from ...wording import short
from ..cause import Cause
from .during import Asked, carried

_BEFORE_NS = 600_000_000_000
"""A change this long before the slow time may still be why it is slow."""
_NOTABLE = 0.3
"""Of what slower calls add."""
_SLOWER = 1.25


def findings(reading: Reading, causes: Sequence[Cause]) -> list[Finding]:
    """
    One finding for each statement that carries slower calls and whose plan changed at the beginning of that.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    slower = [
        each for each in causes if each.part.component in SQL and each.has_slower_calls and each.part.slower_ns > 0
    ]
    carrying = {of_template(text): text for cause in slower for text in _carrying(reading, cause)}
    if not carrying:
        return []
    slow = reading.compared.slow
    window = Window(slow.start_ns - _BEFORE_NS, slow.end_ns)
    changes = {
        each.details.get("fingerprint_id", ""): each for each in events(reading.engine, window, (), ("plan_changed",))
    }  # the last one of each
    return [
        finding
        for text, sent in carrying.items()
        if (change := changes.get(f"{fingerprint_id(text):016X}"))
        for finding in _explained(reading, window, change, sent)
    ]


def _carrying(reading: Reading, cause: Cause) -> Iterator[str]:
    for each in reading.statements:
        if each.slower_ns >= _NOTABLE * cause.part.slower_ns and (each.pace or 0) >= _SLOWER:
            yield each.statement


def _explained(reading: Reading, window: Window, change: ServerEvent, sent: str) -> Iterator[Finding]:
    for target in _targets(reading, window, change.server):
        # it was noticed at `start_ns`, and happened after the last look before
        start_ns = int(float(change.details.get("old_until", change.start_ns / 1e9)) * 1e9)
        if found := carried(reading, Asked(target, "time_ns"), [(start_ns, reading.compared.slow.end_ns)]):
            at = datetime.fromtimestamp(change.start_ns / 1e9, timezone.utc)
            words = f"the plan of `{short(sent)}` changed at {at:%H:%M:%S} UTC: {change.details.get('change', '')}"
            yield replace(found, sentence=f"{BECAUSE}{words}.")
            return


def _targets(reading: Reading, window: Window, server: str) -> Iterator[Contribution]:
    """What the applications measured of it."""
    known = other_side.servers(reading.engine, window)
    for each in reading.targets:
        if each.component in SQL and server in (each.address, other_side.meant(each.address, known)):
            yield each
