"""
Reads a SQL text in every dialect and finds what is a literal, a comment or a quoted name in any of them.

Dialects differ by sql_mode (NO_BACKSLASH_ESCAPES, ANSI_QUOTES, MSSQL), by character set (a byte of gbk, sjis, big5 or
gb18030 may look like a backslash or a backtick), by version (executable comments, hints, dollar quotes), by product
(`#`, `--`, nested comments, `E'…'` of PostgreSQL). The text is read once for each way to treat backslashes that
differs in it. Each character that dialects read differently leads from one state to two; equal states are merged, so
the cost is linear.

A dialect in which the text makes no sense is dropped when it makes sense in MySQL's default: the text ends inside a
literal, or has a backslash outside of all literals. That is what keeps `'it\\'s'` one literal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from .steps import CODE, COMMENTS, ESCAPING, LINE, LITERALS, MODES, NAMES, NO_BACKSLASH_ESCAPES, PLACES, Entry, step

EVENTS: Final = re.compile(r"""['"`\\#\n\[\]$\x00-\x08\x0e-\x1f]|/(?=\*)|\*(?=/)|-(?=-)""")
START: Final[Entry] = ((CODE, False, ""), 0)
MAX_EVENTS: Final = 600
"""Limit of the CPU time: of a text with more special characters, all that follows becomes one `?`."""
BY_DEFAULT: Final = re.compile(
    r"""'[^'\\]*(?:\\.[^'\\]*)*'|"[^"\\]*(?:\\.[^"\\]*)*"|`[^`]*`|/\*.*?\*/|\#[^\n]*|--(?=[\s\x00-\x1f]|\Z)[^\n]*"""
    r"""|(?P<open>['"`]|/\*).*""",
    re.DOTALL,
)
"""Strings, names and comments as MySQL reads them by default; a group where one is not closed, which takes the rest."""
_PREFIX: Final = re.compile(r"(?<![\w$])(?:[xXbBnNeE]|[uU]&|_[a-zA-Z0-9]+[ ]?)\Z")
_LONGEST_PREFIX: Final = 34
_WORD: Final = re.compile(r"[\w$]")
_EXECUTABLE: Final = re.compile(r"/\*M?!")
_DOUBTFUL_DASHES: Final = re.compile(r"--(?![\s\x00-\x1f\x7f]).*['\"\d]")

Span = tuple[int, int]
Piece = tuple[str, bool]
"""A part of the text, and whether it is a quoted name, in which digits are no numbers."""
_LITERAL, _COMMENT, _NAME = 1, 2, 4
_CATEGORIES: Final = [
    _LITERAL * (place in LITERALS) + _COMMENT * (place in COMMENTS) + _NAME * (place in NAMES) for place in PLACES
]
_Layer = dict[Entry, list[Entry]]
"""The states behind one event, and for each those that led to it."""


class Tokens(NamedTuple):
    """The union of all dialects in which the text makes sense."""

    pieces: list[Piece]
    """With `?` for what may be a literal and a space for comments; numbers are still in it."""
    comments: tuple[str, ...]
    """The content of its block comments, in order."""
    is_closed: bool
    """In no dialect in which it makes sense does the text end inside a literal, a quoted name or a block comment."""


def read_in_every_dialect(text: str, *, is_cut: bool, is_executed: bool = False) -> Tokens:
    """
    Read the text in all dialects and return it without what is a literal or a comment in one where it makes sense.

    Args:
        is_cut: The end of the text is missing, so a dialect in which it ends inside a literal may be the right one.
        is_executed: Executable comments are code only; otherwise they may also be comments.
    """
    events = [event.start() for event in EVENTS.finditer(text)]
    if len(events) > MAX_EVENTS:
        pieces = read_in_every_dialect(text[: events[MAX_EVENTS]], is_cut=True, is_executed=is_executed).pieces
        is_open = any(token.lastgroup for token in BY_DEFAULT.finditer(text))
        return Tokens([*pieces, ("?", False)], (), is_closed=not is_open)
    paths = [_Paths(text, events, mode, is_executed=is_executed) for mode in _modes(text)]
    sensible = [each.sensible() for each in paths if each.whole]
    makes_sense_by_default = _makes_sense_by_default(text, events, is_executed=is_executed)
    counted = sensible if makes_sense_by_default and not is_cut else [each.with_nonsense() for each in paths]
    literals, comments, names = _spans(events, counted, len(text))
    hidden, shown = literals, comments
    if sensible and counted is not sensible:  # whose comment it is: of a dialect in which the text makes sense
        hidden, shown, _ = _spans(events, sensible, len(text))
    return Tokens(
        _pieces(text, literals, comments, names),
        tuple(
            text[start + 2 : end - 2]
            for start, end in shown
            if text.startswith("/*", start)
            and text.endswith("*/", start + 4, end)
            and not any(each_start < end and start < each_end for each_start, each_end in hidden)
        ),
        is_closed=bool(sensible) and all(each.is_closed for each in (paths[:1] if makes_sense_by_default else paths)),
    )


def _modes(text: str) -> tuple[int, ...]:
    """The ways to treat backslashes that differ in this text."""
    if "\\" not in text:
        return (ESCAPING,)
    return MODES if '"' in text else (ESCAPING, NO_BACKSLASH_ESCAPES)


def _makes_sense_by_default(text: str, events: list[int], *, is_executed: bool) -> bool:
    """
    Whether the text ends in code as MySQL reads it by default.

    It does not if a word follows a string at once: a sign that strings were taken for code.
    """
    state, resumes = START
    for at in events:
        if resumes > at:
            continue
        following = step(state, text, at, ESCAPING, is_executed=is_executed)
        if not following:
            return False
        was_in_literal = state[0] in LITERALS
        state, resumes = following[0]
        if was_in_literal and state[0] == CODE and _WORD.match(text, resumes):
            return False
    return state[0] in (CODE, LINE)


class _Paths:
    """All dialects with one way to treat backslashes: a layer of states behind each event."""

    def __init__(self, text: str, events: list[int], mode: int, *, is_executed: bool) -> None:
        self._text, self._events, self._mode, self._is_executed = text, events, mode, is_executed
        self._has_nonsense = False
        self._layers = self._read(keeps_nonsense=False)
        last = self._layers[-1] if events else {START: []}
        self.whole = {entry for entry in last if entry[0][0] in (CODE, LINE)}
        self.is_closed = len(self.whole) == len(last)

    def _read(self, *, keeps_nonsense: bool) -> list[_Layer]:
        text, mode, is_executed = self._text, self._mode, self._is_executed
        layers: list[_Layer] = []
        layer: _Layer = {START: []}
        for at in self._events:
            following: _Layer = {}
            for entry in layer:
                state, resumes = entry
                entries = [entry] if resumes > at else step(state, text, at, mode, is_executed=is_executed)
                if not entries:
                    self._has_nonsense = True
                    if keeps_nonsense:
                        entries = [(state, at + 1)]
                for each in entries:
                    if each in following:
                        following[each].append(entry)
                    else:
                        following[each] = [entry]
            layers.append(following)
            layer = following
        return layers

    def sensible(self) -> list[_Layer]:
        """The layers without the states that do not lead to an end in code."""
        if self.is_closed and not self._has_nonsense:
            return self._layers
        kept: list[_Layer] = []
        wanted = self.whole
        for layer in reversed(self._layers):
            kept.append({entry: parents for entry, parents in layer.items() if entry in wanted})
            wanted = set().union(*kept[-1].values())
        return kept[::-1]

    def with_nonsense(self) -> list[_Layer]:
        """The layers, with dialects in which the text makes no sense, too."""
        return self._read(keeps_nonsense=True) if self._has_nonsense else self._layers


def _spans(events: list[int], dialects: list[list[_Layer]], ends: int) -> tuple[list[Span], list[Span], list[Span]]:
    """Start and end of what is a literal, a comment, a quoted name in any dialect, in order."""
    spans: dict[int, list[Span]] = {_LITERAL: [], _COMMENT: [], _NAME: []}
    started: dict[int, int] = {}
    for number, at in enumerate(events):
        stays = opens = 0
        closes: dict[int, int] = {}
        for layers in dialects:
            for (state, resumes), parents in layers[number].items():
                category = _CATEGORIES[state[0]]
                for before, _ in parents:
                    was = _CATEGORIES[before[0]]
                    if was == category:
                        stays |= category
                    else:
                        opens |= category
                        closes[was] = max(resumes, closes.get(was, at))
        for category, found in spans.items():
            if category in started and not stays & category:
                found.append((started.pop(category), closes.get(category, at)))
            if opens & category and category not in started:
                started[category] = at
    for category, start in started.items():
        spans[category].append((start, ends))
    return spans[_LITERAL], spans[_COMMENT], spans[_NAME]


def _pieces(text: str, literals: list[Span], comments: list[Span], names: list[Span]) -> list[Piece]:
    pieces: list[Piece] = []
    at = 0
    executable = [span for span in comments if _EXECUTABLE.match(text, span[0])]
    removed = [
        (*span, True) for span in literals if not any(start <= span[0] and span[1] <= end for start, end in executable)
    ] + [(*span, _DOUBTFUL_DASHES.match(text, *span) is not None) for span in comments]
    for start, end, is_literal in [*_union(sorted(removed)), (len(text), len(text), False)]:
        for name_start, name_end in names:
            if at <= name_start and name_end <= start:
                pieces += [(text[at:name_start], False), (text[name_start:name_end], True)]
                at = name_end
        before = text[at:start]
        if is_literal and text[start] == "'":
            prefix = _PREFIX.search(before, max(0, len(before) - _LONGEST_PREFIX))
            before = before[: prefix.start()] if prefix else before
        pieces.append((before + ("?" if is_literal else " " if end > start else ""), False))
        at = end
    return pieces


def _union(spans: Iterable[tuple[int, int, bool]]) -> Iterator[tuple[int, int, bool]]:
    start, end, is_literal = 0, 0, False
    for span in spans:
        if span[0] < end:
            end, is_literal = max(end, span[1]), is_literal or span[2]
        else:
            if end > start:
                yield start, end, is_literal
            start, end, is_literal = span
    if end > start:
        yield start, end, is_literal
