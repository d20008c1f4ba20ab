"""What is known of a statement's bytes, remembered by their exact text: logs repeat themselves."""

from __future__ import annotations

from typing import Final

from ..statements.long import LONG_BYTES, MAX_STATEMENT_BYTES, lex_long
from ..statements.sql_lexer.lexer import Lexed, lex
from .lines import ADMINISTRATOR, SENDING_ROWS

_MAX_REMEMBERED_BYTES: Final = 16 * 1024 * 1024
_MAX_TEXT_BYTES: Final = 16 * 1024
_OVERHEAD_BYTES: Final = 600


class Statement:
    """A statement of a log and what it says; `encoded` is its part of a row, once it was made."""

    __slots__ = ("encoded", "has_rows", "is_closed", "is_plain", "lexed", "text")

    def __init__(self, text: str, lexed: Lexed) -> None:
        self.text = text
        self.lexed = lexed
        self.is_closed = lexed.is_closed
        self.has_rows = True
        """Whether the counts of rows in the header are of this statement."""
        self.is_plain = lexed.is_closed
        """Surely a statement, and as short as an entry may keep."""
        self.encoded = b""


class _Memory:
    """Short statements by their text, and the last long one, which is asked for twice."""

    def __init__(self) -> None:
        self.found: dict[bytes, Statement] = {}
        self.size = 0
        self.last: tuple[bytes, Statement] = (b"", Statement("", Lexed("", (), is_closed=True)))


_memory = _Memory()


def read_statement(text: bytes) -> Statement:
    """Read a statement as the log has it: in an unknown character set, and with the `;` the server wrote behind it."""
    found = _memory.found.get(text)
    return _read(text) if found is None else found


def _read(text: bytes) -> Statement:
    memory = _memory
    if memory.last[0] == text:
        return memory.last[1]
    of_client = text.rstrip()
    whole = of_client.removesuffix(b";").rstrip()
    is_cut = len(whole) == len(of_client)
    if len(text) > LONG_BYTES:
        lexed = lex_long(whole, is_cut=is_cut)
    else:
        lexed = lex(whole.decode("utf-8", "surrogateescape"), is_cut=is_cut)
    if text[:1] == b"#":
        if command := ADMINISTRATOR.fullmatch(text):
            return _command(command[1].decode("ascii"))
        is_plain = False
    else:
        is_plain = lexed.is_closed and len(text) <= MAX_STATEMENT_BYTES
    if not lexed.redacted.isascii():
        lexed = lexed._replace(redacted=lexed.redacted.encode("utf-8", "surrogateescape").decode("utf-8", "replace"))
    found = Statement(whole.decode("utf-8", "replace"), lexed)
    found.is_plain = is_plain
    if len(text) > _MAX_TEXT_BYTES:
        memory.last = (text, found)
        return found
    memory.size += 2 * len(text) + _OVERHEAD_BYTES
    if memory.size > _MAX_REMEMBERED_BYTES:
        memory.found.clear()
        memory.size = 2 * len(text) + _OVERHEAD_BYTES
    memory.found[text] = found
    return found


def _command(text: str) -> Statement:
    """A command of an administrator: without literals; the server writes the row counts of what ran before."""
    found = Statement(text, Lexed(text, (), is_closed=True))
    found.has_rows = text.endswith(SENDING_ROWS)
    return found
