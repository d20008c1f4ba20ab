"""
Takes a statement and returns its redacted text, its comments and whether it ends inside a literal.

The lexer does not know the server's sql_mode, character set and product. One regular expression reads a statement
that has the same meaning in all dialects. Any other statement is read in every dialect (dialects.py); what is a literal
in one of them is redacted.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from .dialects import EVENTS, Piece, read_in_every_dialect
from .escapes import only_default_makes_sense

_EXPONENT: Final = r"(?:(?<=[eE])[-+][\d][\d$]*)?"
_NAME_AHEAD: Final = r"(?=[\w$]*[g-wyzG-WYZ])"
"""A word that begins with digits and has such a letter is a name: `123foo`. Hexadecimal letters may be a number's."""
_NUMBER: Final = rf"(?:{_NAME_AHEAD}[\d]*|[\w$]*(?:\.(?:[\d](?!{_NAME_AHEAD})[\w$]*|[eE][\d]*)?)?{_EXPONENT})"
_FRACTION: Final = rf"(?<=\.)(?![\d]{_NAME_AHEAD})[\d][\w$]*{_EXPONENT}"
_NAMES: Final = r"(?<=`)LETTER[^`]*(?:BACKTICK[\s.,()=]*`[^`]*)*BACKTICK"
_PLACEHOLDER: Final = r"[\d]{1,3}(?![\w$])"
_MYSQL_DASHES: Final = r"(?<=-)-(?=[\s\x00-\x1f\x7f])[^\n]*\n"
_STRING: Final = r"{q}[^{q}\\]*(?:(?:{q}{q}|BACKSLASHLOOK{q}).)[^{q}\\]*)*{q}(?![{q}BEHIND])"
_HASH_COMMENT: Final = r"""(?<=\#)(?:[^\n'"`$\[\\/*\-]|-(?!-)|/(?!\*)|\*(?!/))*\n"""
"""A line in which nothing opens: elsewhere than in MySQL, `#` is an operator."""
_HINT: Final = r"""(?<=/)\*\+(?:(?!/\*)[^'"`])*?\*/"""
_DOLLAR_QUOTED: Final = (
    r"""(?<=\$)(?<![\w$].)\$(?:[^'"`$\#\[\\/*\-\x00-\x08\x0e-\x1f]|'[^'\\$]*'(?![\w$])|-(?!-)|/(?!\*)|\*(?!/))*"""
    r"""\$\$(?![\w$])(?=[^$]*\Z)"""
)
"""The only dollar quote of a text; strings in it are closed in it, so MySQL, too, reads code behind it."""
_QUOTED: Final = _STRING.format(q="'")[1:]
_DOUBLE_QUOTED: Final = _STRING.format(q='"')[1:]

# The search for a character of the first class is fast; each alternative looks back at that character. Where dialects
# differ or a literal is not closed, the alternatives with `.*` match the rest of the text.
_ALIKE: Final = rf"""[PREFIXES'"`\d.$\#/\-_\[\\](?:
    (?<![\w$].)(?: PREFIXED (?<=[\d]){_NUMBER} | (?<=_)[a-zA-Z0-9]+[ ]?'{_QUOTED} | (?<=_)(?=[a-zA-Z0-9]+[ ]?').* )
  | {_FRACTION}
  | (?<![\d._])(?:
        (?<=')(?<![\w&$].){_QUOTED}
      | (?<="){_DOUBLE_QUOTED}
      | ( {_NAMES}
        | {_HINT} | (?<=/)\*(?![!+]|M!)[^*/]*(?:(?:\*(?!/)|/(?!\*))[^*/]*)*\*/ | {_HASH_COMMENT} | {_MYSQL_DASHES} )
      | DOLLARS (?: (?<=['"`\#\[\\]) | (?<=-)(?=-) | (?<=/)(?=\*) | (?<=\$)(?!{_PLACEHOLDER}) ).*
    )
)"""
_REMAINING: Final = rf"""
    (?P<kept> (?<![\w$])\${_PLACEHOLDER} )
  | (?P<hint> /\*\+(?:(?!/\*)[^'"`])*?\*/)
  | (?<![\w$])[\d](?:{_NUMBER})
  | \.{_FRACTION}
"""
_DIGITS_IN_HINT: Final = re.compile(r"\d[\w.]*")
_EXECUTABLE: Final = re.compile(r"/\*M?!")
_MAX_ROUNDS: Final = 4
_END: Final = "\n\n"
"""The first ends a comment; what is not closed takes both, and nothing is left."""


