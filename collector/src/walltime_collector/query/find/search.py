"""Searches transactions: first the ids of one page, then the bills of these."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ...clickhouse.engine import Engine
from ...conversion import from_row
from ...errors import BadParameter
from ...format import iso_time, quoted
from ..components import counters_by_component
from ..condition.fields import STARTED
from ..condition.parse import sort_field
from ..queries import Row, run
from ..scope import Filters, Scope
from ..windows import Window
from .answer import Match, Matches, Part

NEWEST = STARTED.name
"""The order by the start, the newest first. All other orders are by a field of conditions, the largest first."""
_FIRST_STEP_NS = 60 * 10**9
_GROWTH = 4
_LONGEST_NS = 86_400 * 10**9
"""Of a transaction that `ended` returns."""
_KEY = re.compile(r"(\d{1,19})-(\d{1,19})-(-?\d{1,19})-(\d{1,19})-([0-9a-f]{16})", re.ASCII)


@dataclass(frozen=True)
class _Key:
    """The last transaction of the page before, and the window of that page: that of `find` stays the same."""

    window: Window
    value: int
    started_ns: int
    span: str

    @classmethod
    def read(cls, text: str) -> _Key:
        match = _KEY.fullmatch(text)
        if match is None:
            raise BadParameter("after", f"{quoted(text)} is not a key", "use `next` of the page before")
        start_ns, end_ns, value, started_ns = map(int, match.groups()[:4])
        return cls(Window(start_ns, end_ns), value, started_ns, match[5])

    def __str__(self) -> str:
        return f"{self.window.start_ns}-{self.window.end_ns}-{self.value}-{self.started_ns}-{self.span}"


def find(engine: Engine, scope: Scope, *, sort: str = NEWEST, limit: int = 50, after: str = "") -> Matches:
    """
    One page of the transactions of a scope.

    Args:
        sort: NEWEST, or a field of conditions that is a number; by `lock.time`, those that waited.
        after: `next` of the page before, whose window replaces that of the scope.

    Raises:
        BadParameter: `sort` or `after` is not valid.
        EngineUnavailable, QueryFailed: No answer.
    """
    key = _Key.read(after) if after else None
    scope = replace(scope, window=key.window) if key else scope
    if sort_field(sort).type == "locks":
        scope = replace(scope, filters=scope.filters.matching("lock.time > 0"))
    rows: list[Row] = []
    for part in _parts(scope.window, key) if sort == NEWEST else (scope.window,):
        rows += run(
            engine,
            "find/ids",
            **replace(scope, window=part).parameters(),
            sort=sort,
            after_value=key.value if key else 0,
            after_started_ns=key.started_ns if key else 0,
            after_span=key.span if key else "",
            limit=limit + 1 - len(rows),
        )
        if len(rows) > limit:
            break
    return _page(engine, scope.window, sort, rows, limit)


def ended(engine: Engine, filters: Filters, *, within_s: int, now_ns: int, limit: int, after: str = "") -> Matches:
    """
    The transactions that ended in the last `within_s` seconds and took at most a day, the earliest end first.

    Raises:
        BadParameter: `after` is not `next` of such a page.
        EngineUnavailable, QueryFailed: No answer.
    """
    key, from_ns = _Key.read(after) if after else None, now_ns - within_s * 10**9
    scope = Scope(Window(from_ns - _LONGEST_NS, now_ns + _LONGEST_NS), filters)
    from_key, span = (key.value, key.span) if key else (from_ns, "")
    rows = run(engine, "find/ended", **scope.parameters(), ended_from_ns=from_key, after_span=span, limit=limit + 1)
    return _page(engine, Window(from_ns, now_ns), "end", rows, limit)


def _parts(window: Window, key: _Key | None) -> Iterator[Window]:
    """The window in parts, the newest first, each longer than the one before: most pages need only the first."""
    end_ns, step_ns = key.started_ns + 1 if key else window.end_ns, _FIRST_STEP_NS
    while end_ns > window.start_ns:
        start_ns = max(end_ns - step_ns, window.start_ns)
        yield Window(start_ns, end_ns)
        end_ns, step_ns = start_ns, step_ns * _GROWTH


def _page(engine: Engine, window: Window, sort: str, rows: Sequence[Row], limit: int) -> Matches:
    """The first `limit` of these; with more, there is a next page."""
    last = rows[limit - 1] if len(rows) > limit else None
    next_key = str(_Key(window, last["sorted_by"], last["started_ns"], last["span"])) if last else ""
    return Matches(iso_time(window.start_ns), iso_time(window.end_ns), sort, _matches(engine, rows[:limit]), next_key)


def _matches(engine: Engine, ids: Sequence[Row]) -> tuple[Match, ...]:
    """The transactions with these ids, in their order."""
    if not ids:
        return ()
    rows = run(
        engine,
        "find/rows",
        services=[row["service"] for row in ids],
        names=[row["name"] for row in ids],
        started_ns=[row["started_ns"] for row in ids],
        spans=[row["span"] for row in ids],
    )
    by_id = {(row["trace"], row["span"]): row for row in rows}
    pairs = ((each, by_id.get((each["trace"], each["span"]))) for each in ids)
    return tuple(_match(row, each["sorted_by"]) for each, row in pairs if row is not None)


def _match(row: Row, sort_value: int) -> Match:
    return from_row(
        Match,
        row,
        trace_id=row["trace"],
        span_id=row["span"],
        started_at=iso_time(row["started_ns"]),
        sort_value=sort_value,
        components=tuple(from_row(Part, each, name=name) for name, each in counters_by_component(row).items()),
    )
