"""What slower statements wait for at their database, as it says itself, and how its load changed with them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from .....format import count, duration
from .....statements.fingerprint import fingerprint_id, of_template
from .... import other_side
from ....components import SQL
from ....queries import Row
from ....statistics import CHANCE
from ....statistics.blocks import FEWEST, Blocks, Tested, compare
from ....statistics.multiple import holm
from ....statistics.tails import capped
from ...answer import Contribution
from ...durations import in_blocks
from ...finding import BECAUSE, Finding
from ...reading import Reading
from ...wording import joined, signed
from ..cause import Cause

_NOTABLE = 0.15
"""Of what a statement takes longer."""
_LOGGED = 0.8
"""Of the calls: of fewer, those that are known may be there for being slow, as in a slow log with a threshold."""
_UNKNOWN = 0.05
"""Of the time of the statements."""
_GREW = 1.5
_MOST_FIGURES = 2
_PARTS = {"locked": "waiting for locks", "disk": "waiting for the disk", "computing": "computing"}
"""In the order of `blocks` in queries/why/evidence/load.sql, behind statements and their time."""
_FIGURES = {
    "threads_running": ("statements running", "", 1),
    "page_misses": ("buffer pool misses", " a second", 10),
    "rows_read": ("rows read", " a second", 1_000),
    "rows_changed": ("rows changed", " a second", 100),
    "tmp_tables_on_disk": ("temporary tables on disk", " a second", 1),
    "history_list": ("history list", "", 1_000),
    "replication_lag_s": ("replication lag in seconds", "", 1),
}
"""In the order of `by_second` there: name, unit, and the least change that is worth saying."""

Numbers = NDArray[np.float64]


def findings(reading: Reading, causes: Sequence[Cause]) -> list[Finding]:
    """
    One finding for each cause with slower statements: what their database says that differs beyond chance.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    return [finding for cause in causes if _is_slower(cause) for finding in _explained(reading, cause)]


def _is_slower(cause: Cause) -> bool:
    is_mysql = cause.part.component.startswith("mysql.")
    return is_mysql and cause.has_slower_calls and not cause.others and cause.part.slower_ns > 0


def _explained(reading: Reading, cause: Cause) -> Iterator[Finding]:
    server, sent = _server(reading, cause), _statements(reading, cause)
    ids = sorted({fingerprint_id(of_template(each.statement)) for each in sent})
    both = reading.sides("load", server=server, fingerprints=ids)
    if both is None:
        return
    longer_ns = sum(each.slower_ns for each in sent) / (sum(each.slow.calls_per_transaction for each in sent) or 1.0)
    calls = [sum(getattr(each, side).calls for each in sent) for side in ("usual", "slow")]
    are_logged = all(row["logged"] >= _LOGGED * made for row, made in zip(both, calls, strict=True))
    parts = _parts(reading, both, longer_ns) if ids and are_logged and longer_ns > 0 else {}
    figures = _figures(reading, both)
    if not (parts or figures):
        return
    load = joined(_figure(name, both) for name in figures) if figures else ""
    if parts:
        who = cause.targets[0].address if len(cause.targets) == 1 else "the database"
        spent = joined(f"{duration(grew_ns)} {what}" for what, (grew_ns, _) in parts.items())
        words = f"{BECAUSE}{who} takes longer: of {signed(longer_ns)} a statement, {spent}{f' ({load})' * bool(load)}"
    else:
        when = "in the seconds of the slow ones" if reading.compared.is_of_one_window else "at the same time"
        words = f"{server} has more to do {when}: {load}"
    said = [*figures, *(("query_ns", *(f"{each}_ns" for each in _PARTS)) if parts else ())]
    numbers = {f"{row['side']}_{name}": float(row[name]) for row in both for name in said}
    evidence = reading.evidence("load", numbers, server=server, fingerprints=ids)
    p_value = max(*(p for _, p in parts.values()), *figures.values(), 0.0)
    subject = server or cause.part.component
    yield Finding("other_side", f"{words}.", p_value=p_value, subject=subject, evidence=evidence)


