"""What single transactions, much longer than all others of their side, carry of a difference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ....format import count, duration, plural, share
from ...queries import run
from ..answer import Singles
from ..durations import LONGEST_NS, Durations
from ..finding import Finding
from ..reading import Reading
from ..wording import short, signed

_MOSTLY = 0.5


def singles(reading: Reading, durations: Durations) -> Singles | None:
    """
    Read what they spent their time on; None when there are none worth speaking of.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    if durations.bound_ns == LONGEST_NS:
        return None
    rows = {bool(row["is_slow"]): row for row in run(reading.engine, "why/singles", **reading.params)}
    usual, slow = durations.usual, durations.slow
    is_about_slow = abs(slow.single_ns) >= abs(usual.single_ns)
    side, row = (slow, rows[True]) if is_about_slow else (usual, rows[False])
    most, part = _most(row, float(side.durations_ns.sum() - side.typical_ns.sum()))
    component, _, address = most.partition("\t")
    statement, time_ns = max(_numbers(row["by_statement"]).items(), key=lambda each: each[1], default=("", 0.0))
    tested = durations.singles
    return Singles(
        bound_ns=durations.bound_ns,
        usual=len(usual.durations_ns) - len(usual.typical_ns),
        slow=len(slow.durations_ns) - len(slow.typical_ns),
        usual_ns=usual.single_ns,
        slow_ns=slow.single_ns,
        part_ns=slow.single_ns - usual.single_ns,
        p_value=tested.p_value if tested else None,
        is_chance=tested is None or tested.is_chance,
        component=component,
        address=address,
        statement=statement if component.startswith("mysql.") and time_ns >= _MOSTLY * part else "",
        usual_traces=tuple(rows[False]["traces"]) if False in rows else (),
        slow_traces=tuple(rows[True]["traces"]) if True in rows else (),
    )


def finding(of: Singles, durations: Durations, difference_ns: float, reading: Reading, *, is_first: bool) -> Finding:
    """Say how many there are, what they carry, and where most of their time was spent."""
    usual_n, slow_n = len(durations.usual.durations_ns), len(durations.slow.durations_ns)
    number, whole, side, traces = of.slow, slow_n, durations.slow, of.slow_traces
    if not of.is_about_slow:
        number, whole, side, traces = of.usual, usual_n, durations.usual, of.usual_traces
    if not of.is_chance:
        words = f"{share(of.slow / slow_n)} of the transactions ({count(of.slow)} of {count(slow_n)}) take more than"
        words += f" {duration(of.bound_ns)}, instead of {share(of.usual / usual_n)}"
    else:
        words = "" if is_first else "Beside that, "
        words += f"{count(number)} of {plural(whole, 'transaction')} {'' if of.is_about_slow else 'of the usual time '}"
        words += f"{'takes' if number == 1 else 'take up to'} {duration(float(side.durations_ns.max()))}"
    words += f": {signed(of.part_ns)} of the {signed(difference_ns)}{_where(of)}"
    words += f" (walltime show {traces[0]})." if traces else "."
    numbers = {"usual_singles": of.usual, "slow_singles": of.slow, "usual_ns": of.usual_ns, "slow_ns": of.slow_ns}
    evidence = reading.evidence("singles", numbers, *traces)
    return Finding("single", words, of.part_ns, p_value=of.p_value, subject=of.component, evidence=evidence)


def _where(of: Singles) -> str:
    if not of.component:
        return ""
    where = "outside of measured calls" if of.component == "other" else of.component
    where += f" on {of.address}" if of.address else ""
    return f", mostly in {where}" + (f" (`{short(of.statement)}`)" if of.statement else "")


def _most(row: Mapping[str, Any], whole_ns: float) -> tuple[str, float]:
    """What took most of their time, and how much; empty when it is no good part of it."""
    parts = {**_numbers(row["by_target"]), "other": float(row["other_ns"])}
    name, time_ns = max(parts.items(), key=lambda each: each[1])
    return (name, time_ns) if time_ns >= _MOSTLY * whole_ns else ("", time_ns)


def _numbers(pairs: Any) -> dict[str, float]:
    """Of sumMap over two arrays: a pair of lists."""
    return dict(zip(pairs[0], map(float, pairs[1]), strict=True))
