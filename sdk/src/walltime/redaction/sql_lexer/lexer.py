"""
Statement in; redacted text, comments and whether it is closed out.

How the server reads a statement is unknown: its sql_mode, its character set and often the product. A statement that
every server reads alike takes one pass of one regular expression. Any other one is read in every dialect (dialects.py),
and what is a literal in one of them counts as a literal.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from .dialects import EVENTS, Piece, read_in_every_dialect
from .escapes import only_default_makes_sense

_EXPONENT: Final = r"(?:(?<=[eE])[-+][\d][\d$]*)?"
_NAME_AHEAD: Final = r"(?=[\w$]*[g-wyzG-WYZ])"
"""A word that begins with digits and has such a letter is a name: `123foo`. Hexadecimal letters may be a number's."""
_NUMBER: Final = rf"(?:[\d]*{_NAME_AHEAD}|[\w$]*(?:\.(?:[\d](?!{_NAME_AHEAD})[\w$]*|[eE][\d]*)?)?{_EXPONENT})"
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
"""The only dollar quote of a text, with nothing in it that could open elsewhere and not close in it."""
_QUOTED: Final = _STRING.format(q="'")[1:]
_DOUBLE_QUOTED: Final = _STRING.format(q='"')[1:]

# Each alternative looks back at the one character that the search leaps to. The last ones take the rest of the text:
# there dialects differ, or it is not closed.
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
_LEFT: Final = rf"""
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


def _compiled(syntax: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """For any text, and for ASCII alone, whose classes of characters are found in a table: index it by `isascii()`."""
    flags = re.VERBOSE | re.DOTALL
    # a byte above ASCII and a backslash or a backtick behind it may be one character of gbk or sjis
    anywhere = syntax.replace("BACKSLASH", r"(?<![^\x00-\x7f])\\").replace("BACKTICK", r"(?<![^\x00-\x7f])`")
    anywhere = anywhere.replace("LETTER", r"(?<![^\x00-\x7f].)")
    in_ascii = syntax.replace("BACKSLASH", r"\\").replace("BACKTICK", "`").replace("LETTER", "")
    in_ascii = in_ascii.replace(r"\w", "a-zA-Z0-9_").replace(r"\d", "0-9")
    return re.compile(anywhere, flags), re.compile(in_ascii, flags)


def _alike(look: str, behind: str = "", prefixes: str = "") -> tuple[re.Pattern[str], re.Pattern[str]]:
    prefixed = f"(?<=[{prefixes}])'{_QUOTED} |" if prefixes else ""
    syntax = _ALIKE.replace("PREFIXED", prefixed).replace("PREFIXES", prefixes)
    syntax = syntax.replace("DOLLARS", f"{_DOLLAR_QUOTED} |" if prefixes else "")
    return _compiled(syntax.replace("LOOK", look).replace("BEHIND", behind))


_READ_ALIKE: Final = _alike("(?!")
_READ_RARE: Final = _alike("(?!", behind=r"\w$", prefixes="xXbBnNeE")
"""Also with strings such as `x'1F'`, `N'…'` and `$$…$$`: to stop at each of these letters costs other texts time."""
_PREFIXED: Final = re.compile(r"(?<![\w$])[xXbBnNeE]'")
_NONSENSE: Final = re.compile(r"[\x00-\x08\x0e-\x1f]|\*/")
"""In code, no server accepts it, and a dollar quote may be open to the end."""
_READ_BY_DEFAULT: Final = _alike("(?=|", behind=r"\w$")
"""With escaped quotes in strings, and no word right behind a string."""
_READ_LEFT: Final = _compiled(_LEFT)


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
    Read a statement once, for all purposes; its redacted text, read again, is itself.

    Args:
        sql: Text, or bytes decoded with `surrogateescape`. Double quotes are strings, as by MySQL's default.
        is_cut: The end is missing, so an open literal is no sign of a wrong dialect.
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
    for _ in range(_MAX_ROUNDS):  # what is left may read in one more dialect; each round takes something out
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
    """Read a text as MySQL does by default; None if it is not closed, or other servers read it otherwise."""
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
    texts = [text if is_name else _READ_LEFT[text.isascii()].sub(_left, text) for text, is_name in pieces]
    return " ".join("".join(texts).split())


def _left(token: re.Match[str]) -> str:
    if token.lastgroup == "kept":
        return token.group()
    if token.lastgroup == "hint":
        return _DIGITS_IN_HINT.sub("?", token.group())
    return "?"
