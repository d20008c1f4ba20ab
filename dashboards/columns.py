"""How a column of a table looks, by its name alone: unit, width, colour, where a click leads. One name, one meaning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any

from . import links
from .colours import FAILED, WARNING
from .inter import text_px

_FIRST_8 = {"type": "regex", "options": {"pattern": "/^(.{8}).*$/", "result": {"text": "$1", "index": 0}}}
_BAD_NEWS = {"type": "regex", "options": {"pattern": "/^Not? /", "result": {"color": WARNING, "index": 0}}}


HEADING_PADDING_PX = 18


@dataclass(frozen=True)
class Column:
    """
    The width of its values in pixels, and its properties in Grafana's words.

    The column is as wide as its heading at least; a flexible one takes the room that is left.
    """

    width: int
    unit: str = ""
    decimals: int | None = None
    is_flexible: bool = False
    more: Mapping[str, Any] = field(default_factory=dict)

    def properties(self, name: str) -> list[dict[str, Any]]:
        """As an override of Grafana's, of the column of this name."""
        width = max(self.width, ceil(text_px(name) + HEADING_PADDING_PX))
        known = {
            "custom.minWidth" if self.is_flexible else "custom.width": width,
            **({"unit": self.unit} if self.unit else {}),
            **({} if self.decimals is None else {"decimals": self.decimals}),
            **self.more,
        }
        return [{"id": name, "value": value} for name, value in known.items()]

    def with_more(self, **more: Any) -> Column:
        """The same with these properties as well."""
        return replace(self, more={**self.more, **more})


def _coloured(steps: Sequence[tuple[float, str]]) -> dict[str, Any]:
    """The text in a colour from each of these values on."""
    first = [{"color": "text", "value": None}]
    return {
        "thresholds": {"mode": "absolute", "steps": first + [{"color": c, "value": v} for v, c in steps]},
        "color": {"mode": "thresholds"},
        "custom.cellOptions": {"type": "color-text"},
    }


def _by_word(**colours: str) -> dict[str, Any]:
    """The text in a colour, by what it is."""
    options = {word: {"color": colour, "index": at} for at, (word, colour) in enumerate(colours.items())}
    return {"mappings": [{"type": "value", "options": options}], "custom.cellOptions": {"type": "color-text"}}


_TEXT = Column(95)
_REST = Column(130, is_flexible=True)
_LONG = Column(200, is_flexible=True, more={"custom.inspect": True})
_NS = Column(84, "ns")
"""Grafana writes three digits and the unit that fits: 87.3 µs, 462 ms, 1.23 s."""
_COUNT = Column(68, "locale", 0)
"""With all of its digits: 3,460."""
_LARGE_COUNT = Column(86, "locale", 0)
_MEAN = Column(86, "none")
"""A mean of counts, with three digits: 0.000391, 2.50, 3460."""
_CODE = Column(72, "none")
"""A number that counts nothing: a status, an error number, an id."""
_SHARE = Column(94, "percentunit")
_BAD_COUNT = Column(68, "locale", 0, more=_coloured([(1, FAILED)]))
_BAD_SHARE = Column(94, "percentunit", more=_coloured([(0.001, FAILED)]))
"""With three digits, so that 1 of 53,949 is not 0; red from 0.1 % on."""
_CHANGE = Column(82, "percentunit", 0, more=_coloured([(0.25, WARNING), (1, FAILED)]))
_MOMENT = Column(122, "time:MM-DD HH:mm:ss")
_TRACE = Column(96, more={"links": [links.to_transaction()], "mappings": [_FIRST_8]})
"""The cell shows 8 of 32 digits, the link has all."""
_PICTURE = {"custom.cellOptions": {"type": "image"}, "custom.filterable": False}
_SENTENCE = _REST.with_more(mappings=[_BAD_NEWS], **{"custom.cellOptions": {"type": "color-text"}})
"""One that begins with "No" or "Not" is orange."""
_HIDDEN = Column(0, more={"custom.hidden": True, "custom.hideFrom": {"legend": False, "tooltip": False, "viz": True}})
"""Grafana 12.2 and later read the second one."""
BAR = 150
"""The width of a bar; queries/_bar.sql draws it as wide."""


def _all_of(column: Column, *names: str) -> dict[str, Column]:
    return dict.fromkeys(names, column)


