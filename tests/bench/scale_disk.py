"""What the shop's real data takes on disk, merged, column by column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.bench.ingest_sender import Body
from tests.bench.scale_fill import engine_in, store

_PARTS: Final = (Path(__file__).with_name("scale_parts.sql")).read_text("utf-8")
_COLUMNS: Final = (Path(__file__).with_name("scale_columns.sql")).read_text("utf-8")


@dataclass(frozen=True)
class Column:
    """A column; bytes are per row of its table."""

    name: str
    kind: str
    compressed: float
    uncompressed: float


@dataclass(frozen=True)
class Table:
    """A table of the data; bytes on disk are all of a part's files."""

    name: str
    rows: int
    bytes_on_disk: int
    index_bytes: int
    columns: Sequence[Column]


def measure_disk(folder: Path, bodies: Sequence[Body]) -> list[Table]:
    """Store the bodies in `folder`, merge each table whole, and look at the parts. Every column gets a file."""
    with engine_in(folder) as engine:
        tables = [str(row["name"]) for row in engine.query(_MERGED)]
        for table in tables:
            engine.command(f"ALTER TABLE {table} MODIFY SETTING {_WIDE}")
        store(engine, bodies)
        for table in tables:
            engine.command(f"OPTIMIZE TABLE {table} FINAL")
        columns: dict[str, list[Column]] = {}
        for row in engine.query(_COLUMNS):
            column = Column(row["column"], row["type"], float(row["compressed"]), float(row["uncompressed"]))
            columns.setdefault(row["table"], []).append(column)
        return [
            Table(row["table"], int(row["rows"]), int(row["disk"]), int(row["indexes"]), columns[row["table"]])
            for row in engine.query(_PARTS)
        ]


_WIDE: Final = "min_bytes_for_wide_part = 0, min_rows_for_wide_part = 0"
_MERGED: Final = (
    "SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree%'"
    " AND name != 'schema_migrations'"
)
