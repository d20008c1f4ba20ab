"""
Long statements: of an INSERT of a megabyte, only the beginning and the end are lexed.

The middle is a list of values, and only what may open or close a literal matters there: it decides whether the end is
inside one. Everything else is removed from the middle at the speed of `bytes.translate`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from .sql_lexer.escapes import only_default_makes_sense
from .sql_lexer.lexer import Lexed, lex, lex_by_default

MAX_STATEMENT_BYTES: Final = 1024 * 1024
"""Of a statement that an Entry keeps."""
TAIL_BYTES: Final = 8 * 1024
"""Of a statement that is over the limit the end is kept beside its beginning: the comment is there."""
LONG_BYTES: Final = 128 * 1024
HEAD_BYTES: Final = 64 * 1024
_SHORTEST_HEAD_BYTES: Final = 8 * 1024
_LIST: Final = re.compile(rb"\b(?:values?|in)\s*\(", re.IGNORECASE)
_LONGEST_HEAD_BYTES: Final = 512 * 1024
MAX_SAMPLE_CHARS: Final = 4_096
_ENOUGH_CHARS: Final = 8 * 1024
"""Of a redacted statement: more is not stored, neither of its text nor of its fingerprint."""
_MAX_SPECIALS_BYTES: Final = 16 * 1024
"""Reading more than this in every way would take longer than the rest of the log."""

_MAX_CUT_SPECIALS_BYTES: Final = 1024 * 1024

_HARMLESS: Final = bytes(set(range(256)) - set(b"'\"`#$\n\x01\x02\x03\x04\x05"))
_HARMLESS_IN_LINE: Final = _HARMLESS + b"\n"
_MARKS: Final = b"\x01\x02\x03\x04\x05"
_MEANINGS: Final = ((b"\x01", b"--?"), (b"\x02", b"/*"), (b"\x03", b"*/"), (b"\x04", b"\\'"), (b"\x05", b'\\"'))
_ESCAPE: Final = re.compile(rb"\\([\\'\"])")
_ESCAPED: Final = {b"\\": b"", b"'": b"\x04", b'"': b"\x05"}
_MULTIBYTE: Final = re.compile(rb"[\x80-\xff](?=[\\`])")
_NO_SPECIAL: Final = re.compile(rb"\\[^'\"\\]|[^'\"`\\#$\n*/\-\x80-\xff]+|[\x80-\xff]+(?![\\`\x80-\xff])")
_BY_DEFAULT: Final = re.compile(
    rb"""'[^'\\]*(?:\\.[^'\\]*)*'|"[^"\\]*(?:\\.[^"\\]*)*"|`[^`]*`|/\*(?P<comment>.*?)\*/"""
    rb"""|\#[^\n]*|--(?=[\s\x00-\x1f]|\Z)[^\n]*|(?P<open>['"`]|/\*).*""",
    re.DOTALL,
)


def specials(text: bytes) -> bytes:
    """What of a text may open or close a literal, a name or a comment, in any dialect."""
    if not text.isascii() and _MULTIBYTE.search(text):
        return _NO_SPECIAL.sub(b"", text)
    if any(mark in text for mark, _ in _MEANINGS):
        text = text.translate(None, _MARKS)
    if b"\\" in text:
        text = _without_escapes(text)
    if b"*" in text:
        text = text.replace(b"/*", b"\x02").replace(b"*/", b"\x03")
    text = text.replace(b"--", b"\x01")
    has_lines = b"#" in text or b"\x01" in text
    text = text.translate(None, _HARMLESS if has_lines else _HARMLESS_IN_LINE).replace(b"''", b"")
    for mark, meaning in _MEANINGS:
        text = text.replace(mark, meaning)
    return text


def _without_escapes(text: bytes) -> bytes:
    """An escaped quote becomes a mark; any other escape means the same in every dialect, and is removed."""
    if text.count(b"\\") < len(text) // 500:  # a call for each is cheaper than to go through the text three times
        return _ESCAPE.sub(_mark, text)
    return text.replace(b"\\\\", b"").replace(b"\\'", b"\x04").replace(b'\\"', b"\x05")


def _mark(escape: re.Match[bytes]) -> bytes:
    return _ESCAPED[escape[1]]


@dataclass
class Cut:
    """What was taken out of the buffer, of a statement that is too long for it."""

    head: bytes
    """Its first MAX_STATEMENT_BYTES."""
    size: int = 0
    """So many bytes of the statement are not in the buffer."""
    is_state_unknown: bool = False
    """There was too much that may open and close literals."""

    def shorten(self, buffer: bytes, starts: int) -> bytes:
        """Keep of the statement what it begins and ends with, and what may open or close a literal."""
        first, last = starts + HEAD_BYTES, len(buffer) - HEAD_BYTES
        kept = specials(buffer[first:last])
        if len(kept) > _MAX_CUT_SPECIALS_BYTES:
            kept, self.is_state_unknown = b"", True
        self.size += last - first - len(kept)
        return buffer[:first] + kept + buffer[last:]


def lex_long(text: bytes, *, is_cut: bool) -> Lexed:
    """Lex a statement of more than LONG_BYTES; beyond what is stored of it, only its end and its comment are right."""
    enough = MAX_SAMPLE_CHARS + 200 if _LIST.search(text, 0, _SHORTEST_HEAD_BYTES) else 2 * _ENOUGH_CHARS
    size = _head_bytes(text, enough)
    while not is_cut and (ends := _lex_in_parts(text, size)):
        head, tail = ends
        if len(head.redacted) >= enough or size >= _LONGEST_HEAD_BYTES:
            return Lexed(head.redacted + tail.redacted, head.comments + tail.comments, is_closed=True)
        size *= 2
    while size < _LONGEST_HEAD_BYTES and _redacted_chars(text[:size]) < enough:
        size *= 2
    head_ends, tail_starts = _between_rows(text, size)
    middle = specials(text[head_ends:tail_starts])
    shortened = text[:head_ends] + middle + text[tail_starts:]
    if len(middle) <= _MAX_SPECIALS_BYTES:
        return _lexed(shortened, is_cut=is_cut)
    comments, is_open = [], False
    for token in _BY_DEFAULT.finditer(shortened):
        if token["comment"] is not None:
            comments.append(token["comment"].decode("utf-8", "replace"))
        is_open = is_open or token["open"] is not None
    head = _lexed(text[:size], is_cut=True)
    return Lexed(head.redacted, tuple(comments[-16:]), is_closed=not is_open)


def _lex_in_parts(text: bytes, size: int) -> tuple[Lexed, Lexed] | None:
    """The head and the tail, if each part is closed and the whole makes sense by MySQL's default alone."""
    head_ends, tail_starts = _between_rows(text, size)
    parts = [text[:head_ends], specials(text[head_ends:tail_starts]), text[tail_starts:]]
    if any(b"\\" in part for part in parts):
        # brackets, which quote names in one sql_mode, are no specials
        whole = b"".join([part if b"[" in part else specials(part) for part in parts]) + b"\n"
        if not only_default_makes_sense(whole.decode("utf-8", "surrogateescape")):
            return None
    head, middle, tail = [lex_by_default(part.decode("utf-8", "surrogateescape")) for part in parts]
    return (head, tail) if head and middle and tail else None


