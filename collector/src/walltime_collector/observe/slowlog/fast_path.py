"""Entries in the usual form: a header, a statement that surely ends, the next header; found with few calls each."""

from __future__ import annotations

import re
from dataclasses import fields
from operator import attrgetter
from typing import Any, Final

from .entry import Carried, Entry
from .header import minute_s, read_header, read_user
from .lines import AGAIN, MAX_HEADER_BYTES, NEXT_HEADER, USUAL_HEADER, known_header_bytes
from .rows import encoded_header
from .statement import read_statement

_MAX_CACHED: Final = 4_096
_MYSQL: Final = re.compile(
    r"# Time: (\d{4}-\d\d-\d\dT\d\d:\d\d):(\d\d)\.(\d{6})Z\n(# User@Host: [^\n]*?  Id: +(\d{1,18}))\n"
    r"# Query_time: (\d{1,6})\.(\d{6})  Lock_time: (\d{1,6})\.(\d{6}) Rows_sent: (\d{1,18})"
    r"  Rows_examined: (\d{1,18})\n"
)
"""The whole header that MySQL 5.7 and later write by default."""
_SEMICOLON: Final = 0x3B
_NAMES: Final = [each.name for each in fields(Entry)]
_of_header: Final = attrgetter(*_NAMES[: _NAMES.index("position")])


class FastPath:
    """Reads them, with a size-bounded cache of headers by their exact text: logs repeat themselves."""

    def __init__(self, always_logged_ns: int, *, encodes: bool = True) -> None:
        self._always_logged_ns, self._encodes = always_logged_ns, encodes
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
                entry, after = _read_mysql(header, carried) or read_header(
                    lines, header["set"] or b"", header["use"], carried, self._always_logged_ns
                )
                if entry is None:
                    break
                if not statement.has_rows:
                    entry.clear_row_counts()
                if len(headers) >= _MAX_CACHED:
                    headers.clear()
                cached = headers[key] = (
                    _of_header(entry),
                    encoded_header(entry) if self._encodes else b"",
                    after,
                )
            of_header, encoded, carried = cached
            entry = Entry(*of_header, position + at, statement.text, "", statement, encoded)  # type: ignore[call-arg]
            done.append(entry)
            at = line + 1
        return at, carried


def _read_mysql(header: re.Match[bytes], carried: Carried) -> tuple[Entry, Carried] | None:
    """What read_header returns for MySQL's default header, in a third of the time; None for others."""
    found = None if header["use"] else _MYSQL.fullmatch(header["lines"].decode("ascii", "replace"))
    if found is None:
        return None
    minute, second, fraction, user_line, connection, query_s, query_us, lock_s, lock_us, sent, examined = found.groups()
    began_s, user = minute_s(minute, "Z"), read_user(user_line)
    if began_s is None or user is None:
        return None
    query_all_us = int(query_s + query_us)
    entry = Entry(
        query_all_us * 1_000,
        (began_s + int(second)) * 1_000_000 + int(fraction) - query_all_us,
        int(lock_s + lock_us) * 1_000,
        rows_sent=int(sent),
        rows_examined=int(examined),
        database=carried.database,
        user=user[0],
        client_host=user[1],
        connection_id=int(connection),
    )
    return entry, Carried(f"{minute}:{second}.{fraction}Z", carried.database)
