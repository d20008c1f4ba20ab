"""Lexes the statements of a log; a size-bounded cache by exact bytes saves the work for repeated ones."""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import Final

from ...statements.long import LONG_BYTES, MAX_STATEMENT_BYTES, lex_long
from ...statements.sql_lexer.escapes import may_be_open
from ...statements.sql_lexer.lexer import Lexed, lex
from .lines import ADMINISTRATOR, SENDING_ROWS

_MAX_CACHED_BYTES: Final = 16 * 1024 * 1024
_MAX_TEXT_BYTES: Final = 16 * 1024
_OVERHEAD_BYTES: Final = 600
_ESCAPED_QUOTE: Final = re.compile(rb"\\['\"]")


class State(Enum):
    """Of a text at its end: outside of all literals, outside by MySQL's default only, inside."""

    CLOSED = auto()
    DOUBTFUL = auto()
    OPEN = auto()


class Statement:
    """A statement of a log."""

    __slots__ = ("encoded", "has_rows", "is_usual", "lexed", "state", "text")

    def __init__(
        self, text: str, lexed: Lexed, *, state: State = State.CLOSED, is_usual: bool = False, has_rows: bool = True
    ) -> None:
        """
        Args:
            is_usual: Surely a statement, closed, and as short as an entry may keep.
            has_rows: The row counts in the header are of this statement.
        """
        self.text = text
        self.lexed = lexed
        self.state = state
        self.is_usual = is_usual
        self.has_rows = has_rows
        self.encoded = b""
        """Its part of a row, once it was made."""


class _Cache:
    """Short statements by their text, and the last long one, which is read twice."""

    def __init__(self) -> None:
        self.short: dict[bytes, Statement] = {}
        self.size_bytes = 0
        self.last_long: tuple[bytes, Statement] = (b"", Statement("", Lexed("", (), is_closed=True)))


_cache = _Cache()


def read_statement(text: bytes) -> Statement:
    """Read a statement as the log has it: in an unknown character set, and with the `;` the server wrote behind it."""
    cached = _cache.short.get(text)
    if cached is not None:
        return cached
    if _cache.last_long[0] == text:
        return _cache.last_long[1]
    statement = _read(text)
    if len(text) > _MAX_TEXT_BYTES:
        _cache.last_long = (text, statement)
        return statement
    size_bytes = 2 * len(text) + _OVERHEAD_BYTES
    _cache.size_bytes += size_bytes
    if _cache.size_bytes > _MAX_CACHED_BYTES:
        _cache.short.clear()
        _cache.size_bytes = size_bytes
    _cache.short[text] = statement
    return statement


def _read(text: bytes) -> Statement:
    if command := ADMINISTRATOR.fullmatch(text):  # has no literals
        name = command[1].decode("ascii")
        return Statement(name, Lexed(name, (), is_closed=True), has_rows=name.endswith(SENDING_ROWS))
    of_client = text.rstrip()
    whole = of_client.removesuffix(b";").rstrip()
    is_cut = len(whole) == len(of_client)
    if len(text) > LONG_BYTES:
        lexed = lex_long(whole, is_cut=is_cut)
    else:
        lexed = lex(whole.decode("utf-8", "surrogateescape"), is_cut=is_cut)
    if not lexed.redacted.isascii():
        lexed = lexed._replace(redacted=lexed.redacted.encode("utf-8", "surrogateescape").decode("utf-8", "replace"))
    state = State.CLOSED if lexed.is_closed else State.OPEN
    if lexed.is_closed and _ESCAPED_QUOTE.search(whole) and may_be_open(whole.decode("utf-8", "surrogateescape")):
        state = State.DOUBTFUL
    is_usual = state == State.CLOSED and len(text) <= MAX_STATEMENT_BYTES and not text.startswith(b"#")
    return Statement(whole.decode("utf-8", "replace"), lexed, state=state, is_usual=is_usual)
