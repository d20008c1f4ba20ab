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
    Hide an advice for `for_s` seconds, or show it again when that is 0; it is stored when this returns.

    Raises:
        EngineUnavailable: It may or may not be stored.
    """
    now_ms = time.time_ns() // 10**6
    until_s = now_ms // 1000 + for_s
    row = {"id": advice_id, "decided_at": now_ms / 1000, "until": until_s, "why": why, "change": change}
    engine.insert_rows(_TABLE, json.dumps(row).encode() + b"\n", f"{_TABLE} {uuid.uuid4()}")
    return Dismissal(advice_id, iso_time(now_ms * 10**6), iso_time(until_s * 10**9), why, change)
