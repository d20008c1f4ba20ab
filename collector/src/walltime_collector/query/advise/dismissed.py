"""Dismissed advice: hidden until it is restored or the dismissal ends."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Mapping

from ...clickhouse.engine import Engine
from ...format import iso_time
from ..queries import run
from .answer import Dismissal

_TABLE = "dismissed_advice"


def dismissals(engine: Engine) -> Mapping[str, Dismissal]:
    """
    All that hold now, by the id of their advice, the latest first.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    return {
        row["id"]: Dismissal(
            row["id"],
            iso_time(int(row["decided_ms"]) * 10**6),
            iso_time(int(row["until_s"]) * 10**9),
            row["why"],
            row["change"],
        )
        for row in run(engine, "advise/dismissed", now_s=int(time.time()))
    }


def dismiss(engine: Engine, advice_id: str, *, for_s: int, why: str, change: str) -> Dismissal:
    """
    Hide an advice for `for_s` seconds; it is stored when this returns.

    Raises:
        EngineUnavailable: It may or may not be stored.
    """
    return _decide(engine, Dismissal(advice_id, "", "", why, change), for_s)


def restore(engine: Engine, dismissal: Dismissal) -> Dismissal:
    """End a dismissal now; otherwise like `dismiss`."""
    return _decide(engine, dismissal, 0)


def _decide(engine: Engine, decision: Dismissal, for_s: int) -> Dismissal:
    now_ms = time.time_ns() // 10**6
    row = {
        "id": decision.id,
        "decided_at": now_ms / 1000,
        "until": now_ms // 1000 + for_s,
        "why": decision.why,
        "change": decision.change,
    }
    engine.insert_rows(_TABLE, json.dumps(row).encode() + b"\n", f"{_TABLE} {uuid.uuid4()}")
    until = iso_time((now_ms // 1000 + for_s) * 10**9)
    return Dismissal(decision.id, iso_time(now_ms * 10**6), until, decision.why, decision.change)
