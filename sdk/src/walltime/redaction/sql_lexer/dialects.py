"""
Reads a SQL text in every dialect, and says what is a literal, a comment or a quoted name in any of them.

Dialects differ by sql_mode (NO_BACKSLASH_ESCAPES, ANSI_QUOTES, MSSQL), by character set (a byte of gbk, sjis, big5 or
gb18030 may look like a backslash or a backtick), by version (executable comments, hints, dollar quotes), by product
(`#`, `--`, nested comments, `E'…'` of PostgreSQL). The text is read once for each way to treat backslashes. Within
that, each place where dialects differ splits a state in two, and equal states join again, so the cost is linear.

A dialect in which the text makes no sense is dropped when it makes sense in MySQL's default: the text ends inside a
literal, or has a backslash outside of all literals. That is what keeps `'it\\'s'` one literal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Set
from typing import Final, NamedTuple

from .steps import CODE, COMMENTS, ESCAPING, LINE, LITERALS, MODES, NAMES, Entry, State, step

EVENTS: Final = re.compile(r"""['"`\\#\n\[\]$\x00-\x08\x0e-\x1f]|/(?=\*)|\*(?=/)|-(?=-)""")
START: Final[Entry] = ((CODE, False, ""), 0)
MAX_EVENTS: Final = 1_000
"""Reading more than this in every dialect takes too long: nothing behind them is kept."""
BY_DEFAULT: Final = re.compile(
    r"""'[^'\\]*(?:\\.[^'\\]*)*'|"[^"\\]*(?:\\.[^"\\]*)*"|`[^`]*`|/\*.*?\*/|\#[^\n]*|--(?=[\s\x00-\x1f]|\Z)[^\n]*"""
    r"""|(?P<open>['"`]|/\*)""",
    re.DOTALL,
)
"""Strings, names and comments as MySQL reads them by default; a group where one is not closed."""
_PREFIX: Final = re.compile(r"(?<![\w$])(?:[xXbBnNeE]|[uU]&|_[a-zA-Z0-9]+[ ]?)\Z")
_LONGEST_PREFIX: Final = 34
_WORD: Final = re.compile(r"[\w$]")
_EXECUTABLE: Final = re.compile(r"/\*M?!")
_DOUBTFUL_DASHES: Final = re.compile(r"--(?![\s\x00-\x1f\x7f]).*['\"\d]")

Span = tuple[int, int]
Piece = tuple[str, bool]
"""A part of the text, and whether it is a quoted name, in which digits are no numbers."""
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
        is_cut: The end is missing, so an open literal is no sign of a wrong dialect.
        is_executed: Executable comments are code only; otherwise they may also be comments.
    """
    events = [event.start() for event in EVENTS.finditer(text)]
    if len(events) > MAX_EVENTS:
        pieces = read_in_every_dialect(text[: events[MAX_EVENTS]], is_cut=True, is_executed=is_executed).pieces
        is_open = any(token.lastgroup for token in BY_DEFAULT.finditer(text))
        return Tokens([*pieces, ("?", False)], (), is_closed=not is_open)
    paths = [_Paths(text, events, mode, is_executed=is_executed) for mode in MODES]
    sensible = [each.sensible() for each in paths if each.whole]
    default = _Paths(text, events, ESCAPING, is_executed=is_executed, is_default=True)
    if default.whole and not is_cut:
        counted = sensible
    else:
        counted = [_Paths(text, events, mode, is_executed=is_executed, is_patient=True).layers for mode in MODES]
    literals = list(_spans(events, counted, LITERALS, len(text)))
    names = [] if literals == [(0, len(text))] else list(_spans(events, counted, NAMES, len(text)))
    comments = list(_spans(events, counted, COMMENTS, len(text)))
    # whose comment it is: of a dialect in which the text makes sense, wherever there is one
    likely = sensible or counted
    hidden = literals if likely is counted else list(_spans(events, likely, LITERALS, len(text)))
    shown = comments if likely is counted else list(_spans(events, likely, COMMENTS, len(text)))
    return Tokens(
        _pieces(text, literals, comments, names),
        tuple(
            text[start + 2 : end - 2]
            for start, end in shown
            if text.startswith("/*", start)
            and text.endswith("*/", start + 4, end)
            and not any(each_start < end and start < each_end for each_start, each_end in hidden)
        ),
        is_closed=paths[0].is_closed if default.whole else bool(sensible) and all(each.is_closed for each in paths),
    )


class _Paths:
    """All dialects with one way to treat backslashes: a layer of states behind each event."""

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
            is_default: MySQL's default dialect alone.
            is_patient: Dialects in which the text makes no sense go on.
        """
        self.layers: list[_Layer] = []
        layer: _Layer = {START: []}
        for at in events:
            following: _Layer = {}
            for entry in layer:
                state, resumes = entry
                nexts = [entry] if resumes > at else step(state, text, at, mode, is_executed=is_executed)
                if is_default:
                    nexts = _by_default(state, nexts, text)
                elif not nexts and is_patient:
                    nexts = [(state, at + 1)]
                for each in nexts:
                    following.setdefault(each, []).append(entry)
            self.layers.append(following)
            layer = following
        self.whole = {entry for entry in layer if entry[0][0] in (CODE, LINE)}
        self.is_closed = len(layer) == len(self.whole)

    def sensible(self) -> list[_Layer]:
        """The layers without the states that do not lead to an end in code."""
        kept: list[_Layer] = []
        wanted = self.whole
        for layer in reversed(self.layers):
            kept.append({entry: parents for entry, parents in layer.items() if entry in wanted})
            wanted = {parent for parents in kept[-1].values() for parent in parents}
        return kept[::-1]


def _by_default(state: State, nexts: list[Entry], text: str) -> list[Entry]:
    """The first one, unless a word follows a string at once, which is a sign that strings were taken for code."""
    if not nexts:
        return []
    (place, *_), resumes = nexts[0]
    is_word_behind = state[0] in LITERALS and place == CODE and _WORD.match(text, resumes)
    return [] if is_word_behind else nexts[:1]


def _spans(events: list[int], dialects: list[list[_Layer]], places: Set[int], ends: int) -> Iterator[Span]:
    """Start and end of what is in one of `places` in any dialect, in order."""
    starts = -1
    for number, at in enumerate(events):
        opens = goes_on = False
        closes = at
        for layers in dialects:
            for (state, resumes), parents in layers[number].items():
                is_one = state[0] in places
                for before, _ in parents:
                    was_one = before[0] in places
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
