"""Who holds the locks that the slow transactions waited for, and for how long after its last statement."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .....format import duration, percent
from ....names import shown
from ....queries import Row, run
from ....statistics import CHANCE
from ....statistics.estimates import Estimate, ratio
from ...finding import BECAUSE, Finding
from ...reading import Reading
from ...wording import signed
from ..cause import Cause

_NOTABLE = 0.3
"""Of the cause's part of the difference."""
_MOSTLY = 0.5
_FEWEST_WAITS = 3
_MOST_WAITS = 5_000


def findings(reading: Reading, causes: Sequence[Cause]) -> list[Finding]:
    """
    One finding, when statements are slower because they wait longer for locks whose holder was seen, beyond chance.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    part_ns = max((each.part.difference_ns for each in causes if _may_wait(each)), default=0.0)
    both = reading.sides("held") if part_ns > 0 else None
    if both is None:
        return []
    usual, slow = both
    grew_ns = slow["wait_ns"] - usual["wait_ns"]
    if slow["waited"] < _FEWEST_WAITS or grew_ns < _NOTABLE * part_ns:
        return []
    p_value = _change(reading, usual, slow).p_value
    holders = run(reading.engine, "why/holders", **reading.params, limit=_MOST_WAITS)
    if p_value >= CHANCE or not holders:
        return []
    change = f"{duration(usual['wait_ns'])} → {duration(slow['wait_ns'])} a transaction"
    sentence = f"{BECAUSE}it waits for locks: {change}, {signed(grew_ns)}; {_by(holders)}."
    numbers = {f"{row['side']}_wait_ns": float(row["wait_ns"]) for row in both}
    evidence = reading.evidence("held", numbers, holders[0]["trace"])
    return [
        Finding("other_side", sentence, p_value=p_value, subject=shown(holders[0]["holder_name"]), evidence=evidence)
    ]


def _may_wait(cause: Cause) -> bool:
    return cause.part.component.startswith("mysql.") and cause.has_slower_calls


def _change(reading: Reading, usual: Row, slow: Row) -> Estimate:
    before, now = (ratio(np.array(row["block_ns"]), np.array(row["block_weights"])) for row in (usual, slow))
    compared = reading.compared
    if compared.is_of_one_window:
        return now.minus(before)
    lengths = [each.end_ns - each.start_ns for each in (compared.usual, compared.slow)]
    return now.since(before, lengths[0] / max(lengths[1], 1))


def _by(holders: Sequence[Row]) -> str:
    """`94 % of it for POST /checkout, which holds products for 380 ms between its last statement and its commit`."""
    first = holders[0]
    part = first["waited_ns"] / sum(each["waited_ns"] for each in holders)
    name = shown(first["holder_name"]) if first["holder_name"] else "a program that names no request"
    words = f"{percent(part)} of it for {name}, which holds {first['holder_object'].rpartition('.')[2] or 'them'}"
    if first["idle"] >= _MOSTLY * first["waits"]:
        return f"{words} for {duration(first['idle_ns'])} between its last statement and its commit"
    return f"{words} while it works"
