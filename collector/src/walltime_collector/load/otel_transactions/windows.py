"""
One window of root spans of other SDKs: planned, assembled, checked for late spans; each step is stored once.

Every function here raises EngineError when there is no answer now; doing it again is harmless.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files

from ...clickhouse.engine import Engine, Parameter, Rows
from ...clickhouse.inserts import once_settings
from ...crashpoint import reach
from ...errors import EngineUnavailable
from ...statements.fingerprint import MAX_SQL_CHARS, redacted_text

ROOTS_AT_ONCE = 10_000
"""Roots of one INSERT: its memory is bounded, and its rows are one block."""

TEXTS_AT_ONCE = 10_000
"""SQL texts that are redacted at once."""

LATE_S = 300
"""How long after its end a window is checked for late spans."""

# On a cluster the tables are on several machines; on one machine this has no effect.
_CLUSTER = {"distributed_product_mode": "global"}
# A trace of a million spans must not fail.
_BOUNDS = {
    "max_memory_usage": str(2 * 1024**3),
    "max_bytes_before_external_group_by": str(512 * 1024**2),
    "max_bytes_before_external_sort": str(512 * 1024**2),
}


@dataclass(frozen=True)
class Window:
    """Roots stored from `since_s` until before `until_s`, in seconds of the database's clock."""

    since_s: int
    until_s: int


@dataclass(frozen=True)
class Late:
    """Stored after their window was assembled: `roots` become transactions, `spans` are on no bill."""

    roots: int = 0
    spans: int = 0


def clock(engine: Engine) -> int:
    """The database's time in whole seconds, which may differ from the collector's."""
    return int(engine.query(_sql("clock"))[0]["now_s"])


def due(engine: Engine, *, from_s: int, window_s: int, settle_s: int) -> Sequence[Window]:
    """The windows that ended after `from_s` and at least `settle_s` ago, and are not assembled; oldest first."""
    return _windows(engine.query(_sql("due"), {"from_s": from_s, "window_s": window_s, "settle_s": settle_s}))


def unchecked(engine: Engine) -> Sequence[Window]:
    """The windows that were assembled more than LATE_S ago and not checked since; oldest first, at most a hundred."""
    return _windows(engine.query(_sql("unchecked"), {"late_s": LATE_S}))


def assemble(engine: Engine, window: Window) -> int:
    """
    Derive transactions from the window's roots and return how many roots there were at most.

    Doing it again, here or in another collector, at the same time or after a crash, stores nothing twice: the number of
    parts is stored first, and each part has a token, which also deduplicates the views behind `transactions`.
    """
    extent = _extent(engine, window)
    _note(engine, window, "planned", extent, max(1, -(-extent.roots // ROOTS_AT_ONCE)))
    parts, planned = _plan(engine, window)
    reach("after_plan")
    for part in range(parts):
        _insert(engine, window, extent, part, parts, is_late=False)
        reach("after_part")
    _note(engine, window, "assembled", planned, parts)
    return planned.roots


def check(engine: Engine, window: Window) -> Late:
    """Count an assembled window again, and derive transactions from roots that were stored too late for it."""
    extent = _extent(engine, window)
    parts, planned = _plan(engine, window)
    late = Late(max(0, extent.roots - planned.roots), max(0, extent.spans - planned.spans))
    if late.roots:
        for part in range(parts):
            _insert(engine, window, extent, part, parts, is_late=True)
    _note(engine, window, "checked", extent, parts)
    return late


@dataclass(frozen=True)
class _Extent:
    roots: int
    spans: int
    first_ns: int = 0
    last_ns: int = 0


def _extent(engine: Engine, window: Window) -> _Extent:
    return _Extent(**{name: int(value) for name, value in engine.query(_sql("extent"), asdict(window))[0].items()})


def _plan(engine: Engine, window: Window) -> tuple[int, _Extent]:
    rows = engine.query(_sql("planned"), asdict(window))
    if not rows:  # the row is on one replica, and another may answer
        raise EngineUnavailable(f"foreign_windows: the plan of {window.since_s} cannot be read yet; it is tried again")
    return int(rows[0]["parts"]), _Extent(int(rows[0]["roots"]), int(rows[0]["spans"]))


def _insert(engine: Engine, window: Window, extent: _Extent, part: int, parts: int, *, is_late: bool) -> None:
    token = f"foreign {window.since_s}-{window.until_s} {part}/{parts}{' late' * is_late}"
    parameters: dict[str, Parameter] = {**asdict(window), "part": part, "parts": parts, "is_late": is_late}
    parameters |= {"first_ns": extent.first_ns, "last_ns": extent.last_ns}
    _redact_texts(engine, parameters)
    engine.command(_sql("transactions"), parameters, {**once_settings(token), **_BOUNDS, **_CLUSTER})


def _redact_texts(engine: Engine, parameters: Mapping[str, Parameter]) -> None:
    """Write down the statements of these spans without their literals, for the INSERT that follows."""
    limits = {"max_chars": MAX_SQL_CHARS, "limit": TEXTS_AT_ONCE}
    count = after = 0
    while rows := engine.query(_sql("texts"), {**parameters, **limits, "after": after}):
        statements = [
            {"since": parameters["since_s"], "text_id": row["text_id"], "statement": redacted_text(row["text"])}
            for row in rows
        ]
        # a token of its own: the same window may have more texts the next time
        lines = "\n".join(json.dumps(each) for each in statements).encode()
        engine.insert_rows("foreign_statements", lines, f"foreign statements {uuid.uuid4().hex}")
        count, after = count + len(rows), int(rows[-1]["text_id"])
        if len(rows) < TEXTS_AT_ONCE:
            break
    if count and int(engine.query(_sql("redacted"), parameters)[0]["texts"]) < count:
        # another replica may answer than the one that was written to
        raise EngineUnavailable("foreign_statements cannot be read yet; it is tried again")


def _note(engine: Engine, window: Window, step: str, extent: _Extent, parts: int) -> None:
    row = {"since": window.since_s, "until": window.until_s, "step": step, "parts": parts}
    row |= {"roots": extent.roots, "spans": extent.spans}
    engine.insert_rows("foreign_windows", json.dumps(row).encode(), f"foreign {window.since_s}-{window.until_s} {step}")


def _windows(rows: Rows) -> list[Window]:
    return [Window(int(row["since_s"]), int(row["until_s"])) for row in rows]


@cache
def _sql(name: str) -> str:
    return (files(__package__) / f"{name}.sql").read_text("utf-8")
