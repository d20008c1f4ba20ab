"""Finds data that the embedded database could not read: parts that it set aside, and files that failed a check."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable

from ..engine import Engine

log = logging.getLogger(__name__)

# ClickHouse's codes: the end of a file too early, a checksum, no such file, a size, damaged data.
_QUERY = """
SELECT concat(database, '.', table, ', ', name) AS what FROM system.detached_parts WHERE reason LIKE 'broken%'
UNION ALL
SELECT last_error_message AS what FROM system.errors
WHERE code IN (32, 33, 40, 107, 226, 228, 229, 246, 273) AND last_error_message LIKE '%store/%'
"""
_FILE = re.compile(r"(?<!\S)\S*store/\w+/[\w-]+/[\w/.-]+")
WHAT_NOW = (
    "its rows are missing; restore them from a backup (docs/operating.md), or remove that folder of the stopped"
    " collector's data, and start it again"
)


class DamagedParts:
    """
    Looks for damage and reports it as long as it lasts: until the database was opened without it.

    Args:
        report: Called with a sentence, empty when there is no damage.
    """

    def __init__(self, engine: Engine, report: Callable[[str], object]) -> None:
        self._engine, self._report = engine, report
        self._logged: set[str] = set()

    def look(self) -> None:
        """Raises EngineError when the engine does not answer."""
        found = sorted({_named(str(row["what"])) for row in self._engine.query(_QUERY)})
        for each in found:
            if each not in self._logged:
                log.error("%s: the database cannot read it; %s", each, WHAT_NOW)
        self._logged |= set(found)
        more = f" and {len(found) - 1} more" if len(found) > 1 else ""
        self._report(f"{found[0]}{more}: the database cannot read it; {WHAT_NOW}" if found else "")


def _named(what: str) -> str:
    """The file of a message; else a table and the name of its part."""
    match = _FILE.search(what)
    return match[0].strip("'") if match else f"table {what}"
