"""Finds out by regular expressions whether `\\'`, as in `'it\\'s'`, can only be an escaped quote."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

# The last alternative takes what is not closed: without it each quote of a hostile text would search to the end.
_CLOSED: Final = r"""|`[^`]*`|/\*.*?\*/|\#[^\n]*|--(?=[\s\x00-\x1f\x7f])[^\n]*"""
_OTHERS: Final = _CLOSED + r"""|(?P<open>['"`]|/\*).*"""
_DOUBLE: Final = r"""|"[^"]*(?:""[^"]*)*\""""
_ESCAPING_SINGLE: Final = r"""'[^'\\]*(?:(?:''|\\.)[^'\\]*)*'"""
_PLAIN_SINGLE: Final = r"""'[^']*(?:''[^']*)*'"""
_BY_DEFAULT: Final = re.compile(_ESCAPING_SINGLE + r"""|"[^"\\]*(?:(?:""|\\.)[^"\\]*)*\"""" + _OTHERS, re.DOTALL)
_ANSI_QUOTES: Final = re.compile(_ESCAPING_SINGLE + _DOUBLE + _OTHERS, re.DOTALL)
_NO_BACKSLASH_ESCAPES: Final = re.compile(_PLAIN_SINGLE + _DOUBLE + _OTHERS, re.DOTALL)
_CODE: Final = r"""[^'"`\#/\-\\]*"""
_NO_WORD: Final = r"(?![\w$\x80-\uffff])"


@cache  # compiled when a text needs it: that takes longer than all other patterns
def _sensible(single: str) -> re.Pattern[str]:
    """Code without a backslash and closed tokens, of which no word follows a string; a thousand at once, for memory."""
    strings = rf"""'[^'\\]*'(?!'){_NO_WORD}|{single}{_NO_WORD}{_DOUBLE}{_NO_WORD}"""
    others = rf"{_CLOSED}|/(?!\*)|-(?!-[\s\x00-\x1f\x7f])|\\N"
    return re.compile(rf"{_CODE}(?:(?:{strings}{others}){_CODE}){{,1000}}", re.DOTALL)


_NONSENSE: Final = re.compile(r"""['"`]|\\(?!N)""")
_ODD: Final = re.compile(r"""[\[$]|--|/\*""")
"""What dialects differ in; outside of strings it is rare."""


def only_default_makes_sense(text: str) -> bool:
    """
    Whether in any other sql_mode the text would end in a literal or have a backslash in code.

    The caller finds out whether it makes sense by MySQL's default.
    """
    by_default = _BY_DEFAULT.split(text)
    for dialect in (_NO_BACKSLASH_ESCAPES, _ANSI_QUOTES) if '"' in text else (_NO_BACKSLASH_ESCAPES,):
        code = dialect.split(text)  # code, what is not closed, code, …
        if code != by_default and not _is_nonsense("".join([piece for piece in code if piece])):
            return False
    return True


def may_be_open(text: str) -> bool:
    """
    Whether a text ends inside a literal in a sql_mode where fewer backslashes are escapes, and makes sense there.

    It makes none if a backslash is in code, or a word follows a string at once.

    Args:
        text: It is closed by MySQL's default.
    """
    return _is_open(text, _sensible(_PLAIN_SINGLE), _NO_BACKSLASH_ESCAPES) or (
        '"' in text and _is_open(text, _sensible(_ESCAPING_SINGLE), _ANSI_QUOTES)
    )


def _is_open(text: str, sensible: re.Pattern[str], dialect: re.Pattern[str]) -> bool:
    at, after = -1, 0
    while after > at:
        at, after = after, sensible.match(text, after).end()  # type: ignore[union-attr]  # it matches an empty text, too
    token = dialect.match(text, at)
    return token is not None and token["open"] is not None


def _is_nonsense(code: str) -> bool:
    return _NONSENSE.search(code) is not None and _ODD.search(code) is None
