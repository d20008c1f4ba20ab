"""One window of foreign roots: planned, assembled, and checked once more for what came late; every step once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from ..crashpoint import reach
from ..engine import Engine, Rows, once_settings

ROOTS_AT_ONCE = 10_000
"""Roots of one INSERT: what it needs in memory stays bounded, and its rows are one block."""

LATE_S = 300
"""So long after its end a window is counted once more."""

# The tables may be spread over several machines; on one this says nothing.
_SPREAD = {"distributed_product_mode": "global"}
# A trace of a million spans is no reason to fail.
_BOUNDS = {
    "max_memory_usage": str(2 * 1024**3),
    "max_bytes_before_external_group_by": str(512 * 1024**2),
    "max_bytes_before_external_sort": str(512 * 1024**2),
}


@dataclass(frozen=True)
class Window:
    """Roots stored from `since_s` until before `until_s`, seconds of the database's clock."""

    since_s: int
    until_s: int


@dataclass(frozen=True)
class Late:
    """Stored after their window had been assembled: roots that are transactions now, spans that are on no bill."""

    roots: int = 0
    spans: int = 0


def due(engine: Engine, *, from_s: int, window_s: int, settle_s: int) -> Sequence[Window]:
    """
    The windows that ended at least `settle_s` ago, after `from_s`, and are not assembled; oldest first.

    Raises:
        EngineError: No answer now.
    """
    return _windows(engine.query(_sql("due"), {"from_s": from_s, "window_s": window_s, "settle_s": settle_s}))


def unchecked(engine: Engine) -> Sequence[Window]:
    """
    The windows that were assembled more than LATE_S ago and not counted since; oldest first, a hundred at most.

    Raises:
        EngineError: No answer now.
    """
    return _windows(engine.query(_sql("unchecked"), {"late_s": LATE_S}))


def assemble(engine: Engine, window: Window) -> int:
    """
    Make transactions of the window's roots and return how many roots there may have been.

    Doing it again, here or in another collector, at the same time or after any crash, stores nothing twice: the number
    of parts is written down first, each part has a token, and what is a transaction already is left out.

    Raises:
        EngineError: Some parts may be stored; do it again.
    """
    _note(engine, window, "planned", **_extent(engine, window))
    plan = _plan(engine, window)
    reach("after_plan")
    for part in range(plan["parts"]):
        _insert(engine, window, part, plan["parts"], "")
        reach("after_part")
    _note(engine, window, "assembled", **plan)
    return int(plan["roots"])


def check(engine: Engine, window: Window) -> Late:
    """
    Count an assembled window once more, and make transactions of roots that were stored too late for it.

    Raises:
        EngineError: Do it again.
    """
    before, now = _plan(engine, window), _extent(engine, window)
    late = Late(max(0, now["roots"] - before["roots"]), max(0, now["spans"] - before["spans"]))
    if late.roots:
        for part in range(before["parts"]):
            _insert(engine, window, part, before["parts"], " late")
    _note(engine, window, "checked", **now)
    return late


def _insert(engine: Engine, window: Window, part: int, parts: int, word: str) -> None:
    token = f"foreign {window.since_s}-{window.until_s} {part}/{parts}{word}"
    which: dict[str, Any] = {"since_s": window.since_s, "until_s": window.until_s, "part": part, "parts": parts}
    engine.command(_sql("transactions"), which, {**once_settings(token), **_BOUNDS, **_SPREAD})


def _note(engine: Engine, window: Window, step: str, *, parts: int, roots: int, spans: int) -> None:
    row = {
        "since": window.since_s,
        "until": window.until_s,
        "step": step,
        "parts": parts,
        "roots": roots,
        "spans": spans,
    }
    engine.insert_rows("foreign_windows", json.dumps(row).encode(), f"foreign {window.since_s}-{window.until_s} {step}")


def _extent(engine: Engine, window: Window) -> dict[str, int]:
    row = engine.query(_sql("extent"), {"since_s": window.since_s, "until_s": window.until_s})[0]
    roots = int(row["roots"])
    return {"parts": max(1, -(-roots // ROOTS_AT_ONCE)), "roots": roots, "spans": int(row["spans"])}


def _plan(engine: Engine, window: Window) -> dict[str, int]:
    row = engine.query(_sql("planned"), {"since_s": window.since_s, "until_s": window.until_s})[0]
    return {name: int(row[name]) for name in ("parts", "roots", "spans")}


def _windows(rows: Rows) -> list[Window]:
    return [Window(int(row["since_s"]), int(row["until_s"])) for row in rows]


@cache
def _sql(name: str) -> str:
    return (files(__package__) / f"{name}.sql").read_text("utf-8")
