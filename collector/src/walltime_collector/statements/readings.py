"""
Reads a SQL text in every way a MySQL or MariaDB server may read it, and says what is a literal in any of them.

The ways differ by sql_mode (NO_BACKSLASH_ESCAPES, ANSI_QUOTES, MSSQL), by character set (a byte of gbk, sjis, big5 or
gb18030 may look like a backslash or a backtick), by version (executable comments, hints, dollar quotes). The text is
read once for each way to treat backslashes. Within that, each place that reads differently splits the reading in two,
and equal states join again, so the cost is linear.

A reading that makes no sense is dropped when the default one makes sense: it ends inside of a literal, or it has a
backslash outside of all literals. That is what keeps `'it\\'s'` one literal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Set
from typing import Final, NamedTuple

from .steps import CODE, COMMENTS, ESCAPING, LINE, LITERALS, MODES, NAMES, Entry, State, step

EVENTS: Final = re.compile(r"""['"`\\#\n\[\]$\x00-\x08\x0e-\x1f]|/(?=\*)|\*(?=/)|-(?=-)""")
START: Final[Entry] = ((CODE, False, ""), 0)
_PREFIX: Final = re.compile(r"(?<![\w$])(?:[xXbBnNeE]|[uU]&|_[a-zA-Z0-9]+[ ]?)\Z")
_LONGEST_PREFIX: Final = 34
_MAX_EVENTS: Final = 20_000
"""Reading more than this in every way takes too long: nothing is kept from the first of them on."""
BY_DEFAULT: Final = re.compile(
    r"""'[^'\\]*(?:\\.[^'\\]*)*'|"[^"\\]*(?:\\.[^"\\]*)*"|`[^`]*`|/\*.*?\*/|\#[^\n]*|--(?=[\s\x00-\x1f]|\Z)[^\n]*"""
    r"""|(?P<open>['"`]|/\*)""",
    re.DOTALL,
)
"""Strings, names and comments as MySQL reads them by default; a group where one is not closed."""
_WORD: Final = re.compile(r"[\w$]")
_EXECUTABLE: Final = re.compile(r"/\*M?!")

_Layer = dict[Entry, list[Entry]]
"""The readings behind one event, and for each those that led to it."""
Piece = tuple[str, bool]
"""A part of the text, and whether it is a quoted name, in which digits are no numbers."""


class Readings(NamedTuple):
    """The union of all readings that make sense."""

    pieces: list[Piece]
    """With `?` for what may be a literal and a space for comments; numbers are still in it."""
    comments: tuple[str, ...]
    """What stands in its block comments, in order."""
    is_closed: bool
    """No reading that makes sense ends inside of a literal, a quoted name or a block comment."""


class _Way:
    """All readings under one way to treat backslashes: a layer behind each event."""

    def __init__(
        self,
        text: str,
        events: list[int],
        mode: int,
        *,
        is_executed: bool,
        is_default: bool = False,
        is_patient: bool = False,
    ) -> None:
        """
        Args:
            is_default: Only the reading of MySQL's default.
            is_patient: Readings that make no sense go on.
        """
        self.layers: list[_Layer] = []
        layer: _Layer = {START: []}
        for at in events:
            following: _Layer = {}
            for entry in layer:
                state, resumes = entry
                nexts = [entry] if resumes > at else step(state, text, at, mode, is_executed=is_executed)
                if is_default:
                    nexts = _as_by_default(state, nexts, text)
                elif not nexts and is_patient:
                    nexts = [(state, at + 1)]
                for each in nexts:
                    following.setdefault(each, []).append(entry)
            self.layers.append(following)
            layer = following
        self.whole = {entry for entry in layer if entry[0][0] in (CODE, LINE)}
        self.is_closed = len(layer) == len(self.whole)

    def sensible(self) -> list[_Layer]:
        """The layers without the readings that do not end in code."""
        kept: list[_Layer] = []
        wanted = self.whole
        for layer in reversed(self.layers):
            kept.append({entry: parents for entry, parents in layer.items() if entry in wanted})
            wanted = {parent for parents in kept[-1].values() for parent in parents}
        return kept[::-1]


def _as_by_default(state: State, nexts: list[Entry], text: str) -> list[Entry]:
    """The first one, unless a word follows a string at once, which is a sign that strings were taken for code."""
    if not nexts:
        return []
    (kind, *_), resumes = nexts[0]
    is_word_behind = state[0] in LITERALS and kind == CODE and _WORD.match(text, resumes)
    return [] if is_word_behind else nexts[:1]


def read_every_way(text: str, *, is_cut: bool, is_executed: bool = False) -> Readings:
    """
    Read the text in all ways and return it without what is a literal or a comment in one that makes sense.

    Args:
        is_cut: The end is missing, so an open literal is no sign of a wrong reading.
        is_executed: Executable comments are code only; otherwise they may also be comments.
    """
    events = [event.start() for event in EVENTS.finditer(text)]
    if len(events) > _MAX_EVENTS:
        is_open = any(token.lastgroup for token in BY_DEFAULT.finditer(text))
        return Readings([(text[: events[0]], False), ("?", False)], (), is_closed=not is_open)
    ways = [_Way(text, events, mode, is_executed=is_executed) for mode in MODES]
    sensible = [way.sensible() for way in ways if way.whole]
    default = _Way(text, events, ESCAPING, is_executed=is_executed, is_default=True)
    if default.whole and not is_cut:
        layers = sensible
    else:
        patient = [_Way(text, events, mode, is_executed=is_executed, is_patient=True) for mode in MODES]
        layers = [way.layers for way in patient]
    literals = list(_tokens(events, layers, LITERALS, len(text)))
    names = [] if literals == [(0, len(text))] else list(_tokens(events, layers, NAMES, len(text)))
    comments = list(_tokens(events, layers, COMMENTS, len(text)))
    # whose comment it is: of a reading that makes sense, wherever there is one
    likely = sensible or layers
    hidden = literals if likely is layers else list(_tokens(events, likely, LITERALS, len(text)))
    seen = comments if likely is layers else list(_tokens(events, likely, COMMENTS, len(text)))
    return Readings(
        _pieces(text, literals, comments, names),
        tuple(
            text[start + 2 : end - 2]
            for start, end in seen
            if text.startswith("/*", start)
            and text.endswith("*/", start + 4, end)
            and not _overlaps(start, end, hidden)
        ),
        is_closed=ways[0].is_closed if default.whole else bool(sensible) and all(way.is_closed for way in ways),
    )


def _tokens(events: list[int], ways: list[list[_Layer]], kinds: Set[int], ends: int) -> Iterator[tuple[int, int]]:
    """Start and end of what is one of `kinds` in any way, in order."""
    starts = -1
    for number, at in enumerate(events):
        opens = goes_on = False
        closes = at
        for layers in ways:
            for (state, resumes), parents in layers[number].items():
                is_one = state[0] in kinds
                for before, _ in parents:
                    was_one = before[0] in kinds
                    if is_one:
                        goes_on, opens = goes_on or was_one, opens or not was_one
                    elif was_one:
                        closes = max(closes, resumes)
        if starts >= 0 and not goes_on:
            yield starts, closes
            starts = -1
        if starts < 0 and opens:
            starts = at
    if starts >= 0:
        yield starts, ends


def _overlaps(start: int, end: int, spans: Iterable[tuple[int, int]]) -> bool:
    return any(each_start < end and start < each_end for each_start, each_end in spans)


def _is_inside(span: tuple[int, int], spans: Iterable[tuple[int, int]]) -> bool:
    return any(start <= span[0] and span[1] <= end for start, end in spans)


def _pieces(
    text: str, literals: list[tuple[int, int]], comments: list[tuple[int, int]], names: list[tuple[int, int]]
) -> list[Piece]:
    pieces: list[Piece] = []
    at = 0
    executable = [span for span in comments if _EXECUTABLE.match(text, span[0])]
    literals = [span for span in literals if not _is_inside(span, executable)]
    removed = _union(sorted([(*span, True) for span in literals] + [(*span, False) for span in comments]))
    for start, end, is_literal in [*removed, (len(text), len(text), False)]:
        for name_start, name_end in names:
            if at <= name_start and name_end <= start:
                pieces += [(text[at:name_start], False), (text[name_start:name_end], True)]
                at = name_end
        before = text[at:start]
        if is_literal and text[start] == "'":
            before = _without_prefix(before)
        pieces.append((before + ("?" if is_literal else " " if end > start else ""), False))
        at = end
    return pieces


def _union(found: Iterable[tuple[int, int, bool]]) -> Iterator[tuple[int, int, bool]]:
    start, end, is_literal = 0, 0, False
    for span in found:
        if span[0] < end:
            end, is_literal = max(end, span[1]), is_literal or span[2]
        else:
            if end > start:
                yield start, end, is_literal
            start, end, is_literal = span
    if end > start:
        yield start, end, is_literal


def _without_prefix(before: str) -> str:
    prefix = _PREFIX.search(before, max(0, len(before) - _LONGEST_PREFIX))
    return before[: prefix.start()] if prefix else before
