"""The processes of embedded engines."""

from __future__ import annotations

from pathlib import Path

from walltime_collector.clickhouse.embedded.engine import EmbeddedEngine
from walltime_collector.errors import EngineUnavailable

PROGRAM = "walltime_collector.clickhouse.embedded.process"


def engines_of(parent: int) -> list[int]:
    """The engine's processes that this one started, by their ids."""
    threads = Path(f"/proc/{parent}/task").iterdir()
    started = [each for thread in threads for each in _read(thread / "children").split()]
    return [int(each) for each in started if PROGRAM in _read(Path(f"/proc/{each}/cmdline"))]


def is_there(process: int) -> bool:
    stat = _read(Path(f"/proc/{process}/stat"))
    return bool(stat) and ") Z " not in stat


def _read(path: Path) -> str:
    """Nothing of a process or a thread that ends meanwhile."""
    try:
        return path.read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return ""


def answers(engine: EmbeddedEngine) -> bool:
    try:
        return engine.query("SELECT 1 AS n") == [{"n": 1}]
    except EngineUnavailable:
        return False
