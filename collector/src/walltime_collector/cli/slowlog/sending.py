"""Reads a slow log, and sends the rows of what the collector does not have yet; literals do not leave this process."""

from __future__ import annotations

import hashlib
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import Any, Final, NamedTuple

from ...errors import CommandFailed
from ...format import iso_time
from ...observe.slowlog.entry import Entry
from ...observe.slowlog.imports import Position
from ...observe.slowlog.lines import HEADER
from ...observe.slowlog.log_text import LogText
from ...observe.slowlog.parser import Parser
from ...observe.slowlog.rows import rows
from ..client import Client
from .progress import Done

_FEED_BYTES: Final = 256 * 1024
_BATCH_BYTES: Final = 2 * 1024 * 1024
"""Of rows; in JSON they are up to three times as long, and the collector takes 8 MiB."""
_MAX_UNHASHED_BYTES: Final = 16 * 1024 * 1024
"""Of text in memory: few rows may have much text around them."""


@dataclass
class Report:
    """What became of one log."""

    name: str
    stored: int = 0
    stored_before: int = 0
    since: str = ""
    """Of the entries that were stored."""
    until: str = ""
    unfinished_bytes: int = 0
    """Of an entry at the end that is not whole."""
    malformed: int = 0
    skipped_bytes: int = 0
    error: str = ""
    """Why the log could not be read any further."""


class _Row(NamedTuple):
    position: int
    line: bytes
    started_us: int | None


class _OtherLog(Exception):
    """The known log begins like this one, and goes on differently."""


def import_log(client: Client, path: str, server: str, done: Done) -> Report:
    """
    Send what is new in a log.

    Raises:
        CommandFailed: The collector does not take it; what it has taken stays stored.
    """
    number = 0
    while True:
        sending = _Sending(client, path, server, number)
        try:
            return sending.run(done)
        except _OtherLog as error:
            if path == "-":
                raise CommandFailed(
                    "stdin: another log that begins like this one was imported; import this one as a file"
                ) from error
            number += 1
        except CommandFailed as error:
            if not sending.report.stored:
                raise
            stored = f"{sending.report.stored:,} entries of {sending.report.name} are stored"
            raise CommandFailed(f"{error}; {stored}: run the same command again, and it goes on from there") from error


class _Sending:
    """
    One reading of a log.

    Args:
        number: Of the logs with this beginning that the collector knows.
    """

    def __init__(self, client: Client, path: str, server: str, number: int) -> None:
        self.report = Report("stdin" if path == "-" else path)
        self._client, self._path, self._server, self._number = client, path, server, number
        self._parser = Parser()
        self._hash, self._hashed_bytes, self._unhashed = hashlib.sha256(), 0, b""
        self._beginning = ""
        self._read_at_s = 0
        self._at = self._known = Position()
        self._rows: list[_Row] = []
        self._rows_bytes = 0

    def run(self, done: Done) -> Report:
        """Send all that is new; raises _OtherLog and CommandFailed."""
        report, parser = self.report, self._parser
        text = b""
        try:
            with closing(LogText(self._path)) as log:
                for piece in log.pieces():
                    for at in range(0, len(piece), _FEED_BYTES):
                        text = piece[at : at + _FEED_BYTES]
                        self._unhashed += text
                        self._take(parser.feed(text))
                    done(log.read_bytes)
        except OSError as error:
            report.error = error.strerror or str(error)
        entries = [] if text.endswith(b"\n") else parser.feed(b"\n")  # the last line of some exports has none
        self._take(entries + parser.quiet())
        whole_bytes = self._hashed_bytes + len(self._unhashed)
        self._send(parser.position)
        report.unfinished_bytes = max(whole_bytes - parser.position, 0)
        report.malformed, report.skipped_bytes = parser.losses.malformed, parser.losses.skipped_bytes
        return report

    def _take(self, entries: list[Entry]) -> None:
        if entries and not self._beginning:
            self._begin(entries[0].position)
        new = [entry for entry in entries if entry.position >= self._known.offset]
        self.report.stored_before += len(entries) - len(new)
        lines = rows(new, self._server, self._read_at_s).splitlines(keepends=True)
        for entry, line in zip(new, lines, strict=True):
            if self._rows_bytes + len(line) > _BATCH_BYTES:
                self._send(entry.position)
            self._rows.append(_Row(entry.position, line, entry.started_us))
            self._rows_bytes += len(line)
        if not self._rows or len(self._unhashed) > _MAX_UNHASHED_BYTES:
            self._send(self._parser.position)

    def _begin(self, first: int) -> None:
        """Ask how far this log is stored."""
        text = self._unhashed[first - self._hashed_bytes :]
        header = HEADER.match(text)
        beginning = self._hash.copy()
        beginning.update(self._unhashed[: first - self._hashed_bytes] + text[: header.end() if header else 0])
        self._beginning = beginning.hexdigest()
        known = self._client.post("/api/slow-log/known", {"beginning": self._beginning})
        self._read_at_s = known["now_s"]
        if self._number < len(known["logs"]):
            self._at = self._known = Position(**known["logs"][self._number])

    def _send(self, end: int) -> None:
        """Send the rows that were taken, as all that is new up to a position, at most the end of what was read."""
        end = min(end, self._hashed_bytes + len(self._unhashed))
        sha256 = self._hash_to(end)
        if not self._rows:
            return
        batch: dict[str, Any] = {
            "beginning": self._beginning,
            "number": self._number,
            "start": asdict(self._at),
            "end": {"offset": end, "sha256": sha256},
            "rows": b"".join(row.line for row in self._rows).decode(),
        }
        self._client.post("/api/slow-log/import", batch)
        self._at = Position(end, sha256)
        self.report.stored += len(self._rows)
        times = [iso_time(row.started_us * 1_000) for row in self._rows if row.started_us is not None]
        self.report.since = min([*times, self.report.since or "~"]).strip("~")
        self.report.until = max([*times, self.report.until])
        self._rows, self._rows_bytes = [], 0

    def _hash_to(self, end: int) -> str:
        """The hash of all before a position; on the way, check that what is stored is the same."""
        known = self._known
        if self._hashed_bytes < known.offset <= end:
            self._hash_bytes(known.offset)
            if self._hash.hexdigest() != known.sha256:
                raise _OtherLog
        self._hash_bytes(end)
        return self._hash.hexdigest()

    def _hash_bytes(self, end: int) -> None:
        size = end - self._hashed_bytes
        self._hash.update(self._unhashed[:size])
        self._unhashed, self._hashed_bytes = self._unhashed[size:], end
