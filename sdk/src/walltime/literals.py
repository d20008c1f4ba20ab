"""
Where the literals and comments of a SQL text are, however the server reads it.

Nobody tells the SDK how that is: MySQL takes `\\'` for a quote within a string and `#` for a comment, PostgreSQL
neither, nor MySQL under NO_BACKSLASH_ESCAPES. So a text that can be read differently is read in every way, and what is
a literal or a comment in any of those that make sense counts as one. Every scan is linear: one token a match.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Span: TypeAlias = tuple[int, int, bool]
"""Start, end, and whether it is a literal; if not, it is a comment."""

_PREFIX: Final = r"(?:[xXbBnNeE]|[uU]&|_[a-zA-Z0-9]+[ ]?)"
_SYNTAX: Final = rf"""
      (?P<rest> (?:
          [\s,()=<>+*@;:!~^&|%?\[\]{{}}]+ | \.(?!\d)
        | (?!{_PREFIX}') [^\W\d][\w$]*
        | `(?:[^`]+|``)*(?:`|(?P<open1>\Z))
        | \$\d{{1,3}}(?![\w$])
      )+ )
    | (?P<literal>
          STRINGS
        | \$(?P<tag>(?:[^\W\d]\w*)?)\$ .*? (?:\$(?P=tag)\$ | (?P<open2>\Z))
        | \$? (?:\d[\w$]* (?:\.(?:\d[\w$]*|[eE])?)? | \.\d[\w$]*) (?:(?<=[eE])[-+]\d+)?
      )
    | (?P<hint> /\*\+ (?:(?!/\*)[^'"`])*? \*/ )
    | (?P<comment> COMMENTS )
"""
_ESCAPING: Final = rf"""
    {_PREFIX}? '(?:[^'\\]+|\\.|'')*(?:'|\\?(?P<open3>\Z))
  | "(?:[^"\\]+|\\.|"")*(?:"|\\?(?P<open4>\Z))
"""
_PLAIN: Final = rf"""
    [eE]'(?:[^'\\]+|\\.|'')*(?:'|\\?(?P<open3>\Z))
  | {_PREFIX}? '(?:[^']+|'')*(?:'|(?P<open4>\Z))
  | "(?:[^"]+|"")*(?:"|(?P<open5>\Z))
"""
_BLOCK: Final = r"/\*.*?(?:\*/|(?P<open6>\Z))"
_OPEN: Final = [f"open{n}" for n in range(1, 7)]


def _reading(strings: str, comments: str) -> re.Pattern[str]:
    syntax = _SYNTAX.replace("STRINGS", strings).replace("COMMENTS", comments)
    return re.compile(syntax, re.VERBOSE | re.DOTALL)


_MYSQL: Final = _reading(_ESCAPING, rf"{_BLOCK} | \#[^\n]* | --(?=\s|\Z)[^\n]*")
_WITHOUT_ESCAPES: Final = _reading(_PLAIN, rf"{_BLOCK} | \#[^\n]* | --(?=\s|\Z)[^\n]*")
_STANDARD: Final = _reading(_PLAIN, rf"{_BLOCK} | --[^\n]*")
_NESTING: Final = _reading(_PLAIN, r"(?P<nested>/\*) | --[^\n]*")
"""PostgreSQL's, whose comments nest."""

_ESCAPED_QUOTE: Final = re.compile(r"\\['\"]")
_ODD_COMMENT: Final = re.compile(r"\#|--(?![\s]|\Z)")
_NESTED: Final = re.compile(r"/\*(?:(?!\*/).)*?/\*", re.DOTALL)
_EDGE: Final = re.compile(r"/\*|\*/")
_NUMBER: Final = re.compile(r"\d[\w.]*")


def spans(sql: str, *, is_cut: bool) -> tuple[list[Span], bool]:
    """
    Return the literals and comments of the text, in order and without overlap; and whether it reads in several ways.

    Args:
        is_cut: the text is only the beginning of one, so a literal without an end is no sign of a wrong reading.
    """
    has_nested = _NESTED.search(sql) is not None
    others = [
        reading
        for reading, is_needed in (
            (_WITHOUT_ESCAPES, _ESCAPED_QUOTE.search(sql)),
            (_STANDARD, _ODD_COMMENT.search(sql)),
            (_NESTING, has_nested),
        )
        if is_needed
    ]
    found, is_whole = _read(_MYSQL, sql)
    if not others:
        return found, False
    readings = [(found, is_whole), *(_read(reading, sql) for reading in others)]
    if not is_cut and any(is_whole for _, is_whole in readings):
        readings = [reading for reading in readings if reading[1]]
    return list(_union({span for found, _ in readings for span in found})), True


def _read(reading: re.Pattern[str], sql: str) -> tuple[list[Span], bool]:
    """What there is in one way of reading, and whether all that is opened is closed."""
    found: list[Span] = []
    is_whole = True
    at = 0
    while at < len(sql):
        for token in reading.finditer(sql, at):
            kind = token.lastgroup
            start, at = token.span()
            if kind == "literal":
                found.append((start, at, True))
            elif kind == "hint":
                found += [(*number.span(), True) for number in _NUMBER.finditer(sql, start, at)]
            elif kind == "comment":
                if reading is _NESTING and sql.startswith("/*", start):
                    at, is_whole = _end_of_nested(sql, start)
                    found.append((start, at, False))
                    break  # and read on from there
                found.append((start, at, False))
            if at == len(sql):
                is_whole = all(token.groupdict().get(name) is None for name in _OPEN)
        else:
            break
    return found, is_whole


def _end_of_nested(sql: str, start: int) -> tuple[int, bool]:
    depth = 0
    for edge in _EDGE.finditer(sql, start):
        depth += 1 if edge.group() == "/*" else -1
        if depth == 0:
            return edge.end(), True
    return len(sql), False


def _union(found: Iterable[Span]) -> Iterator[Span]:
    start, end, is_literal = 0, 0, False
    for span in sorted(found):
        if span[0] < end:
            end, is_literal = max(end, span[1]), is_literal or span[2]
        else:
            if end > start:
                yield start, end, is_literal
            start, end, is_literal = span
    if end > start:
        yield start, end, is_literal