class _Patterns(dict[bool, re.Pattern[str]]):
    """
    By `isascii()`: one for any text and a faster one for ASCII.

    Each is compiled when a text needs it, which most never do: together they take longer than reading a small log.
    """

    def __init__(self, syntax: str) -> None:
        self._syntax = syntax

    def __missing__(self, is_ascii: bool) -> re.Pattern[str]:
        if is_ascii:
            syntax = self._syntax.replace("BACKSLASH", r"\\").replace("BACKTICK", "`").replace("LETTER", "")
            syntax = syntax.replace(r"\w", "a-zA-Z0-9_").replace(r"\d", "0-9")
        else:
            # a byte above ASCII and a backslash or a backtick behind it may be one character of gbk or sjis
            syntax = self._syntax.replace("BACKSLASH", r"(?<![^\x00-\x7f])\\").replace("LETTER", r"(?<![^\x00-\x7f].)")
            syntax = syntax.replace("BACKTICK", r"(?<![^\x00-\x7f])`")
        self[is_ascii] = pattern = re.compile(syntax, re.VERBOSE | re.DOTALL)
        return pattern


def _alike(look: str, behind: str = "", prefixes: str = "") -> _Patterns:
    prefixed = f"(?<=[{prefixes}])'{_QUOTED} |" if prefixes else ""
    syntax = _ALIKE.replace("PREFIXED", prefixed).replace("PREFIXES", prefixes)
    syntax = syntax.replace("DOLLARS", f"{_DOLLAR_QUOTED} |" if prefixes else "")
    return _Patterns(syntax.replace("LOOK", look).replace("BEHIND", behind))


_READ_ALIKE: Final = _alike("(?!")
_READ_RARE: Final = _alike("(?!", behind=r"\w$", prefixes="xXbBnNeE")
"""Also with strings such as `x'1F'`, `N'…'` and `$$…$$`: to stop at each of these letters costs other texts time."""
_PREFIXED: Final = re.compile(r"(?<![\w$])[xXbBnNeE]'")
_NONSENSE: Final = re.compile(r"[\x00-\x08\x0e-\x1f]|\*/")
"""No server accepts these in code. In such a text a dollar quote counts as open until the end."""
_READ_BY_DEFAULT: Final = _alike("(?=|", behind=r"\w$")
"""With escaped quotes in strings, and no word right behind a string."""
_READ_REMAINING: Final = _Patterns(_REMAINING)


class Lexed(NamedTuple):
    """A statement after lexing."""

    redacted: str
    """Each literal is `?`, comments are gone, white space is folded, names and placeholders stay."""
    comments: tuple[str, ...]
    """The content of its block comments, in order; never a part of what may be a literal."""
    is_closed: bool
    """In no dialect does the text end inside a literal, a quoted name or a block comment."""


def lex(sql: str, *, is_cut: bool = False) -> Lexed:
    """
    Read a statement once, for all purposes. Redacting its redacted text again does not change it.

    Args:
        sql: Text, or bytes decoded with `surrogateescape`. Double quotes are strings, as by MySQL's default.
        is_cut: The end of the text is missing, so a dialect in which it ends inside a literal may be the right one.
    """
    parts = _split_alike(sql, is_cut=is_cut)
    if parts:
        comments = _comments(parts) if "/*" in sql else ()
        return Lexed(_join(parts), comments, is_closed=True)
    return _lex_with_care(sql, is_cut=is_cut)


