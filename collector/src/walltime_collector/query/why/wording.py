"""Which parts of the answer are shown, and the texts of their columns, for the command and the page alike."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ...format import count, duration, percent, plural, ratio
from ..statistics import SUPPORT
from .answer import Contribution, Cost, Dimension, Why
from .cause import LOOKUPS, SQL

SMALLEST_SHOWN = 0.01
"""Contributions below this fraction of the largest are summed in one row."""
_SELECT_LIST = re.compile(r"^(\s*SELECT\s).*?(\sFROM\s)", re.IGNORECASE | re.DOTALL)
_LONGEST_STATEMENT = 90
_FEWEST_ERRORS = 3
_LOST = 0.05


def worth_showing(components: Sequence[Contribution]) -> tuple[list[Contribution], list[Contribution]]:
    """The contributions that are shown one by one, and the rest."""
    largest = max((abs(each.difference_ns) for each in components), default=0.0)
    shown = [each for each in components if abs(each.difference_ns) >= SMALLEST_SHOWN * largest]
    rest = [each for each in components if each not in shown]
    return shown, rest if abs(sum(each.difference_ns for each in rest)) >= 1 else []


def targets_worth_showing(why: Why) -> list[Contribution]:
    """The servers of these components, and caches that miss, in the order of the components."""
    names = [each.component for each in worth_showing(why.components)[0]]
    # a cache lookup can cost little itself and be the cause of the rest
    missing = {each.component for each in why.targets if each.usual.misses or each.slow.misses}
    names += [lookup for lookup in LOOKUPS if lookup in missing and lookup not in names]
    chosen = [each for each in why.targets if each.component in names]
    return sorted(chosen, key=lambda each: (names.index(each.component), -abs(each.difference_ns)))


def statements_worth_showing(why: Why) -> tuple[Contribution, ...]:
    """The statements, when one of these components sends them."""
    shown, _ = worth_showing(why.components)
    return why.statements if any(each.component in SQL for each in shown) else ()


def calls(each: Contribution) -> str:
    """Calls per transaction: `2 → 5.8`."""
    if not (each.usual.calls or each.slow.calls):
        return ""
    return _arrow(*(number(side.calls_per_transaction) for side in (each.usual, each.slow)))


def per_call(each: Contribution) -> str:
    """Time per call: `3.06 ms → 3.10 ms`."""
    if not (each.usual.calls or each.slow.calls):
        return ""
    return _arrow(*map(_duration, (each.usual.per_call_ns, each.slow.per_call_ns)))


def per_transaction(each: Contribution) -> str:
    """Time per transaction: `6.12 ms → 17.9 ms`."""
    return _arrow(duration(each.usual.mean_ns), duration(each.slow.mean_ns))


def hits(each: Contribution) -> str:
    """Hit ratios: `100 % → 56 %`; empty for what has no hits and misses."""
    if not any((each.usual.hits, each.usual.misses, each.slow.hits, each.slow.misses)):
        return ""
    return f"{_hit_ratio(each.usual)} → {_hit_ratio(each.slow)}"


def loses_lookups(each: Contribution) -> bool:
    """The hit ratio fell by 5 points or more."""
    sides = [(side.hits, side.hits + side.misses) for side in (each.usual, each.slow)]
    return all(whole for _, whole in sides) and sides[0][0] / sides[0][1] - sides[1][0] / sides[1][1] >= _LOST


def failures(each: Contribution) -> str:
    """Failed calls: `0 % → 12 %`; empty when there are hardly any."""
    usual, slow = each.usual, each.slow
    if max(usual.errors, slow.errors) < _FEWEST_ERRORS:
        return ""
    return f"{_ratio(usual.errors, usual.calls)} → {_ratio(slow.errors, slow.calls)}"


def label(each: Dimension) -> str:
    """A value with its dimension: `host web-2`, `tenant=a`."""
    return each.value if each.dimension == "annotation" else f"{each.dimension} {each.value}"


def shares(each: Dimension) -> str:
    """Of the transactions that have the value: `2.1 % → 31 %`."""
    return _arrow(percent(each.usual_share), percent(each.slow_share))


def lift(each: Dimension) -> str:
    """`1.8`; `new` where no usual transaction has the value."""
    return "new" if each.lift is None else f"{each.lift:,.{1 if each.lift < 9.95 else 0}f}"


def means(each: Dimension) -> str:
    """Mean time of those with the value: `8.90 ms → 18.7 ms`."""
    return _arrow(*map(_duration, (each.usual_mean_ns, each.slow_mean_ns)))


def rest_means(each: Dimension) -> str:
    """The same of those without it."""
    return _arrow(*map(_duration, (each.usual_rest_mean_ns, each.slow_rest_mean_ns)))


def looked_at(why: Why) -> str:
    """`57 values with 20 transactions or more`."""
    return f"{plural(why.looked_at, 'value')} with {SUPPORT} transactions or more"


def sampling(why: Why, usual: str, slow: str) -> str:
    """
    Which part of the transactions is compared; empty when it is all of them.

    Args:
        usual: What the two populations are called.
    """
    if why.sampled is None:
        return ""
    sides = (
        (slow, why.sampled.slow_of, why.sampled.slow_error),
        (usual, why.sampled.usual_of, why.sampled.usual_error),
    )
    parts = [f"one in {count(one_in)} of the {name}" for name, one_in, _ in sides if one_in > 1]
    errors = [f"± {percent(float(f'{error:.2g}'))} ({name})" for name, _, error in sides if error is not None]
    return f"These are a sample: {', '.join(parts)}. Their means are those of all {joined(errors)}."


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


def _arrow(before: str, now: str) -> str:
    return before if before == now else f"{before} → {now}"


def _duration(ns: float | None) -> str:
    return "–" if ns is None else duration(ns)


def _hit_ratio(cost: Cost) -> str:
    return _ratio(cost.hits, cost.hits + cost.misses)


def _ratio(part: int, whole: int) -> str:
    return ratio(part, whole) if whole else "–"
