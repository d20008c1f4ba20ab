"""
Parses the bytes of a slow log into entries: MySQL 5 to 9 with and without log_slow_extra, Percona Server, MariaDB.

    # Time: …              )
    # User@Host: …         )  a header: lines that begin with `#`
    # Query_time: …        )
    use shop;                 only when the database changed
    SET timestamp=…;          old servers do not write it; behind it no header can come until the statement has ended
    SELECT …;                 any text, as the client sent it, and behind it `;` and a line feed

An entry has ended when the next one begins, or when nothing followed for a while. A statement may contain all of the
above inside a literal or a comment: see `ends`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from ...statements.ends import Candidate, find_end
from ...statements.long import MAX_STATEMENT_BYTES, TAIL_BYTES, Cut
from .entry import Carried, Entry
from .fast_path import FastPath
from .header import ALWAYS_LOGGED_NS, read_header
from .lines import (
    AGAIN,
    ALL_HEADER,
    BEGINS_NEXT,
    HEADER,
    MAX_HEADER_BYTES,
    NEXT_START,
    START,
    WHOLE,
    banner_starts,
    garbage_bytes,
    known_header_bytes,
    without_end,
)
from .statement import State, read_statement

MAX_HEADER_LINE_BYTES: Final = 2 * 1024
_MAX_HEADER_LINES: Final = 200
MAX_DOUBT_BYTES: Final = 4 * 1024 * 1024
"""A header that may be a part of a literal is taken for a header when so much has followed."""
_MAX_SMALL_DOUBT_BYTES: Final = 64 * 1024
"""The same where the statement is closed by MySQL's default: less, because that is nearly always right."""
_MAX_BUFFER_BYTES: Final = 2 * 1024 * 1024
_WAIT: Final = -1


@dataclass
class Losses:
    """Parts of the log that became no entry."""

    malformed: int = 0
    """Headers without a statement or without a readable Query_time."""
    skipped_bytes: int = 0
    """Garbage, and what statements and headers had beyond their limits."""


