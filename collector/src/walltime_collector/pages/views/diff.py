"""What is slower or faster beyond chance, of all kinds: two times, two versions or two conditions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from ...errors import NotStored
from ...format import LONGEST_SINCE_S
from ...query import kinds
from ...query.condition.values import quoted_value
from ...query.diff.answer import Diff
from ...query.diff.compare import diff
from ...query.diff.sides import sides
from ...query.scope import Filters, Scope
from ...query.windows import Window, written
from ..request import PageRequest
from .suggestions import suggestions

PARAMS = {"against_version": "", "when": "", "against_when": ""}
"""
As in /api/diff. The new side is the selection, or else `time`; the usual one is `against`, or else the longer part of
`time` beside the selection, or as much time before it. With `against_version`, the filter `version` is the new one.
"""
_MOST_KINDS = 100


@dataclass(frozen=True)
class DiffPage:
    """The view model."""

    is_first_start: bool
    """No transaction is stored at all."""
    answer: Diff | None
    """None where a side has no transaction."""
    problem: str
    what_now: str
    of_kind: Mapping[str, str]
    """Parameters of the page of a kind: its transactions of the new side,"""
    of_why: Mapping[str, str]
    """and the same comparison."""
    versions: tuple[str, ...]
    """Of the last hour, to choose from, in their order."""


def diff_of_kinds(request: PageRequest) -> DiffPage:
    """Answer the view."""
    usual, now = _sides(request)
    versions = tuple(sorted(suggestions(request).version, key=_version_order))
    of_kind, of_why = _of_kind(request, usual, now)
    try:
        answer = diff(request.engine, usual, now, request.now_ns, limit=_MOST_KINDS)
    except NotStored as error:
        is_first_start = not kinds.services(request.engine)
        return DiffPage(is_first_start, None, error.what, error.what_now, of_kind, of_why, versions)
    return DiffPage(False, answer, "", "", of_kind, of_why, versions)


def _version_order(version: str) -> list[tuple[int, str]]:
    """10.0 comes after 9.1."""
    return [(int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"(\d+)", version)]


def _versions(request: PageRequest) -> tuple[str, str]:
    """The usual one and the new one; both empty where versions are not compared."""
    usual = request.params["against_version"]
    return (usual, request.scope.filters.version) if usual else ("", "")


def _sides(request: PageRequest) -> tuple[Scope, Scope]:
    """
    Raises:
        BadParameter: The parameters contradict each other.
    """
    now, versions, when = request.selected.window, _versions(request), request.params["when"]
    against = request.params["against"]
    if not against and not any(versions) and not when and request.against:
        against = written(request.against)
    return sides(
        request.now_ns,
        replace(request.scope.filters, version="") if any(versions) else request.scope.filters,
        during=written(now),
        against=against,
        since=f"{min(-(-(now.end_ns - now.start_ns) // 10**9), LONGEST_SINCE_S)}s",
        versions=versions,
        when=when,
        against_when=request.params["against_when"],
    )


def _of_kind(request: PageRequest, usual: Scope, now: Scope) -> tuple[dict[str, str], dict[str, str]]:
    filters, versions, when = request.scope.filters, _versions(request), request.params["when"]
    of_kind = {"time": written(now.window), "during": "", "against": ""}
    if any(versions):
        both = Filters(where=filters.where).matching(f"version in ({', '.join(map(quoted_value, versions))})")
        new = f"version = {quoted_value(versions[1])}"
        return of_kind, {**of_kind, "version": "", "where": both.where, "when": new}
    if when:
        against_when = request.params["against_when"]
        both = filters.matching(f"({when}) or ({against_when})") if against_when else filters
        return {**of_kind, "where": now.filters.where}, {**of_kind, "where": both.where, "when": when}
    first, last = sorted((usual.window, now.window), key=lambda each: each.start_ns)
    whole = Window(first.start_ns, max(first.end_ns, last.end_ns))
    return of_kind, {"time": written(whole), "during": written(now.window), "against": written(usual.window)}
