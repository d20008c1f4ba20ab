"""Finds out by regular expressions whether `\\'`, as in `'it\\'s'`, can only be an escaped quote."""

from __future__ import annotations

import re
from typing import Final

# The last alternative takes what is not closed: without it each quote of a hostile text would search to the end.
_OTHERS: Final = r"""|`[^`]*`|/\*.*?\*/|\#[^\n]*|--(?=[\s\x00-\x1f\x7f])[^\n]*|(?P<open>['"`]|/\*).*"""
_DOUBLE: Final = r"""|"[^"]*(?:""[^"]*)*\""""
_ESCAPING_SINGLE: Final = r"""'[^'\\]*(?:(?:''|\\.)[^'\\]*)*'"""
_BY_DEFAULT: Final = re.compile(_ESCAPING_SINGLE + r"""|"[^"\\]*(?:(?:""|\\.)[^"\\]*)*\"""" + _OTHERS, re.DOTALL)
_ANSI_QUOTES: Final = re.compile(_ESCAPING_SINGLE + _DOUBLE + _OTHERS, re.DOTALL)
_NO_BACKSLASH_ESCAPES: Final = re.compile(r"""'[^']*(?:''[^']*)*'""" + _DOUBLE + _OTHERS, re.DOTALL)
_NONSENSE: Final = re.compile(r"""['"`]|\\(?!N)""")
_ODD: Final = re.compile(r"""[\[$]|--|/\*""")
"""What dialects differ in; outside of strings it is rare."""
_WORD: Final = re.compile(r"[\w$\x80-\uffff]")
_STRAY: Final = re.compile(r"\\(?!N)")


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
    Whether the text ends inside a literal in a sql_mode where fewer backslashes are escapes, and makes sense there.

    It makes none if a backslash is in code, or a word follows a string at once.
    """
    return any(_is_open(text, dialect) for dialect in (_NO_BACKSLASH_ESCAPES, _ANSI_QUOTES))


def _is_open(text: str, dialect: re.Pattern[str]) -> bool:
    at = 0
    for token in dialect.finditer(text):
        if _STRAY.search(text, at, token.start()):
            return False
        if token["open"]:
            return True
        at = token.end()
        if text[at - 1] in "'\"" and _WORD.match(text, at):
            return False
    return False


def _is_nonsense(code: str) -> bool:
    return _NONSENSE.search(code) is not None and _ODD.search(code) is None
