"""
The one SQL lexer of the slow log: redaction, fingerprints and the sender's comment come from one reading of the text.

The log does not say how the server read a statement: sql_mode and character set are missing. A text that every server
reads alike is read in one pass of one regular expression. Any other text is read in all ways (readings.py), and what
is a literal in one of them counts as a literal.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from .escapes import only_default_makes_sense
from .readings import Piece, read_every_way

# The SDK redacts templates by the same rules (sdk/src/walltime/literals.py); a difference would break the join.
_EXPONENT: Final = r"(?:(?<=[eE])[-+][\d][\d$]*)?"
_NAME_AHEAD: Final = r"(?=[\w$]*[g-wyzG-WYZ])"
"""A word that begins with digits and has such a letter is a name: `123foo`. Hexadecimal letters may be a number's."""
_NUMBER: Final = rf"(?:[\d]*{_NAME_AHEAD}|[\w$]*(?:\.(?:[\d](?!{_NAME_AHEAD})[\w$]*|[eE][\d]*)?)?{_EXPONENT})"
_FRACTION: Final = rf"(?<=\.)(?![\d]{_NAME_AHEAD})[\d][\w$]*{_EXPONENT}"
_NAMES: Final = r"(?<=`)LETTER[^`]*(?:BACKTICK[\s.,()=]*`[^`]*)*BACKTICK"
_PLACEHOLDER: Final = r"[\d]{1,3}(?![\w$])"
_MYSQL_DASHES: Final = r"(?<=-)-(?=[\s\x00-\x1f\x7f])[^\n]*"
_STRING: Final = r"{q}[^{q}\\]*(?:(?:{q}{q}|BACKSLASHLOOK{q}).)[^{q}\\]*)*{q}(?![{q}BEHIND])"
_QUOTED: Final = _STRING.format(q="'")[1:]
_DOUBLE_QUOTED: Final = _STRING.format(q='"')[1:]

# Each alternative looks back at the one character that the search leaps to. The last ones take the rest of the text:
# there it may be read in several ways, or is not closed.
_ALIKE: Final = rf"""['"`\d.$\#/\-_\[\\](?:
    (?<![\w$].)(?: (?<=[\d]){_NUMBER} | (?<=_)[a-zA-Z0-9]+[ ]?'{_QUOTED} | (?<=_)(?=[a-zA-Z0-9]+[ ]?').* )
  | {_FRACTION}
  | (?<![\d._])(?:
        (?<=')(?<![\w&$].){_QUOTED}
      | (?<="){_DOUBLE_QUOTED}
      | (?P<kept>{_NAMES})
      | (?P<comment> (?<=/)\*(?![!+]|M!)[^*/]*(?:(?:\*(?!/)|/(?!\*))[^*/]*)*\*/ | (?<=\#)[^\n]* | {_MYSQL_DASHES} )
      | (?: (?<=['"`\[\\]) | (?<=-)(?=-) | (?<=/)(?=\*) | (?<=\$)(?!{_PLACEHOLDER}) ).*
    )
)"""
_LEFT: Final = rf"""
    (?P<kept> (?<![\w$])\${_PLACEHOLDER} )
  | (?P<hint> /\*\+(?:(?!/\*)[^'"`])*?\*/)
  | (?<![\w$])[\d](?:{_NUMBER})
  | \.{_FRACTION}
"""
_DIGITS_IN_HINT: Final = re.compile(r"\d[\w.]*")
_EXECUTABLE: Final = re.compile(r"/\*M?!")


