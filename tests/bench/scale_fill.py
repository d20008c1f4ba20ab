"""
Fills the tables with what the shop really sent, many times over: other ids and other times, everything else as it was.

Rows are copied inside the database (INSERT SELECT from numbers()), into the tables that the views fill otherwise; views
on those tables see them as always.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from walltime_collector.clickhouse.embedded.engine import EmbeddedEngine
from walltime_collector.spool.segment import Record

from tests.bench.ingest_sender import Body

DATABASE: Final = "walltime"
COPY: Final = Path(__file__).with_suffix(".sql").read_text("utf-8")
TABLES: Final = ("transactions", "spans")
ROWS_OF_AN_INSERT: Final = 500_000
"""Measured: larger blocks cost more to sort, smaller ones more to merge."""
BYTES_OF_A_SEGMENT: Final = 20_000_000
CORES: Final = 2
"""Inserts at a time; each runs on one."""
LONGEST_MERGING_S: Final = 900
DAY_NS: Final = 86_400_000_000_000


@dataclass(frozen=True)
class Filled:
    """What is in the tables now, and how long it took to get there."""

    transactions: int
    spans: int
    copying_s: float
    merging_s: float
    parts: int
    """Of both tables."""


@contextmanager
def engine_in(folder: Path) -> Iterator[EmbeddedEngine]:
    """The embedded engine of a collector whose data is in `folder`, with its tables; no collector may run there."""
    folder.mkdir(parents=True, exist_ok=True)
    engine = EmbeddedEngine(folder / "chdb", DATABASE)
    try:
        engine.migrate()
        yield engine
    finally:
        engine.close()


def store(engine: EmbeddedEngine, bodies: Sequence[Body]) -> None:
    """The way the loader does: as OTLP, through the views, in inserts as large as its segments."""
    now_ns, records, size = time.time_ns(), list[Record](), 0
    for at, body in enumerate(bodies):
        records.append(Record(now_ns, body.spans, body.content))
        size += len(body.content)
        if size >= BYTES_OF_A_SEGMENT or at == len(bodies) - 1:
            engine.insert(records, f"bench-{now_ns}-{at}")
            records, size = [], 0


def multiply(engine: EmbeddedEngine, transactions: int, days: float, progress: Callable[[float], object]) -> Filled:
    """
    Replace what is stored by copies of it, until there are so many transactions, spread over the last `days`.

    Args:
        progress: Told the share that is done.
    """
    started_s = time.monotonic()
    for table in TABLES:
        engine.command(f"CREATE TABLE sample_{table} AS {table} ENGINE = MergeTree ORDER BY tuple()")
        engine.command(f"INSERT INTO sample_{table} SELECT * FROM {table}")
    for table in _tables(engine):
        engine.command(f"TRUNCATE TABLE {table}")
    sizes = {table: _count(engine, f"sample_{table}") for table in TABLES}
    copies = -(-transactions // sizes["transactions"])
    step_ns = int(days * DAY_NS / copies)
    from_ns = time.time_ns() - copies * step_ns
    done, whole = 0, sum(sizes.values()) * copies

    def copy(table: str, first: int, last: int) -> int:
        times = {"first": first, "copies": last - first, "from_ns": from_ns, "step_ns": step_ns}
        engine.command(COPY, {"table": table, "sample": f"sample_{table}", **times}, _INSERT_SETTINGS)
        return (last - first) * sizes[table]

    with ThreadPoolExecutor(CORES) as inserts:
        running = []
        for table, size in sizes.items():
            at_once = max(ROWS_OF_AN_INSERT // size, 1)
            for first in range(0, copies, at_once):
                running.append(inserts.submit(copy, table, first, min(first + at_once, copies)))
        for each in as_completed(running):
            done += each.result()
            progress(done / whole)
    copied_s = time.monotonic()
    for table in TABLES:
        engine.command(f"DROP TABLE sample_{table}")
    wait_for_merges(engine)
    return replace(already(engine), copying_s=copied_s - started_s, merging_s=time.monotonic() - copied_s)


def already(engine: EmbeddedEngine) -> Filled:
    """What an earlier run has left in the tables."""
    return Filled(
        transactions=_count(engine, "transactions"),
        spans=_count(engine, "spans"),
        copying_s=0,
        merging_s=0,
        parts=int(engine.query(_PARTS)[0]["n"]),
    )


_PARTS: Final = (
    "SELECT count() AS n FROM system.parts"
    " WHERE active AND database = currentDatabase() AND table IN ('transactions', 'spans')"
)
_INSERT_SETTINGS: Final = {
    "max_threads": "1",
    "max_insert_threads": "1",
    "min_insert_block_size_rows": str(ROWS_OF_AN_INSERT),
    "min_insert_block_size_bytes": "0",
    "max_insert_block_size": str(ROWS_OF_AN_INSERT),
    "max_execution_time": "0",
    "max_memory_usage": "0",
}


def wait_for_merges(engine: EmbeddedEngine) -> None:
    """Until none has run for two seconds."""
    deadline_s, quiet_since_s = time.monotonic() + LONGEST_MERGING_S, time.monotonic()
    while (now_s := time.monotonic()) < deadline_s and now_s - quiet_since_s < 2:
        if int(engine.query("SELECT count() AS n FROM system.merges")[0]["n"]):
            quiet_since_s = now_s
        time.sleep(0.2)


def _tables(engine: EmbeddedEngine) -> list[str]:
    """Those that hold rows of transactions and spans, whatever they are made from."""
    rows = engine.query(
        "SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree%'"
        " AND name NOT LIKE 'sample\\_%' AND name != 'schema_migrations'"
    )
    return [str(row["name"]) for row in rows]


def _count(engine: EmbeddedEngine, table: str) -> int:
    return int(engine.query(f"SELECT count() AS n FROM {table}")[0]["n"])
