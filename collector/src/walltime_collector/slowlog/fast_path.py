"""Entries in the usual form: a header, a statement that surely ends, the next header; found with few calls each."""

from __future__ import annotations

from dataclasses import fields
from operator import attrgetter
from typing import Any, Final

from .entry import Carried, Entry
from .header import read_header
from .lines import AGAIN, MAX_HEADER_BYTES, NEXT_HEADER, USUAL_HEADER, known_header_bytes
from .rows import encoded_header
from .statement import read_statement

_MAX_CACHED: Final = 4_096
_SEMICOLON: Final = 0x3B
_NAMES: Final = [each.name for each in fields(Entry)]
_of_header: Final = attrgetter(*_NAMES[: _NAMES.index("position")])


class FastPath:
    """Reads them, with a size-bounded cache of headers by their exact text: logs repeat themselves."""

    def __init__(self, always_logged_ns: int) -> None:
        self._always_logged_ns = always_logged_ns
        self._headers: dict[tuple[bytes, str, str, bool], tuple[Any, bytes, Carried]] = {}
        """By the exact text and what was carried: beginning of an Entry, part of a row, what is carried on."""

    def read(self, buffer: bytes, at: int, position: int, carried: Carried, done: list[Entry]) -> tuple[int, Carried]:
        """
        Add the usual entries from `at` on to `done`; return where the first other one begins.

        Args:
            position: Of the buffer, in the log.
            carried: At `at`; comes back as it is behind what was read.
        """
        headers = self._headers
        while header := USUAL_HEADER.match(buffer, at):
            starts = header.end()
            line = buffer.find(b"\n", starts)  # one byte is found much faster than three
            if not buffer.startswith(b"# ", line + 1):
                line = buffer.find(b"\n# ", line)
            if line < 0 or buffer[line - 1] != _SEMICOLON or not NEXT_HEADER.match(buffer, line + 1):
                break
            statement = read_statement(buffer[starts:line])
            if not statement.is_usual:
                break
            key = (header[0], carried.time, carried.database, statement.has_rows)
            cached = headers.get(key)
            if cached is None:
                lines = header["lines"]
                if len(lines) > MAX_HEADER_BYTES or AGAIN.search(lines, max(lines.find(b"# Query_time: "), 0)):
                    break
                if header.end("lines") == starts and known_header_bytes(lines) < len(lines):
                    break
                settings = header["set"] or b""
                entry, after = read_header(lines, settings, header["use"], carried, self._always_logged_ns)
                if entry is None:
                    break
                if not statement.has_rows:
                    entry.clear_row_counts()
                if len(headers) >= _MAX_CACHED:
                    headers.clear()
                cached = headers[key] = (_of_header(entry), encoded_header(entry), after)
            of_header, encoded, carried = cached
            entry = Entry(*of_header, position + at, statement.text, "", statement, encoded)  # type: ignore[call-arg]
            done.append(entry)
            at = line + 1
        return at, carried
