"""The state machine of all dialects: which states may follow a special character of a SQL text."""

from __future__ import annotations

import re
from typing import Final

CODE, SINGLE, DOUBLE, NAME, BRACKETS, LINE, BLOCK, HINT, HINT_SINGLE, HINT_DOUBLE, DOLLARS = PLACES = range(11)

LITERALS: Final = frozenset({SINGLE, DOUBLE, HINT_SINGLE, HINT_DOUBLE, DOLLARS})
COMMENTS: Final = frozenset({LINE, BLOCK, HINT})
NAMES: Final = frozenset({NAME})
"""Not brackets: but for one mode of MariaDB they are no name, and a number in them is a literal."""

ESCAPING, ANSI_QUOTES, NO_BACKSLASH_ESCAPES = MODES = (0, 1, 2)
"""Backslashes are escapes in both kinds of quotes, in single ones only, in none (but PostgreSQL's `E'…'`)."""

State = tuple[int, bool, str]
"""Where a dialect is; whether in an executable comment; the tag of a dollar quote, `E` of E'…', depth of a comment."""
Entry = tuple[State, int]
"""A state, and the position from which it looks at the text again."""

_PLAIN_HINT: Final = re.compile(r"/\*\+(?:(?!/\*)[^'\"`])*?\*/", re.DOTALL)
_EXECUTABLE: Final = re.compile(r"/\*M?!")
_DOLLAR_TAG: Final = re.compile(r"\$(?:[^\W\d]\w*)?\$")
_WORD: Final = re.compile(r"[\w$]")
_ESCAPE_STRING: Final = re.compile(r"(?<![\w$])[eE]'")
_DEEPEST: Final = "**"
"""PostgreSQL's comments nest; deeper ones are not followed."""


def step(state: State, text: str, at: int, mode: int, *, is_executed: bool) -> list[Entry]:
    """
    Return the states behind the character at `at`; none if no dialect of this mode accepts it there.

    The first one is that of MySQL's default dialect.
    """
    place, in_executable, tag = state
    letter = text[at]
    stays = (state, at + 1)
    code: State = (CODE, in_executable, "")
    if place == CODE:
        return _in_code(state, text, at, mode, is_executed=is_executed)
    if place in (SINGLE, DOUBLE):
        quote = "'" if place == SINGLE else '"'
        if letter == "\\" and (mode == ESCAPING or (mode == ANSI_QUOTES and place == SINGLE) or tag):
            escapes = (state, at + 2)
            # behind a byte that is not ASCII it may be the second byte of a character
            return [escapes, stays] if at and text[at - 1] > "\x7f" else [escapes]
        if letter == quote:
            return [(state, at + 2)] if text.startswith(quote, at + 1) else [(code, at + 1)]
    elif place == NAME and letter == "`":
        closes = (code, at + 1)
        return [closes, stays] if at and text[at - 1] > "\x7f" else [closes]
    elif (place == BRACKETS and letter == "]") or (place == LINE and letter == "\n"):
        return [(code, at + 1)]
    elif place == BLOCK:
        if letter == "*":
            return [(code, at + 2) if not tag else ((BLOCK, in_executable, tag[1:]), at + 2)]
        if letter == "/" and tag != _DEEPEST:
            return [(state, at + 2), ((BLOCK, in_executable, tag + "*"), at + 2)]
    elif place == HINT:
        if letter == "*":
            return [(code, at + 2)]
        if letter in "'\"":
            return [((HINT_SINGLE if letter == "'" else HINT_DOUBLE, in_executable, ""), at + 1)]
    elif (place == HINT_SINGLE and letter == "'") or (place == HINT_DOUBLE and letter == '"'):
        return [((HINT, in_executable, ""), at + 1)]
    elif place == DOLLARS and text.startswith(tag, at):
        return [(code, at + len(tag))]
    return [stays]


def _in_code(state: State, text: str, at: int, mode: int, *, is_executed: bool) -> list[Entry]:
    _, in_executable, _ = state
    letter = text[at]
    stays = (state, at + 1)
    if letter == "'":
        opens = ((SINGLE, in_executable, ""), at + 1)
        if mode == NO_BACKSLASH_ESCAPES and at and _ESCAPE_STRING.match(text, at - 1):
            return [opens, ((SINGLE, in_executable, "E"), at + 1)]
        return [opens]
    if letter == '"':
        return [((DOUBLE, in_executable, ""), at + 1)]
    if letter == "`":
        opens = ((NAME, in_executable, ""), at + 1)
        return [opens, stays] if at and text[at - 1] > "\x7f" else [opens]
    if letter == "#":
        return [((LINE, in_executable, ""), at + 1), stays]  # an operator elsewhere
    if letter == "-":
        opens = ((LINE, in_executable, ""), at + 2)
        following = text[at + 2 : at + 3]
        # elsewhere two dashes alone are a comment
        return [opens] if following <= " " or following == "\x7f" or following.isspace() else [stays, opens]
    if letter == "/":
        return _at_comment(state, text, at, is_executed=is_executed)
    if letter == "*":
        if in_executable:
            return [((CODE, False, ""), at + 2)]
        return [stays] if text.startswith("/*", at + 1) else []
    if letter == "[":
        return [stays, ((BRACKETS, in_executable, ""), at + 1)]
    if letter < " " and letter != "\n":  # no server takes a control character for code
        return []
    if letter == "\\":
        return [stays] if text.startswith("N", at + 1) else []
    if letter == "$" and (tag := _DOLLAR_TAG.match(text, at)) and not (at and _WORD.match(text, at - 1)):
        return [stays, ((DOLLARS, in_executable, tag.group()), tag.end())]
    return [stays]


def _at_comment(state: State, text: str, at: int, *, is_executed: bool) -> list[Entry]:
    _, in_executable, _ = state
    block = ((BLOCK, in_executable, ""), at + 2)
    if not in_executable and (opener := _EXECUTABLE.match(text, at)):
        executed = ((CODE, True, ""), opener.end())
        return [executed] if is_executed else [executed, block]
    if text.startswith("/*+", at):
        if hint := _PLAIN_HINT.match(text, at):
            return [(state, hint.end())]
        return [block, ((HINT, in_executable, ""), at + 3)]
    return [block]
