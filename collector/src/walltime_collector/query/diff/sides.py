"""Reads what `diff` compares: two windows, two versions, or two conditions."""

from __future__ import annotations

from dataclasses import replace

from ...errors import BadParameter
from ..scope import Filters, Scope
from ..windows import Window, comparison, window

DEFAULT_DURING = "last 15m"


def sides(
    now_ns: int,
    filters: Filters,
    *,
    during: str = "",
    against: str = "",
    since: str = "1h",
    versions: tuple[str, str] = ("", ""),
    when: str = "",
    against_when: str = "",
) -> tuple[Scope, Scope]:
    """
    The usual side, and the one that is compared with it.

    Args:
        filters: Of both sides.
        during: The window that is compared with `against`, or with the time `since` before it. Two versions or two
            conditions are compared in this window, or in the last `since`.
        versions: The usual one, and the other.
        when: A condition, compared with `against_when`, or with all others.

    Raises:
        BadParameter: One of them cannot be understood, or they contradict each other.
    """
    filters.check()
    if against_when and not when:
        raise BadParameter("against_when", "it is what to compare with, but not what", "add the condition `when`")
    if not any(versions) and not when:
        compared = comparison(now_ns, during=during or DEFAULT_DURING, against=against, since=since)
        return Scope(compared.usual, filters), Scope(compared.slow, filters)
    if any(versions) and when:
        raise BadParameter("when", "either versions or conditions are compared", "leave out one of them")
    if against:
        raise BadParameter("against", "versions and conditions are compared in one window", "use during alone")
    both = window("during", during, now_ns) if during else window("since", f"last {since}", now_ns)
    if when:
        return _limited(both, filters, against_when or f"not ({when})"), _limited(both, filters, when)
    if not all(versions) or versions[0] == versions[1]:
        raise BadParameter("version", "two different versions are needed", "write the usual one first")
    return Scope(both, replace(filters, version=versions[0])), Scope(both, replace(filters, version=versions[1]))


def _limited(both: Window, filters: Filters, condition: str) -> Scope:
    Filters(where=condition).check()  # alone, for the position in its error
    limited = filters.matching(condition)
    limited.check()
    return Scope(both, limited)