def redact(sql: str, *, is_cut: bool = False) -> str:
    """The redacted text of `lex`, at less cost."""
    parts = _split_alike(sql, is_cut=is_cut)
    return _join(parts) if parts else _lex_with_care(sql, is_cut=is_cut).redacted


def _lex_with_care(sql: str, *, is_cut: bool) -> Lexed:
    lexed = _lex_in_every_dialect(sql, is_cut=is_cut)
    redacted = lexed.redacted
    for _ in range(_MAX_ROUNDS):  # the redacted text may be valid in one more dialect; each round removes something
        parts = _split_alike(redacted, is_cut=False)
        again = _join(parts) if parts else _lex_in_every_dialect(redacted, is_cut=False).redacted
        if again == redacted:
            return lexed._replace(redacted=redacted)
        redacted = again
    first = EVENTS.search(redacted)
    return lexed._replace(redacted=redacted[: first.start()] + "?" if first else redacted)


def _split_alike(sql: str, *, is_cut: bool) -> list[str] | None:
    """
    Split a text that all servers read alike, or that makes sense by MySQL's default alone, at its literals.

    Returns:
        Code, None for a literal or a name or a comment without its first character, code, …
    """
    text = sql + _END
    if "\\" not in text or "\\'" not in text:  # to look for one character is faster
        parts = _READ_ALIKE[text.isascii()].split(text)
        if parts[-1]:
            return parts
        if not is_cut and not _NONSENSE.search(text) if "$$" in text else _PREFIXED.search(text):
            parts = _READ_RARE[text.isascii()].split(text)
            if parts[-1]:
                return parts
    if "\\" in text and not is_cut and only_default_makes_sense(text):
        parts = _READ_BY_DEFAULT[text.isascii()].split(text)
        return parts if parts[-1] else None
    return None


def lex_by_default(sql: str) -> Lexed | None:
    """Read a text as MySQL does by default; None if it ends inside a literal or other dialects may differ."""
    parts = _READ_BY_DEFAULT[sql.isascii()].split(sql + _END)
    return Lexed(redacted=_join(parts.copy()), comments=_comments(parts), is_closed=True) if parts[-1] else None


def _join(parts: list[str]) -> str:
    """The redacted text; changes `parts`."""
    if len(parts) > 1:
        # a name ends with a backtick, a comment with `/` or a line feed; split() gives None for a literal
        parts[1::2] = [
            "?" if each is None else "`" + each if each[-1] == "`" else _join_comment(each) for each in parts[1::2]
        ]
    return " ".join("".join(parts).split())


def _join_comment(comment: str) -> str:
    is_hint = comment.startswith("*+") and comment.endswith("/")
    return "/" + _DIGITS_IN_HINT.sub("?", comment) if is_hint else " "


def _comments(parts: list[str]) -> tuple[str, ...]:
    return tuple([each[1:-2] for each in parts[1::2] if each and each[0] == "*" and each[1] != "+" and each[-1] == "/"])


def _lex_in_every_dialect(sql: str, *, is_cut: bool) -> Lexed:
    tokens = read_in_every_dialect(sql, is_cut=is_cut)
    redacted = _without_numbers(tokens.pieces)
    if not redacted.strip("; ") and _EXECUTABLE.search(sql):
        # nothing but executable comments, as in mysqldump's CREATE VIEW: their text is the statement
        redacted = _without_numbers(read_in_every_dialect(sql, is_cut=is_cut, is_executed=True).pieces)
    return Lexed(redacted, tokens.comments, tokens.is_closed)


def _without_numbers(pieces: list[Piece]) -> str:
    texts = [
        text if is_name else _READ_REMAINING[text.isascii()].sub(_without_number, text) for text, is_name in pieces
    ]
    return " ".join("".join(texts).split())


def _without_number(token: re.Match[str]) -> str:
    if token.lastgroup == "kept":
        return token.group()
    if token.lastgroup == "hint":
        return _DIGITS_IN_HINT.sub("?", token.group())
    return "?"
