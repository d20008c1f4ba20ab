"""
Finds the end of a statement that contains lines like a header, perhaps inside a literal.

The server writes `;` and a line feed behind every statement, and then the next header. A statement may have all of
that inside a literal: a piece of a log was stored. So if a place is inside a literal in some dialect, the statement
goes on, unless what follows makes no sense as the rest of that literal: it never ends before the log does, or words
stand directly behind a closing quote, as when the text between literals is taken for a literal.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from .sql_lexer.dialects import EVENTS, START
from .sql_lexer.steps import CODE, LINE, LITERALS, MODES, NAMES, Entry, step

_QUOTED: Final = LITERALS | NAMES
_WORD: Final = re.compile(r"[\w$\x80-\xff]")


class Candidate(NamedTuple):
    """A place in a statement where a header begins."""

    at: int
    is_strong: bool
    """`;` or the lines of a starting server stand before it; without them the server has not written the statement."""


def find_end(text: str, candidates: Sequence[Candidate], *, is_over: bool) -> int | None:
    """
    Return which candidate is the end: its number; their count if the text is the statement; None if more must be read.

    Args:
        text: The statement and what follows, decoded as latin-1, so that positions are those of bytes.
        candidates: In order, at least one.
        is_over: Nothing follows the text.
    """
    ended = first = 0
    has_ended = False
    live = [(mode, START) for mode in MODES]
    at = 0
    for number, candidate in enumerate(candidates):
        live = _read(text, at, candidate.at, live, is_doubtful=number > 0)
        if not live:
            return ended if has_ended else first
        at = candidate.at
        if candidate.is_strong:
            still_open = [each for each in live if each[1][0][0] not in (CODE, LINE)]
            if len(still_open) < len(live):
                ended, has_ended = number, True
            if not still_open:
                return number
            live = still_open
    live = _read(text, at, len(text), live, is_doubtful=True)
    if live and not is_over:
        return None
    if any(entry[0][0] in (CODE, LINE) for _, entry in live) and text.rstrip().endswith(";"):
        return len(candidates)
    return ended if has_ended else first


def _read(text: str, at: int, end: int, live: list[tuple[int, Entry]], *, is_doubtful: bool) -> list[tuple[int, Entry]]:
    """The dialects that are left at `end`."""
    for event in EVENTS.finditer(text, at, end):
        place = event.start()
        following: dict[tuple[int, Entry], None] = {}
        for mode, (state, resumes) in live:
            if resumes > place:
                following[mode, (state, resumes)] = None
                continue
            following_states = step(state, text, place, mode, is_executed=False)
            # the server is MySQL: `#` is a comment
            for after in following_states[:1] if text[place] == "#" else following_states:
                closes = state[0] in _QUOTED and after[0][0] not in _QUOTED
                if not (is_doubtful and closes and _WORD.match(text, after[1])):
                    following[mode, after] = None
        live = list(following)
        if not live:
            break
    return live
