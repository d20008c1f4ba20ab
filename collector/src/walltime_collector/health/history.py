"""The counters of the collectors over time, from `walltime_health`: what they received and stored, and what waited."""

from __future__ import annotations

from dataclasses import dataclass

from ..clickhouse.engine import Engine
from ..conversion import from_row
from ..query.queries import run
from ..query.scope import MINUTE_S, Scope
from ..query.windows import Window

_S = 1_000_000_000


@dataclass(frozen=True)
class Step:
    """Spans of one step of the history, refused requests, and the most that waited on disk in it."""

    start_s: int
    received: int
    stored: int
    rejected: int
    dead: int
    lost: int
    refused: int
    spool_bytes: int
    oldest_s: float


@dataclass(frozen=True)
class History:
    """Steps of `step_s` seconds from `start_s` to `end_s`; one without a row of any collector is missing."""

    start_s: int
    end_s: int
    step_s: int
    steps: tuple[Step, ...]


def history(engine: Engine, window: Window) -> History:
    """
    Query the steps of the window, at least a minute each.

    Raises:
        EngineUnavailable: The engine does not answer now.
    """
    step_s = max(Scope(window).step_s, MINUTE_S)
    start_s = window.start_ns // _S // step_s * step_s
    end_s = -(-window.end_ns // (step_s * _S)) * step_s
    rows = run(engine, "status/history", start_s=start_s, end_s=end_s, step_s=step_s)
    return History(start_s, end_s, step_s, tuple(from_row(Step, row) for row in rows))