COLUMNS: Mapping[str, Column] = {
    "service": Column(100, more={"links": [links.to_service()]}),
    "kind": Column(160, is_flexible=True, more={"links": [links.to_kind()]}),
    **_all_of(_TEXT, "host", "version", "environment", "user", "error", "family", "calls kept", "state"),
    **_all_of(_TEXT, "event", "answer", "answers"),
    "severity": Column(72, more=_by_word(critical=FAILED, warning=WARNING)),
    **_all_of(_REST, "component", "server", "line", "called", "name", "how", "sent by"),
    **_all_of(_REST, "waited for", "held by", "prefix"),
    **_all_of(_LONG, "what happened", "holder statement", "request"),
    "statement": _LONG.with_more(links=[links.to_statement()]),
    # durations
    **_all_of(_NS, "mean", "p50", "p95", "p99", "took", "time", "longest", "before", "after", "day before", "lag"),
    **_all_of(_NS, "per transaction", "per call", "per query", "per get"),
    **_all_of(_NS, "mysql", "memcache", "redis", "http", "python", "framework", "application", "view", "other"),
    **_all_of(_NS, "cpu", "cpu wait", "queue", "lock wait", "row lock", "likely row lock", "io wait"),
    **_all_of(_NS, "waited", "idle", "up", "in locks", "row locks", "at server", "per request", "per connect"),
    # counts and means
    **_all_of(_COUNT, "calls", "misses", "hits", "queries", "changed", "kinds", "lines", "samples", "sent"),
    **_all_of(_COUNT, "received", "waiting", "kinds that call it"),
    **_all_of(_LARGE_COUNT, "transactions", "calls made", "examined"),
    **_all_of(_MEAN, "per second", "calls each", "calls before", "calls of a sender", "calls per transaction"),
    **_all_of(_MEAN, "queries per transaction", "connects per transaction", "gets per transaction"),
    **_all_of(_MEAN, "misses per transaction", "examined each"),
    **_all_of(_MEAN, "load", "running", "connects", "again", "evicted"),
    **_all_of(_BAD_COUNT, "errors", "open", "deadlocks", "lock timeouts"),
    # shares
    **_all_of(_SHARE, "share", "hit ratio", "full scans", "that send it", "used", "of all", "from disk"),
    "failed": _BAD_SHARE,
    **_all_of(_CHANGE, "change", "p95 change"),
    # times, ids
    **_all_of(_MOMENT, "started", "ended", "last seen", "first seen", "since"),
    "at": Column(85, "time:HH:mm:ss"),
    **_all_of(_CODE, "status", "errno", "connection"),
    **_all_of(_TRACE, "trace", "slowest", "example", "kept", "holder"),
    # pictures
    **_all_of(Column(BAR + 20, more=_PICTURE), "time by family", "time by state"),
    **_all_of(_SENTENCE, "sentence", "health"),
    "last began": Column(270, "time:[The last one began] MMM D, HH:mm:ss"),
    **_all_of(_HIDDEN, "id", "fingerprint"),
    # of one transaction
    **_all_of(_LONG, "call", "value"),
    "in time": Column(320, more=_PICTURE),
    "result": Column(90),
    **_all_of(_NS, "disk", "at server", "network"),
    "began": Column(220, "time:[It began] MMM D, HH:mm:ss"),
    # of incidents
    **_all_of(_NS, "lasted", "not as usual"),
    "last began at": _MOMENT,
    **_all_of(Column(90), "usual", "now", "worst"),
    "measure": _REST,
    "incidents": _COUNT,
    # of two times
    "verdict": Column(66, more=_by_word(new=WARNING, gone=WARNING)),
    **_all_of(_NS, "mean before", "p95 before", "more time", "difference"),
    # of targets
    "alert": Column(60, more=_by_word(page=FAILED, ticket=WARNING)),
    **_all_of(Column(76, "none", 2, more=_coloured([(1, WARNING), (6, FAILED)])), "1 h", "6 h", "3 d"),
    "too slow": _BAD_SHARE,
    "good": replace(_SHARE, decimals=3, width=88),
    # of collectors
    **_all_of(_LARGE_COUNT, "rows", "stored"),
    **_all_of(_COUNT, "parts", "number", "refused", "days kept"),
    **_all_of(_BAD_COUNT, "rejected", "dead", "lost"),
    "longest lag": _NS,
    **_all_of(Column(84, "bytes"), "size", "per row"),
    "in other": _SHARE,
    **_all_of(_BAD_SHARE, "no route", "too many names"),
}


def overrides(names: Sequence[str], special: Mapping[str, Column]) -> list[dict[str, Any]]:
    """The looks of these columns of one table; `special` has those that are not as usual."""
    looks = {name: (special.get(name) or COLUMNS[name]).properties(name) for name in names}
    return [{"matcher": {"id": "byName", "options": name}, "properties": look} for name, look in looks.items()]
