"""What is shown of an answer, for the command, the page and programs alike: its rows, and the texts in them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Literal

from ...format import count, duration, percent, plural, ratio, share
from ..components import LOOKUPS, SQL
from ..statistics import SUPPORT
from .answer import Contribution, Why
from .rows import Row, Shown, Table
from .values import Dimension, Mix

_MOST_PARTS = 8
_SMALLEST_PART = 0.03
"""Of the largest; smaller ones are one row together."""
_NOTHING_NS = 1.0
_MOST_STATEMENTS = 8
PARTS = "where the difference comes from"
_HEADINGS = {
    PARTS: ("difference", "more calls", "slower calls", "calls", "per call", "per transaction"),
    "by dimension": ("explains", "share", "lift", "mean", "the others"),
    "by": ("difference", "share", "mean", "mix", "like with like"),
    "by server": ("server", "difference", "calls", "per call", "hits", "failed calls"),
    "by statement": ("difference", "calls", "per call"),
}
_SELECT_LIST = re.compile(r"^(\s*SELECT\s).*?(\sFROM\s)", re.IGNORECASE | re.DOTALL)
_LONGEST_STATEMENT = 90
_VISIBLE = 0.005
_CUT, _TOLD = 2.0, 0.05
_FEWEST_ERRORS = 3
_LOST = 0.05


def shown(why: Why) -> Shown:
    """The names of the two groups, how sure the difference is, and all rows."""
    usual = "usual" if why.slowest_percent is None and not why.when else "the others"
    slow = "those that match" if why.when else "selected" if why.slowest_percent is None else "the slowest"
    names = [each.component for each in worth_showing(why.components)[0]]
    # a cache lookup can cost little itself and be the cause of the rest
    missing = {each.component for each in why.targets if each.usual.misses or each.slow.misses}
    names += [each for each in LOOKUPS if each in missing and each not in names]
    targets = [each for name in names for each in why.targets if each.component == name]
    statements = _largest(why.statements, _MOST_STATEMENTS) if set(SQL) & set(names) else []
    left_out = len(why.statements) - len(statements)
    differ_less = f"{plural(left_out, 'more statement')} differ less" if left_out else ""
    looked_at = f"beyond chance among {plural(why.looked_at, 'value')} with {SUPPORT} transactions or more"
    tables = (
        _table("by dimension", map(_value, why.dimensions), looked_at),
        replace(_table("by", _strata(why.mix)), title=f"by {_mixed(why.mix)}"),
        _table("by server", (_cost("server", each) for each in targets)),
        _table("by statement", (_cost("statement", each) for each in statements), differ_less),
    )
    parts = _table(PARTS, _parts(why, usual, slow))
    return Shown(usual, slow, tuple(_notes(why, usual, slow)), parts, tuple(each for each in tables if each.rows))


def worth_showing(components: Sequence[Contribution]) -> tuple[list[Contribution], list[Contribution]]:
    """The contributions that are shown one by one, and those that are one row together."""
    large = _largest(components, _MOST_PARTS)
    small = [each for each in components if each not in large and abs(each.difference_ns) >= _NOTHING_NS]
    return (large, small) if len(small) > 1 else (large + small, [])


def calls(each: Contribution) -> str:
    """Calls per transaction: `2 → 5.8`; empty without any."""
    means = (number(side.calls_per_transaction) for side in (each.usual, each.slow))
    return _arrow(*means) if each.usual.calls or each.slow.calls else ""


def per_call(each: Contribution) -> str:
    """Time per call: `3.06 ms → 3.10 ms`; empty without calls."""
    return _change(each.usual.per_call_ns, each.slow.per_call_ns) if each.usual.calls or each.slow.calls else ""


def label(each: Dimension) -> str:
    """A value with its dimension: `host web-2`, `tenant=a`."""
    return each.value if each.dimension == "annotation" else f"{each.dimension} {each.value}"


def lift(each: Dimension) -> str:
    """`1.8`; `new` where no usual transaction has the value."""
    return "new" if each.lift is None else f"{each.lift:,.{1 if each.lift < 9.95 else 0}f}"


def means(each: Dimension) -> str:
    """Mean time of those with the value: `8.90 ms → 18.7 ms`."""
    return _change(each.usual_mean_ns, each.slow_mean_ns)


def signed(ns: float) -> str:
    """A difference: `+9.30 ms`, `−120 µs`."""
    return duration(ns) if ns <= 0 else f"+{duration(ns)}"


def as_long(factor: float) -> str:
    """A factor of time in a sentence: `2.1× as long`, `40 % of the time`."""
    return f"{times(factor)} as long" if factor > 1 else f"{percent(round(factor, 2))} of the time"


def times(factor: float) -> str:
    """`2.1×`."""
    return f"{factor:,.{1 if factor < 9.95 else 0}f}×"


def joined(parts: Iterable[str]) -> str:
    """A list in a sentence: `a, b and c`."""
    listed = list(parts)
    return listed[0] if len(listed) == 1 else f"{', '.join(listed[:-1])} and {listed[-1]}"


def number(number: float) -> str:
    """A mean number of calls."""
    return count(round(number, 1) if number >= 0.1 else number)


def short(statement: str) -> str:
    """A statement on one line: without its list of columns, at most 90 characters."""
    words = " ".join(_SELECT_LIST.sub(r"\1…\2", statement).split())
    return words if len(words) <= _LONGEST_STATEMENT else f"{words[: _LONGEST_STATEMENT - 1]}…"


def _largest(several: Sequence[Contribution], most: int) -> list[Contribution]:
    least_ns = max((_SMALLEST_PART * abs(each.difference_ns) for each in several), default=0.0)
    return [each for each in several if abs(each.difference_ns) >= max(least_ns, _NOTHING_NS)][:most]


def _notes(why: Why, usual: str, slow: str) -> Iterator[str]:
    """How sure the difference is, and which part of the transactions is compared."""
    if why.slowest_percent is not None:
        yield f"The slowest took {duration(why.threshold_ns)} or more, the others less."
    elif why.low_ns is not None and why.high_ns is not None:
        typically = "Without single transactions, " if why.singles else ""
        yield f"{typically}95 % sure: between {signed(why.low_ns)} and {signed(why.high_ns)}."
    if of := why.sampled:
        sides = (
            (slow.removeprefix("the "), of.slow_of, of.slow_error),
            (usual.removeprefix("the "), of.usual_of, of.usual_error),
        )
        parts = [f"one in {count(one_in)} of the {name}" for name, one_in, _ in sides if one_in > 1]
        errors = [f"± {percent(float(f'{error:.2g}'))} ({name})" for name, _, error in sides if error is not None]
        yield f"These are a sample: {', '.join(parts)}. Their means are those of all {joined(errors)}."


def _table(title: str, rows: Iterable[Row], note: str = "") -> Table:
    """Without the columns, and the cells, in which there is nothing."""
    full = []
    for each in rows:
        cells = {"difference": signed(each.difference_ns), **each.cells}
        full.append(replace(each, cells={name: cells[name] for name in _HEADINGS[title] if cells.get(name)}))
    headings = tuple(name for name in _HEADINGS[title] if any(name in each.cells for each in full))
    return Table(title, headings, tuple(full), note)


def _parts(why: Why, usual: str, slow: str) -> Iterator[Row]:
    """From the usual mean to the slow one; the parts between them add up to the difference."""
    yield Row("mean", usual, {"difference": "", "per transaction": duration(why.usual.mean_ns)})
    if why.mix:
        name = f"mix of {_mixed(why.mix)}{'es' if _mixed(why.mix).endswith('s') else 's'}"
        yield Row("mix", name, {}, why.mix.part_ns, dimension=why.mix.dimension)
    large, small = worth_showing(why.components)
    for each in large:
        yield _cost("component", each)
    if small:
        names, rest_ns = tuple(each.component for each in small), sum(each.difference_ns for each in small)
        yield Row("folded", plural(len(small), "smaller part"), {}, rest_ns, also=names)
    if one := why.singles:
        name = plural(one.usual + one.slow, "single transaction")
        is_cut = abs(one.part_ns) > _CUT * abs(why.typical_ns) and abs(why.typical_ns) >= _TOLD * why.usual.mean_ns
        yield Row("single", name, {}, one.part_ns, also=one.slow_traces or one.usual_traces, is_cut=is_cut)
    yield Row("mean", slow, {"per transaction": duration(why.slow.mean_ns)}, why.difference_ns)


def _cost(about: Literal["component", "server", "statement"], each: Contribution) -> Row:
    usual, slow, name = each.usual, each.slow, short(each.statement) or each.component
    lookups = [side.hits + side.misses for side in (usual, slow)]
    is_losing = all(lookups) and usual.hits / lookups[0] - slow.hits / lookups[1] >= _LOST
    is_failing = max(usual.errors, slow.errors) >= _FEWEST_ERRORS
    split = {"more calls": each.more_ns, "slower calls": each.slower_ns}
    cells = {
        "server": each.address,
        **{name: signed(ns) for name, ns in split.items() if abs(ns) >= _VISIBLE * abs(each.difference_ns)},
        "calls": calls(each),
        "per call": per_call(each),
        "per transaction": _change(usual.mean_ns, slow.mean_ns),
        "hits": _ratios(usual.hits, lookups[0], slow.hits, lookups[1]),
        "failed calls": _ratios(usual.errors, usual.calls, slow.errors, slow.calls) if is_failing else "",
    }
    faults = ("hits",) * is_losing + ("failed calls",) * is_failing
    parts_ns = (each.difference_ns, each.more_ns, each.slower_ns)
    return Row(about, name, cells, *parts_ns, each.component, each.address, each.statement, faults=faults)


def _value(each: Dimension) -> Row:
    explained_ns = each.more_ns + each.slower_ns
    cells = {
        "explains": signed(explained_ns),
        "share": _arrow(percent(each.usual_share), percent(each.slow_share)),
        "lift": lift(each),
        "mean": means(each),
        "the others": _change(each.usual_rest_mean_ns, each.slow_rest_mean_ns),
    }
    row = Row("value", label(each), cells, explained_ns, each.more_ns, each.slower_ns, also=each.same)
    return replace(row, dimension=each.dimension, value=each.value)


def _strata(mix: Mix | None) -> Iterator[Row]:
    for each in mix.strata if mix else ():
        cells = {
            "share": f"{share(each.usual_share)} → {share(each.slow_share)}",
            "mean": _change(each.usual_mean_ns, each.slow_mean_ns),
            "mix": signed(each.mix_ns),
            "like with like": signed(each.like_with_like_ns),
        }
        if each.usual_transactions or each.slow_transactions:
            yield Row("stratum", each.value or "the others", cells, each.mix_ns + each.like_with_like_ns)


def _mixed(mix: Mix | None) -> str:
    """`status`, `error type`, and of an annotation its key."""
    return mix.dimension.removeprefix("annotation.").replace("error.type", "error type") if mix else ""


def _arrow(before: str, now: str) -> str:
    return before if before == now else f"{before} → {now}"


def _change(before_ns: float | None, now_ns: float | None) -> str:
    return _arrow(*("–" if ns is None else duration(ns) for ns in (before_ns, now_ns)))


def _ratios(usual: int, of_usual: int, slow: int, of_slow: int) -> str:
    sides = [ratio(part, whole) if whole else "–" for part, whole in ((usual, of_usual), (slow, of_slow))]
    return " → ".join(sides) if of_usual or of_slow else ""
