"""
Finds the records that the database cannot store, among those that it can.

A refused INSERT stores nothing, so the halves of a refused segment are inserted under tokens of their own. A database
process that ended may have stored part of the segment: under other tokens that part would be stored twice. So records
that end the process are searched in a second database, and what is left of the segment keeps its token.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Sequence
from pathlib import Path

from ..clickhouse.embedded.engine import EmbeddedEngine
from ..errors import EngineEnded, InsertRefused
from ..spool.segment import Record
from .search import Part, search

Numbered = Part[Record]
"""Records with their positions in the segment."""

_TRIES = 2
"""How often the process must end over a single record: processes end for other reasons too."""


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
