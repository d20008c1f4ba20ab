"""
A process that asks statements through the guard, one JSON string a line, and says what became of each.

    python -m tests.collector.sql.guarded_reader DIRECTORY

It opens the file DIRECTORY/begin when everything is loaded, for whoever watches what it opens afterwards.
"""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path

from walltime_collector.clickhouse.embedded.engine import EmbeddedEngine
from walltime_collector.errors import EngineError, StatementRefused
from walltime_collector.sql.runner import QueryRunner

WARM = [
    "SELECT count(), quantile(0.5)(duration_ns) FROM transactions WHERE service = 'x' GROUP BY name ORDER BY name",
    "SELECT name FROM system.tables",
    "SELECT toDateTime('2024-01-01 00:00:00', 'Europe/Berlin')",
    "EXPLAIN PIPELINE SELECT * FROM spans",
    "SELECT match('a', 'b+'), JSONExtractString('{}', 'a'), sum(1) OVER () FORMAT JSON",
]


def main() -> None:
    """Answer until stdin ends."""
    directory = Path(sys.argv[1])
    engine = EmbeddedEngine(directory / "data", "walltime")
    engine.migrate()
    runner = QueryRunner(engine, "walltime")
    for statement in WARM:
        runner.run(statement, name="warm", parameters={})
    with contextlib.suppress(EngineError):  # its first exception reads the symbols of all libraries
        runner.run("SELECT throwIf(1)", name="warm", parameters={})
    with contextlib.suppress(OSError):
        (directory / "begin").open()
    for line in sys.stdin:
        content, outcome = b"", "answered"
        try:
            content = runner.run(json.loads(line), name="x", parameters={"p": "v"}, seconds=1).content
        except StatementRefused:
            outcome = "refused"
        except EngineError:
            outcome = "failed"
        print(json.dumps([outcome, content.decode("latin-1")[:100_000]]), flush=True)
    engine.close()


if __name__ == "__main__":
    main()
