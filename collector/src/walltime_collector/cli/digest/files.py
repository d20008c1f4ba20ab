"""The digest of slow logs without a collector: read in parts by several processes, summed in memory."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import closing, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from ...errors import CommandFailed
from ...format import iso_time, printable
from ...observe.slowlog.entry import Entry
from ...observe.slowlog.lines import NEXT_HEADER
from ...observe.slowlog.log_text import PIECE_BYTES, LogText
from ...observe.slowlog.parser import Parser
from ...query.digest.answer import Digest
from ...query.digest.combined import digested, ranked
from ..slowlog.progress import Done, progress
from ..slowlog.words import NO_LOG, left_out
from .sums import Sums, Wanted

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

_PART_BYTES: Final = 8 * 1024 * 1024
_PARALLEL_BYTES: Final = 2 * _PART_BYTES
"""Of less, starting processes takes longer than reading."""
_LOOK_BYTES: Final = 1024 * 1024
_TIME: Final = re.compile(rb"\n(?=# Time: )")


class Part(NamedTuple):
    """
    Bytes of a plain log that begin with a header which has a time, so that they can be read alone.

    Another log is a single part, with `end` as its size on the disk.
    """

    path: str
    start: int
    end: int
    is_last: bool
    is_plain: bool


class LogDigest(NamedTuple):
    """
    A digest, and what could not be read of the logs.

    losses    for people: parts of logs that became no entry
    failures  logs of which nothing more could be read; what was before is in the digest
    """

    digest: Digest
    losses: list[str]
    failures: list[str]


def digest_of_files(paths: Sequence[str], wanted: Wanted, *, by: str, limit: int, statement: str) -> LogDigest:
    """
    Rank the statements of slow logs.

    Raises:
        CommandFailed: No log could be read.
        NotStored: There is no such statement in them.
    """
    sums, losses, failures = Sums(wanted), [], []
    for path, found, error in _read_all(paths, wanted):
        name = printable("stdin" if path == "-" else path)
        is_other = not found.entries and found.losses.skipped_bytes
        if error or is_other:
            failures.append(f"{name}: {error or NO_LOG}")
        elif lost := left_out(found.losses.malformed, found.losses.skipped_bytes):
            losses.append(f"{name}: {lost}")
        sums.merge(found)
    if failures and not sums.entries:
        raise CommandFailed("; ".join(failures))
    rows = sums.rows()
    digest = ranked(
        digested({}, rows),
        since=iso_time(sums.first_us * 1_000) if sums.first_us else "",
        until=iso_time(sums.last_us * 1_000) if sums.last_us else "",
        by=by,
        limit=limit,
        service=wanted.service,
        statement=statement,
        server_ns=rows[0]["all_time_ns"] if rows else 0,
        entries=rows[0]["all_entries"] if rows else 0,
    )
    return LogDigest(digest, losses, failures)


def _read_all(paths: Sequence[str], wanted: Wanted) -> Iterator[tuple[str, Sums, str]]:
    """Each log with its sums, and an error or nothing."""
    parts = {path: parts_of(path) for path in paths}
    whole_bytes = sum(each[-1].end for each in parts.values())
    processes = min(os.cpu_count() or 1, 8, sum(len(each) for each in parts.values()))
    is_parallel = processes > 1 and whole_bytes >= _PARALLEL_BYTES
    with _pool(processes) if is_parallel else nullcontext() as pool:
        # all parts of all logs at once, and before the bar has its thread; a pipe is this process's alone
        results = {
            part: pool.submit(read, part, wanted) for each in parts.values() for part in each if pool and part.end
        }
        with progress("reading", 0 if "-" in paths else whole_bytes) as done:
            read_bytes = 0
            for path in paths:
                sums, error, is_whole = Sums(wanted), "", True
                for part in parts[path]:
                    here = partial(_add, done, read_bytes)
                    found, error, is_whole = results[part].result() if part in results else read(part, wanted, here)
                    if not is_whole:  # a literal has what looks like a header: the rest has to be read in one go
                        found, error, _ = read(part._replace(end=parts[path][-1].end, is_last=True), wanted, here)
                    sums.merge(found)
                    read_bytes += part.end - part.start
                    done(read_bytes)
                    if not is_whole:
                        break
                yield path, sums, error


def _pool(processes: int) -> ProcessPoolExecutor:
    from concurrent.futures import ProcessPoolExecutor  # takes longer to import than a small log to read

    return ProcessPoolExecutor(processes)


def _add(done: Done, before: int, read_bytes: int) -> None:
    done(before + read_bytes)


def parts_of(path: str) -> list[Part]:
    """Divide a plain log; another one, a pipe, and one that cannot be read is one part."""
    if not Path(path).is_file():
        return [Part(path, 0, 0, is_last=True, is_plain=False)]
    size_bytes, is_plain, starts = Path(path).stat().st_size, False, [0]
    with suppress(OSError), closing(LogText(path)) as text:  # what cannot be opened fails again when it is read
        is_plain = text.is_plain
    if is_plain:
        with Path(path).open("rb") as file:
            for at in range(_PART_BYTES, size_bytes - _LOOK_BYTES, _PART_BYTES):
                file.seek(at)
                look = file.read(_LOOK_BYTES)
                begins = (each.end() for each in _TIME.finditer(look) if NEXT_HEADER.match(look, each.end()))
                starts += [at + each for each in [next(begins, -1)] if each >= 0]
    ends = [*starts[1:], size_bytes]
    return [Part(path, start, end, end == size_bytes, is_plain) for start, end in zip(starts, ends, strict=True)]


def read(part: Part, wanted: Wanted, done: Done = lambda read: None) -> tuple[Sums, str, bool]:
    """
    The sums of a part, an error or nothing, and whether the part ends where an entry ends.

    After an error the sums are of what was before. If the part ends inside of an entry, they are worth nothing.
    """
    sums, parser = Sums(wanted), Parser(position=part.start, encodes=False)
    error, is_whole = "", True
    try:
        if part.is_plain:
            is_whole = _read_plain(part, parser, sums, done)
        else:
            with closing(LogText(part.path)) as text:
                for piece in text.pieces():
                    sums.add(parser.feed(piece))
                    done(text.read_bytes)
    except OSError as problem:
        error = problem.strerror or str(problem)
    if part.is_last:
        sums.add(parser.quiet() if error else parser.finish())
    sums.losses = parser.losses
    return sums, error, is_whole


def _read_plain(part: Part, parser: Parser, sums: Sums, done: Done) -> bool:
    with Path(part.path).open("rb") as file:
        file.seek(part.start)
        while (left := part.end - file.tell()) > 0 and (piece := file.read(min(PIECE_BYTES, left))):
            sums.add(parser.feed(piece))
            done(file.tell() - part.start)
        if part.is_last:
            return True
        # where an entry ends depends on what follows, first of all on the header
        look = file.read(_LOOK_BYTES)
        header = NEXT_HEADER.match(look)
        following: list[Entry] = []
        for piece in (look[: header.end()], look[header.end() :]) if header else ():
            following += parser.feed(piece)
            if parser.position >= part.end:
                break
        sums.add(entry for entry in following if entry.position < part.end)
        return part.end == min(
            (each.position for each in following if each.position >= part.end), default=parser.position
        )
