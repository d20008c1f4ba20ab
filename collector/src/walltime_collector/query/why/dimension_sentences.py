"""Writes which hosts, users and other values explain a difference, as sentences."""

from __future__ import annotations

from collections.abc import Sequence

from ...format import duration, percent, plural
from .answer import Dimension
from .dimensions import CALLED
from .wording import as_long, joined, label, lift, means, signed

_PREPOSITIONS = {"host": "On", "instance": "On", "environment": "In", "user": "For"}
_AS_USUAL = 1.1
_COUNTED = {"host": "hosts", "version": "versions", "environment": "environments", "instance": "instances"}


def of_dimensions(dimensions: Sequence[Dimension], difference_ns: float, part: str, *, without: str = "") -> list[str]:
    """
    A sentence for each value of who sent or served the transactions.

    Args:
        part: `of the slowest`, when a part of a time is compared with the rest.
        without: A dimension that other sentences are about.
    """
    named = [each for each in dimensions if each.dimension not in (*CALLED, without)]
    return [
        f"{_of_part(each, difference_ns, part) if part else _of_windows(each, difference_ns)}.{_same(each)}"
        for each in named
    ]


def _of_part(each: Dimension, difference_ns: float, part: str) -> str:
    words = f"{_where(each)}: {percent(each.slow_share)} {part}, {percent(each.usual_share)} of the others"
    if each.lift is not None:
        words += f" (lift {lift(each)})"
    return f"{words}: {_part(each, difference_ns)}"


def _of_windows(each: Dimension, difference_ns: float) -> str:
    if each.slow_rest_mean_ns is None or each.slow_mean_ns is None:
        return f"All have {label(each)}, which {percent(each.usual_share) if each.usual_share else 'none'} had before"
    if each.usual_mean_ns is None or each.usual_rest_mean_ns is None:
        pace = as_long(each.slow_mean_ns / each.slow_rest_mean_ns)
        words = f"{_where(each)}, new with {percent(each.slow_share)} of the transactions: {pace}"
        return f"{words} as the others ({_apart(each)}), {_part(each, difference_ns)}"
    if abs(each.more_ns) > abs(each.slower_ns):
        pace = as_long(each.usual_mean_ns / each.usual_rest_mean_ns)
        words = f"More of {label(each)}: {percent(each.slow_share)} of the transactions instead of"
        words += f" {percent(each.usual_share)}, which usually take {pace} as the others"
        return f"{words}, {_part(each, difference_ns)}"
    rest = each.slow_rest_mean_ns / each.usual_rest_mean_ns
    is_usual = 1 / _AS_USUAL < rest < _AS_USUAL
    pace = as_long(each.slow_mean_ns / each.usual_mean_ns)
    words = f"{_where(each)} {'only' if is_usual else 'mostly'}: {pace} ({means(each)}), {_part(each, difference_ns)}"
    others = "the others"
    if each.dimension in _COUNTED and each.values > 1:
        noun = _COUNTED[each.dimension]
        others = f"the other {plural(each.values - 1, noun[:-1], noun).removeprefix('1 ')}"
    verb = "is" if others.endswith(each.dimension) else "are"
    return f"{words}; {others} {f'{verb} as usual' if is_usual else f'{as_long(rest)}'}"


def _where(each: Dimension) -> str:
    value = each.value if each.dimension == "host" else label(each)
    return f"{_PREPOSITIONS.get(each.dimension, 'With')} {value}"


def _apart(each: Dimension) -> str:
    return f"{duration(each.slow_mean_ns or 0)} and {duration(each.slow_rest_mean_ns or 0)}"


def _part(each: Dimension, difference_ns: float) -> str:
    return f"{signed(each.more_ns + each.slower_ns)} of the {signed(difference_ns)}"


def _same(each: Dimension) -> str:
    return f" These are also the transactions with {joined(each.same)}." if each.same else ""
