"""
What a killed ClickHouse leaves behind: the token of an INSERT whose part was never stored.

MergeTree writes a part's token into the table's log before it renames the part (`MergeTreeSink::finishDelayedChunk`).
A process that is killed in between leaves the token without the part, and the INSERT that is repeated with it would
store nothing. So before the database opens, such tokens are removed.

A log has a line for each part, `1 <part> <token>` when it was added and `2 <part> <token>` when it was removed, with
tabs in between (`MergeTreeDeduplicationLog.cpp`). A part's name is `<partition>_<first block>_<last block>_<level>`,
then maybe `_<mutation>`; a merged part has the blocks of all its sources.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

LAST_BYTES: Final = 64 * 1024
"""Of a log, about 700 parts. What was inserted when the process was killed is at its end."""
_PART: Final = re.compile(r"(?P<partition>[0-9A-Za-z-]+)_(?P<first>\d+)_(?P<last>\d+)_\d+(?:_\d+)?")
_ADDED, _REMOVED = "1", "2"


def forget_lost_parts(data: Path) -> int:
    """
    Remove the tokens of parts that are not there, in all tables of a database that is not open; return their number.

    Args:
        data: ClickHouse's folder, with `store/` in it.

    Raises:
        OSError: a log cannot be read or written.
    """
    count = 0
    for log, lost in lost_parts(data):
        with log.open("a") as log_file:
            log_file.writelines(lost)
            log_file.flush()
            os.fsync(log_file.fileno())
        count += len(lost)
    return count


def lost_parts(data: Path) -> Iterator[tuple[Path, list[str]]]:
    """
    The newest log of each table that has tokens of parts that are not there, and the lines that remove these.

    Raises:
        OSError: a log cannot be read.
    """
    for folder in data.glob("store/*/*/deduplication_logs"):
        logs = sorted(folder.glob("deduplication_log_*.txt"), key=lambda log: int(log.stem.rpartition("_")[2]))
        if logs and _is_whole(logs[-1]) and (lost := _removals(folder, logs)):
            yield logs[-1], lost


def _removals(folder: Path, logs: list[Path]) -> list[str]:
    known: dict[str, str] = {}
    for log in logs[-2:]:  # the newest may have just been begun
        for operation, part, token in _records(log):
            if operation == _ADDED:
                known[token] = part
            else:
                known.pop(token, None)
    is_there = _Parts(folder.parent)
    return [f"{_REMOVED}\t{part}\t{token}\n" for token, part in known.items() if not is_there.covers(part)]


def _records(log: Path) -> Iterable[list[str]]:
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - LAST_BYTES))
        lines = file.read().decode("utf-8", "replace").splitlines()
    return [fields for line in lines if len(fields := line.split("\t")) == 3 and fields[0] in (_ADDED, _REMOVED)]


def _is_whole(log: Path) -> bool:
    """Say whether its last line is complete; otherwise ClickHouse drops that line, which is that of the lost part."""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - 1))
        return file.read() in (b"", b"\n")


class _Parts:
    """The parts in the folder of a table, those that were merged too."""

    def __init__(self, table: Path) -> None:
        self._blocks: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for entry in os.scandir(table):
            if (match := _PART.fullmatch(entry.name)) is not None:
                self._blocks[match["partition"]].append((int(match["first"]), int(match["last"])))

    def covers(self, part: str) -> bool:
        match = _PART.fullmatch(part)
        if match is None:  # a name of a later version: nothing is known of it
            return True
        first, last = int(match["first"]), int(match["last"])
        return any(start <= first and last <= end for start, end in self._blocks[match["partition"]])
