"""What is known of a statement's bytes, remembered by their exact text: logs repeat themselves."""

from __future__ import annotations

from typing import Final

from .lexer import Lexed, lex
from .long import LONG_BYTES, lex_long

_MAX_REMEMBERED_BYTES: Final = 16 * 1024 * 1024
_MAX_TEXT_BYTES: Final = 16 * 1024


class _Memory:
    def __init__(self) -> None:
        self.found: dict[bytes, Lexed] = {}
        self.size = 0


_memory = _Memory()


def lex_bytes(text: bytes) -> Lexed:
    """Lex a statement as the log has it: in an unknown character set, and with the `;` the server wrote behind it."""
    found = _memory.found.get(text)
    if found is None:
        text_of_client = text.rstrip().removesuffix(b";").rstrip()
        is_cut = len(text_of_client) == len(text.rstrip())
        if len(text) > LONG_BYTES:
            found = lex_long(text_of_client, is_cut=is_cut)
        else:
            found = lex(text_of_client.decode("utf-8", "surrogateescape"), is_cut=is_cut)
        if not found.redacted.isascii():
            found = found._replace(redacted=readable(found.redacted))
        if len(text) <= _MAX_TEXT_BYTES:
            _remember(text, found)
    return found


def readable(text: str) -> str:
    """Text without what is no UTF-8."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _remember(text: bytes, found: Lexed) -> None:
    memory = _memory
    memory.size += 2 * len(text) + 500
    if memory.size > _MAX_REMEMBERED_BYTES:
        memory.found.clear()
        memory.size = 2 * len(text) + 500
    memory.found[text] = found
