"""The digest of slow logs without a collector: read in parts by several processes, summed in memory."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from ...errors import CommandFailed
from ...format import iso_time, plural, printable, size
from ...query.digest.answer import Digest
from ...query.digest.rank import digested, ranked
from ...slowlog.lines import NEXT_HEADER
from ...slowlog.parser import Parser
from ...slowlog.source import PIECE_BYTES, Source
from ..progress import progress
from .sums import Sums, Wanted

Done = Callable[[int], object]
_PART_BYTES: Final = 8 * 1024 * 1024
_PARALLEL_BYTES: Final = 2 * _PART_BYTES
"""Of less, starting processes takes longer than reading."""
_LOOK_BYTES: Final = 1024 * 1024
_NO_LOG: Final = "not a slow log of MySQL, MariaDB or Percona Server: there is no entry in it"
_TIME: Final = re.compile(rb"\n(?=# Time: )")


class Part(NamedTuple):
    """Bytes of a plain log that begin with a header which has a time, so that they can be read alone."""

    path: str
    start: int
    end: int
    is_last: bool


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
            failures.append(f"{name}: {error or _NO_LOG}")
        elif lost := _lost(found):
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


def _lost(sums: Sums) -> str:
    malformed, skipped_bytes = sums.losses.malformed, sums.losses.skipped_bytes
    parts = [plural(malformed, "header") + " without a readable statement or time"] if malformed else []
    parts += [f"{size(skipped_bytes)} that are no part of an entry"] if skipped_bytes else []
    return "left out: " + ", ".join(parts) if parts else ""


def _read_all(paths: Sequence[str], wanted: Wanted) -> Iterator[tuple[str, Sums, str]]:
    """Each log with its sums, and an error or nothing."""
    sizes = {path: Path(path).stat().st_size for path in paths if path != "-" and Path(path).is_file()}
    whole_bytes = 0 if "-" in paths else sum(sizes.values())
    processes = min(os.cpu_count() or 1, 8)
    is_parallel = processes > 1 and sum(sizes.values()) >= _PARALLEL_BYTES
    with progress("reading", whole_bytes) as done:
        if not is_parallel:
            yield from _in_turn(paths, wanted, done)
            return
        with ProcessPoolExecutor(processes) as pool:
            yield from _in_parallel(paths, wanted, pool, done)


def _in_turn(paths: Sequence[str], wanted: Wanted, done: Done) -> Iterator[tuple[str, Sums, str]]:
    before = 0
    for path in paths:
        sums, error = read_whole(path, wanted, partial(_add, done, before))
        before += Path(path).stat().st_size if path != "-" and not error else 0
        yield path, sums, error


def _add(done: Done, before: int, read_bytes: int) -> None:
    done(before + read_bytes)


def _in_parallel(paths: Sequence[str], wanted: Wanted, pool: Executor, done: Done) -> Iterator[tuple[str, Sums, str]]:
    """All parts of all logs at once; the results are in the order of the paths."""
    started: list[tuple[str, list[tuple[Part, Future[tuple[Sums, bool]]]] | Future[tuple[Sums, str]] | None]] = []
    for path in paths:
        if not Path(path).is_file():  # a pipe, which this process alone has
            started.append((path, None))
        elif parts := parts_of(path):
            started.append((path, [(part, pool.submit(read_part, part, wanted)) for part in parts]))
        else:
            started.append((path, pool.submit(read_whole, path, wanted)))
    read_bytes = 0
    for path, results in started:
        if results is None:
            yield path, *read_whole(path, wanted, lambda read: None)
        elif isinstance(results, Future):
            yield path, *results.result()
        else:
            sums = Sums(wanted)
            for part, result in results:
                found, is_whole = result.result()
                if not is_whole:  # a literal has what looks like a header: the rest has to be read in one go
                    found, _ = read_part(part._replace(end=results[-1][0].end, is_last=True), wanted)
                sums.merge(found)
                done(read_bytes + part.end)
                if not is_whole:
                    break
            read_bytes += results[-1][0].end
            yield path, sums, ""


def read_whole(path: str, wanted: Wanted, done: Done = lambda read: None) -> tuple[Sums, str]:
    """The sums of a log, and an error or nothing; after an error the sums are of what was before."""
    sums, parser = Sums(wanted), Parser(encodes=False)
    try:
        with closing(Source(path)) as source:
            for piece in source.pieces():
                sums.add(parser.feed(piece))
                done(source.read_bytes)
    except OSError as error:
        problem = error.strerror or str(error)
    else:
        problem = ""
    sums.add(parser.finish())
    sums.losses = parser.losses
    return sums, problem


def parts_of(path: str) -> list[Part]:
    """Divide a plain log; nothing of another or one that cannot be read, whose error read_whole finds."""
    try:
        with closing(Source(path)) as source:
            if not source.is_plain:
                return []
        with Path(path).open("rb") as file:
            end = os.fstat(file.fileno()).st_size
            starts = [0]
            for at in range(_PART_BYTES, end - _LOOK_BYTES, _PART_BYTES):
                file.seek(at)
                look = file.read(_LOOK_BYTES)
                begins = (each.end() for each in _TIME.finditer(look) if NEXT_HEADER.match(look, each.end()))
                starts += [at + each for each in [next(begins, -1)] if each >= 0]
    except OSError:
        return []
    ends = [*starts[1:], end]
    return [Part(path, start, to, to == end) for start, to in zip(starts, ends, strict=True)]


def read_part(part: Part, wanted: Wanted) -> tuple[Sums, bool]:
    """
    The sums of a part, and whether it ends where an entry ends; if not, they are worth nothing.

    Where an entry ends depends on what follows, so it reads a little of the next part as well.
    """
    sums, parser = Sums(wanted), Parser(position=part.start, encodes=False)
    with Path(part.path).open("rb") as file:
        file.seek(part.start)
        while (left := part.end - file.tell()) > 0 and (piece := file.read(min(PIECE_BYTES, left))):
            sums.add(parser.feed(piece))
        if part.is_last:
            sums.add(parser.finish())
        else:
            look = file.read(_LOOK_BYTES)
            header = NEXT_HEADER.match(look)
            following = []
            for piece in (look[: header.end()], look[header.end() :]) if header else (look,):
                following += parser.feed(piece)
                if parser.position >= part.end:
                    break
            sums.add(entry for entry in following if entry.position < part.end)
            ends = min((entry.position for entry in following if entry.position >= part.end), default=parser.position)
    sums.losses = parser.losses
    return sums, part.is_last or ends == part.end
