"""Stores the batch of a journal in the engine, once; entries that the engine refuses cost no other."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from ...clickhouse.engine import Engine
from ...crashpoint import reach
from ...errors import InsertRefused
from ...health.counters import Health
from ...load.search import Part, search
from ...spool.directory import make_private
from ...spool.disk import Disk, write_whole
from .journal import BatchJournal
from .rows import TABLE

log = logging.getLogger(__name__)

_MAX_DEAD_BYTES: Final = 10 * 1024 * 1024


def store(
    journal: BatchJournal[Any],
    engine: Engine,
    health: Health,
    dead: Path,
    source: str,
    counters: tuple[str, str] = ("slow_log_entries", "slow_log_refused"),
) -> None:
    """
    Store the batch of the journal that is perhaps not stored; nothing if there is none.

    Args:
        dead: Folder of what the engine refuses.
        source: What the entries are from, for the log.
        counters: Of the entries that are stored, and of those that the engine refuses.

    Raises:
        OSError: The journal cannot be written.
        EngineUnavailable: The batch stays in the journal.
    """
    batch = journal.unstored
    if batch is None:
        return
    reasons: dict[int, str] = {}

    def is_refused(part: Part[bytes]) -> bool:
        is_all = len(part) == len(entries)
        token = batch.token if is_all else f"{batch.token}:{part[0][0]}+{len(part)}"
        try:
            engine.insert_rows(TABLE, b"".join(row for _, row in part), token)
        except InsertRefused as error:
            reasons[part[0][0]] = str(error)
            return True
        return False

    entries = batch.rows.splitlines(keepends=True)
    refused = search(list(enumerate(entries)), is_refused)
    if refused:
        where = _kept(batch.token, [entries[at] for at in refused], dead)
        log.error("%s: the engine refuses %d entries, %s: %s", source, len(refused), where, reasons[refused[0]])
    health.add(counters[0], len(entries) - len(refused))
    health.add(counters[1], len(refused))
    reach("slow_log_inserted")
    journal.stored()


def _kept(name: str, rows: Sequence[bytes], dead: Path) -> str:
    """Keep the rows of entries that the engine refuses, as long as the folder has room; returns where they are."""
    make_private(dead)
    path = dead / f"{name}.json"
    held = sum(size for each, size in Disk().files(dead) if each != path)
    if held + sum(map(len, rows)) > _MAX_DEAD_BYTES:
        return f"lost, because {dead} is full"
    write_whole(Disk(), path, rows)
    return f"kept in {path}"
