"""
Finds the records that the database cannot store, among those that it can.

A refused INSERT stores nothing, so the halves of a refused segment are inserted under tokens of their own. A database
process that ended may have stored part of the segment: under other tokens that part would be stored twice. So records
that end the process are searched in a second database, and what is left of the segment keeps its token.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable, Generator, Sequence
from pathlib import Path

from ..clickhouse.embedded.engine import EmbeddedEngine
from ..errors import EngineEnded, InsertRefused
from ..spool.segment import Record

Numbered = Sequence[tuple[int, Record]]
"""Records with their positions in the segment."""

_TRIES = 2
"""How often the process must end over a single record: processes end for other reasons too."""


def search(part: Numbered, fails: Callable[[Numbered], bool]) -> list[int]:
    """The positions of the records that fail, each by itself, by halving what fails."""
    steps = searching(part, fails)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return list(end.value)


def searching(
    part: Numbered, fails: Callable[[Numbered], bool], *, is_known: bool = False
) -> Generator[None, None, list[int]]:
    """The same, yielding before each try; `is_known`: the part surely fails."""
    is_one = len(part) == 1
    if is_one or not is_known:
        yield
        if not fails(part):
            return []
    if is_one:
        return [part[0][0]]
    left, right = part[: len(part) // 2], part[len(part) // 2 :]
    failing = yield from searching(left, fails)
    return failing + (yield from searching(right, fails, is_known=not failing))


class Trial:
    """Tries records in a database that is thrown away; while it exists, it takes as much memory as the other one."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def deadly(self, records: Sequence[Record]) -> list[int]:
        """
        Return the positions of the records that end the database's process; none, if it survives them all.

        Raises:
            EngineUnavailable, MigrationFailed, OSError: The records cannot be tried now.
        """
        shutil.rmtree(self._directory, ignore_errors=True)  # left by a collector that was killed here
        self._directory.mkdir(mode=0o700)
        try:
            return search(list(enumerate(records)), self._ends)
        finally:
            shutil.rmtree(self._directory, ignore_errors=True)

    def _ends(self, part: Numbered) -> bool:
        return all(self._ends_once(part) for _ in range(_TRIES if len(part) == 1 else 1))

    def _ends_once(self, part: Numbered) -> bool:
        # a new engine for each try: an engine that ends often waits longer before each restart
        engine = EmbeddedEngine(self._directory / "chdb", "trial")
        try:
            engine.migrate()
            # no token twice: ClickHouse would skip the INSERT
            engine.insert([record for _, record in part], f"trial {uuid.uuid4()}")
        except EngineEnded:
            return True
        except InsertRefused:  # the process survives, and the loader meets the refusal itself
            return False
        finally:
            engine.close()
        return False
