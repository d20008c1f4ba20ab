"""The processes of embedded engines."""

from __future__ import annotations

from pathlib import Path

from walltime_collector.clickhouse.embedded.engine import EmbeddedEngine
from walltime_collector.errors import EngineUnavailable

PROGRAM = "walltime_collector.clickhouse.embedded.process"


def engines_of(parent: int) -> list[int]:
    """The engine's processes that this one started, by their ids."""
    threads = Path(f"/proc/{parent}/task").iterdir()
    started = [int(each) for thread in threads for each in (thread / "children").read_text().split()]
    return [each for each in started if PROGRAM.encode() in Path(f"/proc/{each}/cmdline").read_bytes()]


def is_there(process: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{process}/stat").read_text()
    except FileNotFoundError:
        return False


def answers(engine: EmbeddedEngine) -> bool:
    try:
        return engine.query("SELECT 1 AS n") == [{"n": 1}]
    except EngineUnavailable:
        return False