def _server(reading: Reading, cause: Cause) -> str:
    """The observed server with most of the slower calls; empty when none is observed."""
    mine = cause.targets or [each for each in reading.targets if each.component == cause.part.component]
    slowest = sorted(mine, key=lambda each: -each.slower_ns)
    return next((name for each in slowest if (name := other_side.meant(each.address, reading.observed))), "")


def _statements(reading: Reading, cause: Cause) -> Sequence[Contribution]:
    """Those that are compared: with most of the slower calls, or all, that are sent on both sides."""
    mine = cause.statements or reading.statements if cause.part.component in SQL else ()
    return [each for each in mine if each.usual.calls and each.slow.calls]


def _parts(reading: Reading, both: tuple[Row, Row], longer_ns: float) -> dict[str, tuple[float, float]]:
    """What a statement spends more time on, in nanoseconds and with the p-value, the most first."""
    unknown = [each for each in ("disk", "computing") if max(row[f"{each}_unknown"] for row in both) > _UNKNOWN]
    may_be = " or ".join(_PARTS[each] for each in unknown)
    rest = f"on what it does not measure ({may_be})" if may_be else "on something else"

    def divided(row: Row) -> tuple[Numbers, dict[str, Numbers]]:
        statements, query_ns, *own = np.array(row["blocks"], float).T
        known = {what: ns for (name, what), ns in zip(_PARTS.items(), own, strict=False) if name not in unknown}
        return statements, {**known, rest: query_ns - sum(known.values())}

    (usual_n, usual), (slow_n, slow) = map(divided, both)
    tested = {each: _tested(reading, _even(usual_n, usual[each]), _even(slow_n, slow[each])) for each in usual}
    p_values = holm([p_value for _, p_value in tested.values()])
    found = {
        what: (slow[what].sum() / slow_n.sum() - usual[what].sum() / usual_n.sum(), p_value)
        for (what, (difference, _)), p_value in zip(tested.items(), p_values, strict=True)
        if p_value < CHANCE and difference.difference >= _NOTABLE * longer_ns
    }
    return dict(sorted(found.items(), key=lambda each: -each[1][0]))


def _figures(reading: Reading, both: tuple[Row, Row]) -> dict[str, float]:
    """The p-values of the figures that grew, the most first."""
    if not all(row["seconds"] for row in both):
        return {}
    usual, slow = (np.array(row["by_second"], float).T for row in both)  # None becomes nan
    p_values, grew = [], {}
    for (name, (_, _, least)), *sides in zip(_FIGURES.items(), usual, slow, strict=True):
        before, now = (capped(each[~np.isnan(each)]) for each in sides)
        if min(len(before), len(now)) < FEWEST:
            continue
        tested, p_value = _tested(reading, *in_blocks(before, now))
        p_values.append(p_value)
        if tested.difference >= max(least, (_GREW - 1) * before.mean()):
            grew[name] = (before.mean() + tested.difference + least) / (before.mean() + least), len(p_values) - 1
    corrected = holm(p_values)
    found = [name for name in sorted(grew, key=lambda each: -grew[each][0]) if corrected[grew[name][1]] < CHANCE]
    return {name: corrected[grew[name][1]] for name in found[:_MOST_FIGURES]}


def _tested(reading: Reading, usual: Blocks, slow: Blocks) -> tuple[Tested, float]:
    """Of one window, what the usual time does by itself is on both sides."""
    apart = reading.compared.usual.apart(reading.compared.slow)
    tested = compare(usual, slow, apart)
    is_drift = tested.is_drift and not reading.compared.is_of_one_window
    return tested, 1.0 if is_drift else tested.p_value


def _even(numbers: Numbers, amounts: Numbers) -> Blocks:
    """Blocks in which the largest twentieth of the means are as large as the next."""
    return np.column_stack([numbers, capped(amounts / np.maximum(numbers, 1e-9)) * numbers])


def _figure(name: str, both: tuple[Row, Row]) -> str:
    words, unit, _ = _FIGURES[name]
    usual, slow = (count(round(row[name], 1)) for row in both)
    return f"{words} {usual} → {slow}{unit}"
