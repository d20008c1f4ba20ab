"""Whether escaped quotes, as in `'it\\'s'`, can only be escaped quotes; at the speed of regular expressions."""

from __future__ import annotations

import re
from typing import Final

_OTHERS: Final = r"""|`[^`]*`|/\*.*?\*/|\#[^\n]*|--(?=[\s\x00-\x1f\x7f])[^\n]*"""
_DOUBLE: Final = r"""|"[^"]*(?:""[^"]*)*\""""
_ESCAPING_SINGLE: Final = r"""'[^'\\]*(?:(?:''|\\.)[^'\\]*)*'"""
_BY_DEFAULT: Final = re.compile(_ESCAPING_SINGLE + r"""|"[^"\\]*(?:(?:""|\\.)[^"\\]*)*\"""" + _OTHERS, re.DOTALL)
_ANSI_QUOTES: Final = re.compile(_ESCAPING_SINGLE + _DOUBLE + _OTHERS, re.DOTALL)
_NO_BACKSLASH_ESCAPES: Final = re.compile(r"""'[^']*(?:''[^']*)*'""" + _DOUBLE + _OTHERS, re.DOTALL)
_NONSENSE: Final = re.compile(r"""['"`]|\\(?!N)""")
_ODD: Final = re.compile(r"""[\[$]|--|/\*""")
"""What may be read in more ways; outside of strings it is rare."""


def only_default_makes_sense(text: str) -> bool:
    """
    Whether no other sql_mode can have read the text otherwise: it would end in a literal or have a backslash in code.

    The caller knows that MySQL's default reading makes sense.
    """
    by_default = _BY_DEFAULT.sub("?", text)
    return all(
        _is_nonsense(text, reading) or reading.sub("?", text) == by_default
        for reading in ((_NO_BACKSLASH_ESCAPES, _ANSI_QUOTES) if '"' in text else (_NO_BACKSLASH_ESCAPES,))
    )


def _is_nonsense(text: str, reading: re.Pattern[str]) -> bool:
    left = reading.sub("", text)
    return _NONSENSE.search(left) is not None and _ODD.search(left) is None
