"""
Bytes of a slow log in, entries out: MySQL 5 to 9 with and without log_slow_extra, Percona Server, MariaDB.

    NOTHING ──a header's first line──► HEADER ──first line that is none──► STATEMENT ──`;` and the next header──► …

An entry is known to have ended only when the next one begins, or when the follower says that nothing followed. A line
in the middle of a statement that looks like a header is one only if what follows it is one too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum

from .header import Carried, Entry, is_whole, read_header
from .quotes import Quotes

MAX_LINE_BYTES = 1024 * 1024
MAX_HEADER_BYTES = 32 * 1024
MAX_HEADER_LINE_BYTES = 2 * 1024
MAX_STATEMENT_BYTES = 1024 * 1024
TAIL_BYTES = 8 * 1024
"""Of a statement that is over the limit the end is kept beside its beginning: the comment is there."""
_MAX_DOUBTFUL_LINES = 40

_STARTS = re.compile(rb"#\s+(?:Time|User@Host|User|Thread_id|Schema|Query_time): ?")
_FACTS = frozenset({b"# R", b"# B", b"# P", b"# F", b"# L", b"# I", b"#  ", b"# e", b"#"})
"""How lines of a header begin that say no more than what is in them."""
_SERVER_STARTS = re.compile(
    rb"[^'\"]{0,512}(?:mysqld|mariadbd)[^\s,]{0,32}, Version: .+(?:started with:|embedded library)"
)
_SERVER_SAYS = re.compile(rb"(?:[tT][cC][pP] [pP]ort: |Time\s+Id\s+Command)")
_ADMINISTRATOR = b"# administrator command: "
_USE = re.compile(rb"use [^;]+;\s*")
_SET = re.compile(rb"SET (?:last_insert_id|insert_id|timestamp)=[^;]*;\s*")


class _State(Enum):
    NOTHING = 0
    HEADER = 1
    STATEMENT = 2


@dataclass
class Losses:
    """What was in the log and became no entry."""

    malformed: int = 0
    """Headers without a statement or without a readable Query_time."""
    skipped_bytes: int = 0
    """What belongs to no entry: garbage, and what statements and headers had beyond their limits."""


@dataclass
class _Open:
    """The entry being read."""

    starts: int
    header: list[bytes] = field(default_factory=list)
    header_bytes: int = 0
    has_query_time: bool = False
    database: str | None = None
    settings: bytes = b""
    statement: list[bytes] = field(default_factory=list)
    statement_bytes: int = 0
    tail: bytes = b""
    last_line: bytes = b""
    doubtful: list[tuple[bytes, int]] = field(default_factory=list)
    quotes: Quotes = field(default_factory=Quotes)
    quotes_read: int = 0
    """So many pieces of the statement are in `quotes`."""


class Parser:
    """
    Reads a log piece by piece; memory is bounded whatever is in it.

    Args:
        carried: What earlier parts of the log said that later entries rely on; as `carried` was at `position`.
        position: Byte of the file the first piece begins with.
    """

    def __init__(self, carried: Carried | None = None, position: int = 0) -> None:
        self.carried = carried or Carried()
        self.position = position
        """Reading may go on from here, with `carried`: everything before has become an entry or a loss."""
        self.losses = Losses()
        self._at = position
        self._rest = b""
        self._is_continued = False
        self._state = _State.NOTHING
        self._open = _Open(position)
        self._done: list[Entry] = []

    def feed(self, piece: bytes) -> list[Entry]:
        """Read the next bytes and return the entries that are known to have ended."""
        lines = (self._rest + piece).split(b"\n")
        self._rest = lines.pop()
        for line in lines:
            if self._state is _State.HEADER and line[:3] in _FACTS and not self._is_continued:
                self._at += len(line) + 1  # most lines of a log
                self._add_header(line)
            else:
                self._line(line, len(line) + 1, ended=True)
        if len(self._rest) > MAX_LINE_BYTES:
            part, self._rest = self._rest, b""
            self._line(part, len(part), ended=False)
        return self._taken()

    def quiet(self) -> list[Entry]:
        """Nothing followed for a while: the last entry has ended if its statement has."""
        if self._rest or self._state is not _State.STATEMENT:
            return []
        if self._open.doubtful:
            self._are_text()
        if self._open.last_line.endswith(b";") and (self._open.tail or not self._is_inside_quotes()):
            self._end_entry(self._at)
        return self._taken()

    def finish(self) -> list[Entry]:
        """Nothing will ever follow: whatever the last statement ends with, it has ended."""
        if self._rest:
            line, self._rest = self._rest, b""
            self._line(line, len(line), ended=True)
        if self._open.doubtful:
            self._are_text()
        self._end_entry(self._at)
        return self._taken()

    def _taken(self) -> list[Entry]:
        done, self._done = self._done, []
        return done

    def _line(self, line: bytes, length: int, *, ended: bool) -> None:
        starts, self._at = self._at, self._at + length
        is_continued, self._is_continued = self._is_continued, not ended
        line = line.removesuffix(b"\r")
        if is_continued and self._state is not _State.STATEMENT:
            self._skip(length)
            self.position = self._at if self._state is _State.NOTHING else self.position
        elif self._state is _State.STATEMENT:
            self._in_statement(line, starts, is_continued)
        elif self._state is _State.HEADER:
            self._in_header(line, starts)
        else:
            self._in_nothing(line, starts, length)

    def _in_nothing(self, line: bytes, starts: int, length: int) -> None:
        if _STARTS.match(line):
            self._begin(line, starts)
            return
        if line.startswith(_ADMINISTRATOR):
            self.losses.malformed += 1
        elif line.strip() and not (_server_starts(line) or _SERVER_SAYS.match(line)):
            self._skip(length)
        self.position = self._at

    def _in_header(self, line: bytes, starts: int) -> None:
        entry = self._open
        if line.startswith(b"#"):
            if line.startswith(_ADMINISTRATOR):
                self._begin_statement(line[2:])
            elif entry.settings and _STARTS.match(line):  # an empty statement, which leaves no line of its own
                self._end_entry(starts, is_empty=True)
                self._begin(line, starts)
            elif (entry.has_query_time or entry.header_bytes > MAX_HEADER_BYTES) and _starts_over(line):
                self._end_entry(starts)
                self._begin(line, starts)
            else:
                self._add_header(line)
        elif not entry.settings and _USE.fullmatch(line):
            entry.database = line[4:].partition(b";")[0].strip(b"` ").decode("utf-8", "replace")
        elif not entry.settings and _SET.fullmatch(line):
            entry.settings = line
        elif _server_starts(line):
            self._end_entry(starts)
            self.position = self._at
        elif line.strip() or entry.settings:
            self._begin_statement(line)

    def _in_statement(self, line: bytes, starts: int, is_continued: bool) -> None:
        entry = self._open
        if entry.doubtful:
            may_be = line.startswith(b"#") and not entry.doubtful[-1][0].endswith(b";")  # no line of a header ends so
            if may_be and len(entry.doubtful) < _MAX_DOUBTFUL_LINES and len(line) < MAX_HEADER_BYTES:
                entry.doubtful.append((line, starts))
                if is_whole([each for each, _ in entry.doubtful]):
                    self._are_header()
                return
            self._are_text()
        if is_continued:
            self._add_statement(line, is_continued=True)
        elif line.startswith(b"#") and _STARTS.match(line):
            if entry.last_line.endswith(b";") and not self._is_inside_quotes():
                self._end_entry(starts)
                self._begin(line, starts)
            else:
                entry.doubtful.append((line, starts))
        elif _server_starts(line) and not self._is_inside_quotes():
            self._end_entry(starts)
            self.position = self._at
        else:
            self._add_statement(line)

    def _are_header(self) -> None:
        lines = self._open.doubtful
        self._end_entry(lines[0][1])
        self._begin(*lines[0])
        for line, _ in lines[1:]:
            self._add_header(line)

    def _are_text(self) -> None:
        lines, self._open.doubtful = self._open.doubtful, []
        for line, _ in lines:
            self._add_statement(line)

    def _is_inside_quotes(self) -> bool:
        """Whether the statement, as far as it was read, ends inside a literal; of one over the limit nobody knows."""
        entry = self._open
        for piece in entry.statement[entry.quotes_read :]:
            entry.quotes.read(piece)
        entry.quotes_read = len(entry.statement)
        return entry.quotes.is_open or bool(entry.tail)

    def _begin(self, line: bytes, starts: int) -> None:
        self._state = _State.HEADER
        self._open = _Open(starts)
        self._add_header(line)

    def _add_header(self, line: bytes) -> None:
        entry = self._open
        entry.header_bytes += len(line)
        if entry.header_bytes > MAX_HEADER_BYTES:
            self._skip(len(line))
            return
        entry.header.append(line[:MAX_HEADER_LINE_BYTES])
        entry.has_query_time = entry.has_query_time or b"Query_time: " in line

    def _begin_statement(self, line: bytes) -> None:
        self._state = _State.STATEMENT
        self._add_statement(line)

    def _add_statement(self, line: bytes, *, is_continued: bool = False) -> None:
        entry = self._open
        entry.last_line = line[-64:]
        if entry.statement and not is_continued:
            line = b"\n" + line
        room = max(MAX_STATEMENT_BYTES - entry.statement_bytes, 0)
        entry.statement_bytes += len(line)
        if room:
            entry.statement.append(line[:room])
        if len(line) > room:
            entry.tail = (entry.tail + line[room:])[-TAIL_BYTES:]

    def _end_entry(self, ends: int, *, is_empty: bool = False) -> None:
        """Whatever is open becomes an entry or a loss; reading may go on at `ends`."""
        entry, self._open, state = self._open, _Open(ends), self._state
        self._state = _State.NOTHING
        self.position = ends
        if state is _State.NOTHING:
            return
        read, self.carried = read_header(entry.header, entry.settings, entry.database, self.carried)
        if read is None or not (state is _State.STATEMENT or is_empty):
            self.losses.malformed += 1
            return
        self._skip(max(entry.statement_bytes - MAX_STATEMENT_BYTES - len(entry.tail), 0))
        read.position = entry.starts
        read.statement = _text(b"".join(entry.statement), is_last=not entry.tail)
        read.tail = _text(entry.tail, is_last=True)
        self._done.append(read)

    def _skip(self, size: int) -> None:
        self.losses.skipped_bytes += size


def _server_starts(line: bytes) -> bool:
    return b", Version: " in line and _SERVER_STARTS.match(line) is not None


def _starts_over(line: bytes) -> bool:
    return line.startswith((b"# Time: ", b"# User@Host: "))


def _text(text: bytes, *, is_last: bool) -> str:
    if is_last:
        text = text.rstrip().removesuffix(b";").rstrip()
    return text.decode("utf-8", "replace")
