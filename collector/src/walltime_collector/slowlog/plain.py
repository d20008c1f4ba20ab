"""Entries as most are: a header, a statement that surely ends, the next header; found with few calls each."""

from __future__ import annotations

from typing import Final

from .header import Carried, Entry, OfHeader, read_header
from .lexed import read_statement
from .lines import AGAIN, MAX_HEADER_BYTES, NEXT_HEADER, PLAIN_HEADER, known_header_bytes
from .rows import encoded_header

_MAX_REMEMBERED: Final = 4_096
_SEMICOLON: Final = 0x3B


class PlainEntries:
    """Reads them, and remembers headers by their exact text: logs repeat themselves."""

    def __init__(self) -> None:
        self._headers: dict[tuple[bytes, str, str, bool], tuple[OfHeader, bytes, Carried]] = {}
        """By the exact text and what was carried: beginning of an Entry, part of a row, what is carried on."""

    def read(self, buffer: bytes, at: int, position: int, carried: Carried, done: list[Entry]) -> tuple[int, Carried]:
        """
        Add to `done` what is plain from `at` on; return where the first entry begins that has to be looked at.

        Args:
            position: Of the buffer, in the log.
            carried: At `at`; comes back as it is behind what was read.
        """
        headers = self._headers
        while True:
            header = PLAIN_HEADER.match(buffer, at)
            if header is None:
                break
            starts = header.end()
            line = buffer.find(b"\n", starts)  # found much faster than more than one byte is
            if not buffer.startswith(b"# ", line + 1):
                line = buffer.find(b"\n# ", line)
            if line < 0 or buffer[line - 1] != _SEMICOLON or not NEXT_HEADER.match(buffer, line + 1):
                break
            statement = read_statement(buffer[starts:line])
            if not statement.is_plain:
                break
            key = (header[0], carried.time, carried.database, statement.has_rows)
            known = headers.get(key)
            if known is None:
                lines = header["lines"]
                if len(lines) > MAX_HEADER_BYTES or AGAIN.search(lines, max(lines.find(b"# Query_time: "), 0)):
                    break
                if header.end("lines") == starts and known_header_bytes(lines) < len(lines):
                    break
                read, after = read_header(lines, header["set"] or b"", header["use"], carried)
                if read is None:
                    break
                if not statement.has_rows:
                    read.forget_rows()
                if len(headers) >= _MAX_REMEMBERED:
                    headers.clear()
                known = headers[key] = (read.of_header(), encoded_header(read), after)
            of_header, encoded, carried = known
            done.append(Entry(*of_header, position + at, statement.text, "", statement, encoded))
            at = line + 1
        return at, carried
