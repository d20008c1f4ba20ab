"""
Where the literals and comments of a SQL text are, however the server reads it.

Nobody tells the SDK how that is: MySQL takes `\\'` for a quote within a string and `#` for a comment, PostgreSQL
neither, nor MySQL under NO_BACKSLASH_ESCAPES. So a text that can be read differently is read in every way, and what is
a literal or a comment in any of those that make sense counts as one. Most texts read in one way, and leave their
literals in one pass of one expression. Every pass is linear.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Span: TypeAlias = tuple[int, int, bool]
"""Start, end, and whether it is a literal; if not, it is a comment."""

_Syntax: TypeAlias = tuple[re.Pattern[str], re.Pattern[str]]
"""For any text, and for ASCII alone, whose classes of characters are found in a table: index it by `isascii()`."""


# ---- what there is in SQL ----

# Each expression begins with one class of characters, so that the search leaps to where something may begin; what it
# is, they say who look back at that character. Most of those are within a word, which the first line finds out.
_EXPONENT: Final = r"(?:(?<=[eE])[-+][\d][\d$]*)?"
_NAME_AHEAD: Final = r"(?=[\w$]*[g-wyzG-WYZ])"
"""A word that begins with digits and has such a letter is a name: `123foo`. Hexadecimal letters may be a number's."""
_NUMBER: Final = rf"(?:[\d]*{_NAME_AHEAD}|[\w$]*(?:\.(?:[\d](?!{_NAME_AHEAD})[\w$]*|[eE][\d]*)?)?{_EXPONENT})"
_FRACTION: Final = rf"(?<=\.)(?![\d]{_NAME_AHEAD})[\d][\w$]*{_EXPONENT}"
_NAMES: Final = r"(?<=`)[^`]*(?:`[\s.,()=]*`[^`]*)*"
_PLACEHOLDER: Final = r"[\d]{1,3}(?![\w$])"

_ONE_WAY: Final = rf"""['"`\d.$\#/\-_](?:
    (?<![\w$].)(?: (?<=[\d]){_NUMBER} | (?<=_)(?=[a-zA-Z0-9]+[ ]').* )
  | {_FRACTION}
  | (?<![\d._])(?:
        (?<=')(?<![\w&].)[^'\\]*(?:(?:''|\\[^'])[^'\\]*)*'(?!')
      | (?<=")[^"\\]*(?:(?:""|\\[^"])[^"\\]*)*"(?!")
      | (?P<kept>{_NAMES}`)
      | (?: (?<=['"`\#]) | (?<=-)(?=-) | (?<=/)(?=\*) | (?<=\$)(?!{_PLACEHOLDER}) ).*
    )
)"""
"""Where another expression has to say what it is, this takes the rest of the text."""
_READING: Final = rf"""['"`\d.$\#/\-](?:
    (?<=[\d])(?<![\w$].){_NUMBER}
  | {_FRACTION}
  | STRINGS
  | (?P<kept>{_NAMES}(?:`|\Z) | (?<=\$)(?<![\w$].){_PLACEHOLDER})
  | (?<=\$)(?<![\w$].)(?: [\d]{_NUMBER} | (?P<tag>(?:[^\W\d][\w]*)?)\$.*?(?:\$(?P=tag)\$[\d$]*|\Z) )
  | (?P<hint>(?<=/)\*\+(?:(?!/\*)[^'"`])*?\*/)
  | COMMENTS
)"""
_ESCAPING: Final = r"""
    (?<=')[^'\\]*(?:(?:''|\\.)[^'\\]*)*(?:'|\\?\Z)
  | (?<=")[^"\\]*(?:(?:""|\\.)[^"\\]*)*(?:"|\\?\Z)
"""
_STRICT: Final = r"""
    (?<=[eE]')(?<![\w$]..)[^'\\]*(?:(?:''|\\.)[^'\\]*)*(?:'|\\?\Z)
  | (?<=')[^']*(?:''[^']*)*(?:'|\Z)
  | (?<=")[^"]*(?:""[^"]*)*(?:"|\Z)
"""
_BLOCK: Final = r"(?<=/)\*.*?(?:\*/|\Z)"
_DASHES: Final = r"(?<=-)-[^\n]*"


def _compiled(syntax: str) -> _Syntax:
    in_ascii = syntax.replace(r"\w", "a-zA-Z0-9_").replace(r"\d", "0-9")
    flags = re.VERBOSE | re.DOTALL
    return re.compile(syntax, flags), re.compile(in_ascii, flags)


def _reading(strings: str, comments: str) -> _Syntax:
    return _compiled(_READING.replace("STRINGS", strings).replace("COMMENTS", comments))