def _head_bytes(text: bytes, enough: int) -> int:
    """About how much of the beginning has so many characters without its literals: what is stored comes from it."""
    size = _SHORTEST_HEAD_BYTES * enough * 9 // 8 // max(_redacted_chars(text[:_SHORTEST_HEAD_BYTES]), 1)
    return min(max(size, 2 * _SHORTEST_HEAD_BYTES), _LONGEST_HEAD_BYTES)


def _redacted_chars(text: bytes) -> int:
    """About how long the text is without its literals; a number would be one character."""
    return len(_BY_DEFAULT.sub(b"?", text).translate(None, b"0123456789"))


def _between_rows(text: bytes, size: int) -> tuple[int, int]:
    """Where the middle begins and ends: behind a comma, of two rows if there are any, so that lists stay lists."""
    ends = max(size, len(text) - TAIL_BYTES)
    for between in (b"),(", b"), (", b","):
        first, last = text.rfind(between, 0, size), text.find(between, ends)
        if first > size // 2 and last >= 0:
            return first + between.index(b",") + 1, last + between.index(b",") + 1
    return min(size, len(text)), ends


def _lexed(text: bytes, *, is_cut: bool) -> Lexed:
    return lex(text.decode("utf-8", "surrogateescape"), is_cut=is_cut)
