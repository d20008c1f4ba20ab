"""Finds the requests that the embedded database dies of, in a database of its own that is thrown away."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..clickhouse.embedded.engine import EmbeddedEngine
from ..errors import EngineEnded, InsertRefused
from ..spool.segment import Record

_TRIES = 2
"""Deaths of a request alone, before it is to blame: other things end processes too."""


class Trial:
    """
    Not in the database itself: each try would end that one's process, and with it everybody's questions; and what it
    stored of the segment before it ended would be stored again under the tokens of the segment's halves.

    Args:
        directory: Of the database that is thrown away; it takes as much memory as the other one while it is there.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._tried = 0

    def deadly(self, records: Sequence[Record]) -> list[int]:
        """
        The positions of the records that the database dies of, each by itself; none, when it survives them all.

        Raises:
            EngineUnavailable, MigrationFailed, OSError: It cannot be tried now.
        """
        shutil.rmtree(self._directory, ignore_errors=True)  # what a collector that was killed here left
        self._directory.mkdir(mode=0o700)
        try:
            return list(self._deadly(list(enumerate(records))))
        finally:
            shutil.rmtree(self._directory, ignore_errors=True)

    def _deadly(self, part: Sequence[tuple[int, Record]]) -> Iterator[int]:
        if all(self._dies(part) for _ in range(_TRIES if len(part) == 1 else 1)):
            if len(part) == 1:
                yield part[0][0]
                return
            middle = len(part) // 2
            yield from self._deadly(part[:middle])
            yield from self._deadly(part[middle:])

    def _dies(self, part: Sequence[tuple[int, Record]]) -> bool:
        # opened anew each time: one that ended is started again later and later
        engine = EmbeddedEngine(self._directory / "chdb", "trial")
        self._tried += 1
        try:
            engine.migrate()
            engine.insert([record for _, record in part], f"trial {self._tried}")
        except EngineEnded:
            return True
        except InsertRefused:  # it lives, and will say so again
            return False
        finally:
            engine.close()
        return False