_ALIKE: Final = _compiled(_ONE_WAY)
_MYSQL: Final = _reading(_ESCAPING, rf"(?P<comment>{_BLOCK} | (?<=\#)[^\n]* | (?<=-)-(?=\s)[^\n]*)")
_WITHOUT_ESCAPES: Final = _reading(_STRICT, rf"(?P<comment>{_BLOCK} | (?<=\#)[^\n]* | (?<=-)-(?=\s)[^\n]*)")
_STANDARD: Final = _reading(_STRICT, rf"(?P<comment>{_BLOCK} | {_DASHES})")
_NESTING: Final = _reading(_STRICT, rf"(?P<nested>(?<=/)\*) | (?P<comment>{_DASHES})")
"""PostgreSQL's, whose comments nest."""

_ESCAPED_QUOTE: Final = re.compile(r"\\['\"]")
_ODD_COMMENT: Final = re.compile(r"\#|--(?![\s]|\Z)")
_NESTED: Final = re.compile(r"/\*(?:(?!\*/).)*?/\*", re.DOTALL)
_EDGE: Final = re.compile(r"/\*|\*/")
_IN_HINT: Final = re.compile(r"\d[\w.]*")
_PREFIX: Final = re.compile(r"(?<![\w$])(?:[xXbBnNeE]|[uU]&|_[a-zA-Z0-9]+[ ]?)\Z")
_LONGEST_PREFIX: Final = 34


# ---- a text that every server reads alike ----


def replaced_if_alike(sql: str) -> str | None:
    """Return the text with `?` for each literal; None when it has comments, or what has to be read with care."""
    text = sql + "\n"  # what is not closed takes this, too
    parts = _ALIKE[text.isascii()].split(text)  # text, what is kept of a token, text, …
    if not parts[-1]:
        return None
    if len(parts) > 1:
        parts[1::2] = ["?" if kept is None else "`" + kept for kept in parts[1::2]]
    return "".join(parts)


# ---- one that has to be read ----


def replaced(sql: str, *, is_cut: bool) -> tuple[str, bool]:
    """
    Return the text with `?` for each literal and a space for each comment; and whether it reads in several ways.

    Args:
        is_cut: the text is only the beginning of one, so a literal without an end is no sign of a wrong reading.
    """
    found, reads_differently = spans(sql, is_cut=is_cut)
    parts, at = [], 0
    for start, end, is_literal in found:
        before = sql[at:start]
        if is_literal and sql[start] == "'":
            before = _without_prefix(before)
        parts += [before, "?" if is_literal else " "]
        at = end
    return "".join([*parts, sql[at:]]), reads_differently


def _without_prefix(before: str) -> str:
    if before[-1:] not in "xXbBnNeE&" and "_" not in before[-_LONGEST_PREFIX:]:
        return before
    prefix = _PREFIX.search(before, max(0, len(before) - _LONGEST_PREFIX))
    return before[: prefix.start()] if prefix else before


def spans(sql: str, *, is_cut: bool) -> tuple[list[Span], bool]:
    """Return the literals and comments, in order and without overlap; and whether the text reads in several ways."""
    others = [
        reading
        for reading, is_needed in (
            (_WITHOUT_ESCAPES, _ESCAPED_QUOTE.search(sql)),
            (_STANDARD, _ODD_COMMENT.search(sql)),
            (_NESTING, _NESTED.search(sql)),
        )
        if is_needed
    ]
    found, is_whole = _read(_MYSQL, sql)
    if not others:
        return found, False
    readings = [(found, is_whole), *(_read(reading, sql) for reading in others)]
    if not is_cut and is_whole:
        # Where MySQL's default reading leaves a literal open, none is known to be wrong: each counts.
        readings = [reading for reading in readings if reading[1]]
    if len(readings) == 1:
        return readings[0][0], True
    return list(_union(sorted(span for found, _ in readings for span in found))), True


def _read(reading: _Syntax, sql: str) -> tuple[list[Span], bool]:
    """What there is in one way of reading, and whether all that is opened is closed."""
    found: list[Span] = []
    text = sql + "\n"  # what is not closed takes this, too
    at = end = 0
    while True:
        for token in reading[text.isascii()].finditer(text, at):
            kind = token.lastgroup
            start, end = token.span()
            if kind is None or kind == "tag":
                found.append((start, end, True))
            elif kind == "comment":
                found.append((start, end, False))
            elif kind == "hint":
                found += [(*number.span(), True) for number in _IN_HINT.finditer(text, start, end)]
            elif kind == "nested":
                at = end = _end_of_nested(text, start)
                found.append((start, end, False))
                break  # and read on from there
        else:
            return found, end <= len(sql)


def _end_of_nested(text: str, start: int) -> int:
    depth = 0
    for edge in _EDGE.finditer(text, start):
        depth += 1 if edge.group() == "/*" else -1
        if depth == 0:
            return edge.end()
    return len(text)


def _union(found: Iterable[Span]) -> Iterator[Span]:
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