def _compiled(syntax: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """For any text, and for ASCII alone, whose classes of characters are found in a table: index it by `isascii()`."""
    flags = re.VERBOSE | re.DOTALL
    # a byte above ASCII and a backslash or a backtick behind it may be one character of gbk or sjis
    anywhere = syntax.replace("BACKSLASH", r"(?<![^\x00-\x7f])\\").replace("BACKTICK", r"(?<![^\x00-\x7f])`")
    anywhere = anywhere.replace("LETTER", r"(?<![^\x00-\x7f].)")
    in_ascii = syntax.replace("BACKSLASH", r"\\").replace("BACKTICK", "`").replace("LETTER", "")
    in_ascii = in_ascii.replace(r"\w", "a-zA-Z0-9_").replace(r"\d", "0-9")
    return re.compile(anywhere, flags), re.compile(in_ascii, flags)


_READ_ALIKE: Final = _compiled(_ALIKE.replace("LOOK", "(?!").replace("BEHIND", ""))
_READ_BY_DEFAULT: Final = _compiled(_ALIKE.replace("LOOK", "(?=|").replace("BEHIND", r"\w$"))
"""With escaped quotes in strings, and no word right behind a string."""
_READ_LEFT: Final = _compiled(_LEFT)


class Lexed(NamedTuple):
    """What a statement is to all who read it."""

    redacted: str
    """Each literal is `?`, comments are gone, white space is folded, names and placeholders stay."""
    comments: tuple[str, ...]
    """What stands in its block comments, in order; never a part of what may be a literal."""
    is_closed: bool
    """In no reading does the text end inside a literal, a quoted name or a block comment."""


def lex(sql: str, *, is_cut: bool = False) -> Lexed:
    """
    Read a statement once, for all purposes.

    Args:
        sql: Decoded with `surrogateescape` or from the start text. Double quotes are strings, as MySQL's default is.
        is_cut: The end is missing, so an open literal is no sign of a wrong reading.
    """
    text = sql + "\n"
    parts = [""] if "\\'" in text else _READ_ALIKE[text.isascii()].split(text)  # text, kept, comment, text, …
    if not parts[-1]:
        if is_cut or "\\" not in text or not only_default_makes_sense(text):
            return _lex_every_way(sql, is_cut=is_cut)
        parts = _READ_BY_DEFAULT[text.isascii()].split(text)
        if not parts[-1]:
            return _lex_every_way(sql, is_cut=is_cut)
    return _joined(parts)


def lex_by_default(sql: str) -> Lexed | None:
    """Read a text as MySQL does by default; None if it is not closed, or has what may be read in several ways."""
    parts = _READ_BY_DEFAULT[sql.isascii()].split(sql + "\n")
    return _joined(parts) if parts[-1] else None


def _joined(parts: list[str]) -> Lexed:
    if len(parts) == 1:
        return Lexed(" ".join(parts[0].split()), (), is_closed=True)
    kept, found = parts[1::3], parts[2::3]
    comments = tuple([each[1:-2] for each in found if each and each[0] == "*"])
    whole = parts[: 2 * len(kept) + 1]
    whole[0::2] = parts[0::3]
    whole[1::2] = [
        "?" if name is None and comment is None else " " if name is None else "`" + name
        for name, comment in zip(kept, found, strict=True)
    ]
    return Lexed(" ".join("".join(whole).split()), comments, is_closed=True)


def _lex_every_way(sql: str, *, is_cut: bool) -> Lexed:
    found = read_every_way(sql, is_cut=is_cut)
    redacted = _without_numbers(found.pieces)
    if not redacted.strip("; ") and _EXECUTABLE.search(sql):
        # nothing but executable comments, as in mysqldump's CREATE VIEW: their text is the statement
        redacted = _without_numbers(read_every_way(sql, is_cut=is_cut, is_executed=True).pieces)
    return Lexed(redacted, found.comments, found.is_closed)


def _without_numbers(pieces: list[Piece]) -> str:
    texts = [text if is_name else _READ_LEFT[text.isascii()].sub(_left, text) for text, is_name in pieces]
    return " ".join("".join(texts).split())


def _left(token: re.Match[str]) -> str:
    if token.lastgroup == "kept":
        return token.group()
    if token.lastgroup == "hint":
        return _DIGITS_IN_HINT.sub("?", token.group())
    return "?"