class Parser:
    """
    Reads a log piece by piece; memory is bounded whatever is in it.

    Args:
        carried: As `carried` was at `position`.
        position: Byte of the file the first piece begins with.
        losses: Those of earlier parsers, to be continued.
        always_logged_ns: See header.read_header; entries become rows if it `encodes`.
    """

    def __init__(
        self,
        carried: Carried | None = None,
        position: int = 0,
        losses: Losses | None = None,
        *,
        always_logged_ns: int = ALWAYS_LOGGED_NS,
        encodes: bool = True,
    ) -> None:
        self.carried = carried or Carried()
        self.position = position
        """Reading may go on from here, with `carried`: everything before has become an entry or a loss."""
        self.losses = losses or Losses()
        self._buffer = b""
        self._retry_bytes = 0
        """A shorter buffer need not be read again."""
        self._is_skipping_line = False
        self._cut: Cut | None = None
        self._always_logged_ns = always_logged_ns
        self._fast_path = FastPath(always_logged_ns, encodes=encodes)

    def feed(self, piece: bytes) -> list[Entry]:
        """Read the next bytes and return the entries that are known to have ended."""
        if self._is_skipping_line:
            piece = self._skip_line(piece)
        self._buffer += piece
        return [] if len(self._buffer) < self._retry_bytes else self._read(is_over=False)

    def quiet(self) -> list[Entry]:
        """Nothing followed for a while: the last entry has ended if its statement has."""
        text = self._buffer
        has_end = text.endswith((b";\n", b";\r\n")) or banner_starts(text, 0, len(text)) >= 0
        return self._read(is_over=False, is_quiet=True) if has_end else []

    def finish(self) -> list[Entry]:
        """Nothing will ever follow: whatever the last statement ends with, it has ended."""
        self._is_skipping_line = False
        return self._read(is_over=True)

    def _read(self, *, is_over: bool, is_quiet: bool = False) -> list[Entry]:
        done: list[Entry] = []
        at = 0
        while at < len(self._buffer):
            if self._cut is None:
                at, self.carried = self._fast_path.read(self._buffer, at, self.position, self.carried, done)
            following = self._read_one(at, done, is_over=is_over, is_quiet=is_quiet)
            if following == _WAIT:
                break
            at = following
        self._drop(at)
        return done

    def _drop(self, size: int) -> None:
        if size:
            self._buffer = self._buffer[size:]
            self.position += size
            self._retry_bytes = 0

    def _wait(self, at: int) -> int:
        """Wait for a quarter more: reading the same again for less would be quadratic."""
        size = len(self._buffer) - at
        self._retry_bytes = size + size // 4 if size > 64 * 1024 else 0
        return _WAIT

    # ---- one entry ----

    def _read_one(self, at: int, done: list[Entry], *, is_over: bool, is_quiet: bool) -> int:
        buffer = self._buffer
        if not START.match(buffer, at):
            return self._skip_garbage(at, is_over=is_over)
        header = HEADER.match(buffer, at)
        if header is None:
            if is_over:
                self.losses.malformed += 1
                return len(buffer)
            return self._bounded_wait(at)
        starts = header.end()
        lines = header["lines"]
        if not is_over and len(buffer) - starts < 256:
            rest = buffer[starts:]
            if b"\n" not in rest and (not header["set"] or rest.startswith(BEGINS_NEXT)):
                return self._bounded_wait(at)
        query_time = lines.find(b"# Query_time: ")
        if again := AGAIN.search(
            lines, max(query_time, 0) if query_time >= 0 or len(lines) > MAX_HEADER_BYTES else len(lines)
        ):
            self.losses.malformed += 1
            return at + again.end()
        if not header["set"]:
            starts = at + known_header_bytes(lines) if not header["use"] else starts
        ends, following = self._find_end(
            at, starts, has_set=header["set"] is not None, is_over=is_over, is_quiet=is_quiet
        )
        if ends == _WAIT:
            return self._bounded_wait(at, starts)
        return self._end_entry(at, header, starts, ends, following, done)

    def _find_end(self, at: int, starts: int, *, has_set: bool, is_over: bool, is_quiet: bool) -> tuple[int, int]:
        """Where the statement ends and the next entry begins; _WAIT if more must be read."""
        buffer = self._buffer
        candidates: list[Candidate] = []
        places: list[tuple[int, int]] = []
        search = starts - 1
        tried = 0
        is_closed_by_default = False
        while (line := buffer.find(b"\n# ", search)) >= 0:
            search = line + 1
            if line < starts or not START.match(buffer, search):
                continue
            if is_closed_by_default and search - places[0][0] > _MAX_SMALL_DOUBT_BYTES:
                return places[0]
            if not WHOLE.match(buffer, search):
                if not is_over and ALL_HEADER.match(buffer, search):
                    return _WAIT, 0
                continue
            ends, is_strong = line, buffer[max(starts, line - 64) : line].rstrip().endswith(b";")
            if not is_strong and (banner := banner_starts(buffer, starts, search)) >= 0:
                ends, is_strong = banner, True
            is_strong = is_strong or not has_set
            if is_strong and not candidates:
                state = self._state_of(starts, ends)
                if state == State.CLOSED:
                    return ends, search
                is_closed_by_default = state == State.DOUBTFUL
            candidates.append(Candidate(ends - starts, is_strong))
            places.append((ends, search))
            if is_strong and len(candidates) >= 4 * tried:
                tried = len(candidates)
                number = find_end(buffer[starts:ends].decode("latin-1"), candidates, is_over=False)
                if number is not None:
                    return places[number]
        if not candidates:
            return self._end_of_last(starts, is_over=is_over, is_quiet=is_quiet)
        is_long = len(buffer) - places[0][0] > MAX_DOUBT_BYTES
        if is_over and not any(strong for _, strong in candidates) and self._is_closed(starts, len(buffer)):
            return self._end_of_last(starts, is_over=True, is_quiet=False)
        text = buffer[starts:].decode("latin-1")  # so that positions are those of bytes
        number = find_end(text, candidates, is_over=is_over or is_quiet or is_long)
        if number is None:
            return _WAIT, 0
        return places[number] if number < len(places) else self._end_of_last(starts, is_over=True, is_quiet=False)

    def _end_of_last(self, starts: int, *, is_over: bool, is_quiet: bool) -> tuple[int, int]:
        buffer = self._buffer
        size = len(buffer)
        banner = -1 if buffer.endswith((b";", b";\n", b";\r\n")) else banner_starts(buffer, starts, size)
        ends = banner if banner >= 0 else size
        return (ends, size) if is_over or (is_quiet and self._is_closed(starts, ends)) else (_WAIT, 0)

    def _is_closed(self, starts: int, ends: int) -> bool:
        return self._state_of(starts, ends) != State.OPEN

    def _state_of(self, starts: int, ends: int) -> State:
        is_unknown = self._cut and self._cut.is_state_unknown
        return State.CLOSED if is_unknown else read_statement(self._buffer[starts:ends]).state

    def _end_entry(
        self, at: int, header: re.Match[bytes], starts: int, ends: int, following: int, done: list[Entry]
    ) -> int:
        lines = header["lines"] if header["set"] or header["use"] else self._buffer[at:starts]
        if len(lines) > MAX_HEADER_BYTES:
            whole = len(lines)
            lines = b"".join(
                [line[:MAX_HEADER_LINE_BYTES] for line in lines.splitlines(keepends=True)][:_MAX_HEADER_LINES]
            )
            self.losses.skipped_bytes += whole - len(lines)
        settings = header["set"] or b""
        read, self.carried = read_header(lines, settings, header["use"], self.carried, self._always_logged_ns)
        cut, self._cut = self._cut, None
        if read is None or (starts >= ends and not header["set"]):
            self.losses.malformed += 1
        else:
            read.position = self.position + at
            self._set_statement(read, self._buffer[starts:ends], cut)
            done.append(read)
        if cut:
            size = ends - starts + cut.size
            self.losses.skipped_bytes += max(size - MAX_STATEMENT_BYTES - TAIL_BYTES, 0)
            self.position += cut.size
        return following

    def _set_statement(self, entry: Entry, text: bytes, cut: Cut | None) -> None:
        entry.read = read_statement(text)
        entry.statement = entry.read.text
        if not entry.read.has_rows:
            entry.clear_row_counts()
        elif cut or len(text) > MAX_STATEMENT_BYTES:
            head = cut.head if cut else text[:MAX_STATEMENT_BYTES]
            entry.statement = head.decode("utf-8", "replace")
            end = text if cut else text[MAX_STATEMENT_BYTES:]
            entry.tail = without_end(end[-TAIL_BYTES:]).decode("utf-8", "replace")

    # ---- what is no entry ----

    def _skip_garbage(self, at: int, *, is_over: bool) -> int:
        buffer = self._buffer
        next_start = NEXT_START.search(buffer, at)
        ends = next_start.start() if next_start else len(buffer) if is_over else buffer.rfind(b"\n", at) + 1
        if ends > at:
            self.losses.skipped_bytes += garbage_bytes(buffer[at:ends])
            return ends
        if next_start:  # a command of an administrator without a header
            self.losses.malformed += 1
            line_ends = buffer.find(b"\n", at) + 1
            return line_ends or (len(buffer) if is_over else self._bounded_wait(at))
        return self._bounded_wait(at)

    def _bounded_wait(self, at: int, starts: int = 0) -> int:
        """Wait for more, but never keep more than a few MiB of one entry."""
        buffer = self._buffer
        if len(buffer) - at < _MAX_BUFFER_BYTES:
            return self._wait(at)
        if not starts:  # a line or a header without an end
            self.losses.skipped_bytes += len(buffer) - at
            self.losses.malformed += 1
            self._is_skipping_line = not buffer.endswith(b"\n")
            return len(buffer)
        self._cut = self._cut or Cut(buffer[starts : starts + MAX_STATEMENT_BYTES])
        self._buffer = self._cut.shorten(buffer, starts)
        return self._wait(at)

    def _skip_line(self, piece: bytes) -> bytes:
        ends = piece.find(b"\n") + 1
        self._is_skipping_line = not ends
        skipped = ends or len(piece)
        self.losses.skipped_bytes += skipped
        self.position += skipped
        return piece[skipped:]
