"""The current plan of each statement of a server, and when another one takes its place."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from ....clickhouse.engine import Engine
from ....errors import EngineUnavailable, QueryFailed
from ....query.digest.short import shortened
from ....query.queries import Row, run
from ....statements.fingerprint import fingerprint, fingerprint_id
from ....statements.plans.shape import Step, from_json, plan_id, to_json
from ....statements.plans.words import change, summary
from ...events import TABLE as EVENTS
from ...events import event_row
from ...slowlog.rows import MAX_FINGERPRINT_CHARS
from ...writer import Writer
from ..connection import Connection
from .explain import Sample, explain

TABLE = "plans"
_MAX_KNOWN = 500
_MAX_STORED = 20
_WRITTEN_EVERY_S = 600
_RECENT_S = 86_400
"""After a start of the collector, a plan that was stored within a day is no change: values may decide."""


class _Current(NamedTuple):
    plan: Step
    sample: Sample | None
    """A statement that has it, with its values, in memory only; None where the plan comes from the store."""
    recent: frozenset[int]
    """Other plans that count as known."""
    seen_s: float


class KnownPlans:
    """
    Explains statements, and stores their plans and the changes of these; one at a time.

    Values of a statement can decide its plan. So a change is one only if the earlier statement, with the same values,
    has another plan now.
    """

    def __init__(self, server: str, writer: Writer, engine: Engine) -> None:
        self._server, self._writer, self._engine = server, writer, engine
        self._current: OrderedDict[tuple[int, str], _Current] = OrderedDict()
        self._written_s: dict[tuple[int, str, int], float] = {}
        self._one_at_a_time = threading.Lock()

    def explain(self, connection: Connection, sample: Sample) -> tuple[Step, str] | None:
        """
        Ask for the plan of a statement, and store it.

        Returns:
            The plan, and what changed, `index `category_id` → full scan`, or nothing. None: it reads no table.

        Raises:
            NotExplained: The server refuses.
            Exception: The connection failed.
        """
        with self._one_at_a_time:
            plan = explain(connection, sample)
            return (plan, self._found(sample, plan, lambda other: explain(connection, other))) if plan else None

    def _found(self, sample: Sample, plan: Step, again: Callable[[Sample], Step | None]) -> str:
        text, now_s = fingerprint(sample.text), time.time()
        key = fingerprint_id(text), sample.schema
        current = self._current.get(key) or self._stored(key, now_s)
        changed = ""
        if current and plan_id(plan) != plan_id(current.plan):
            same = plan if current.sample is None else again(current.sample)
            if same is None or plan_id(same) == plan_id(current.plan) or plan_id(same) in current.recent:
                self._write(key, text, plan, now_s)
                return ""
            plan, changed = same, change(current.plan, same)
            self._writer.add(EVENTS, [self._event(key, text, changed, current, same, now_s)])
        self._write(key, text, plan, now_s)
        self._current[key] = _Current(plan, sample, frozenset(), now_s)
        self._current.move_to_end(key)
        if len(self._current) > _MAX_KNOWN:
            self._current.popitem(last=False)
        return changed

    def _stored(self, key: tuple[int, str], now_s: float) -> _Current | None:
        try:
            rows = run(self._engine, "digest/plans", fingerprint_id=key[0], limit=_MAX_STORED)
        except (EngineUnavailable, QueryFailed):
            return None
        mine: list[Row] = [row for row in rows if (row["server"], row["database"]) == (self._server, key[1])]
        recent = frozenset(int(row["plan_id"]) for row in mine if row["last_ms"] >= (now_s - _RECENT_S) * 1_000)
        if not mine:
            return None
        return _Current(from_json(str(mine[0]["shape_text"])), None, recent, int(mine[0]["last_ms"]) / 1_000)

    def _write(self, key: tuple[int, str], text: str, plan: Step, now_s: float) -> None:
        identity = (*key, plan_id(plan))
        if now_s - self._written_s.get(identity, 0) < _WRITTEN_EVERY_S:
            return
        if len(self._written_s) > 2 * _MAX_KNOWN:
            self._written_s.clear()
        self._written_s[identity] = now_s
        row = {
            "fingerprint_id": key[0],
            "server": self._server,
            "database": key[1],
            "plan_id": identity[2],
            "first_seen": f"{now_s:.3f}",
            "last_seen": f"{now_s:.3f}",
            "fingerprint": text[:MAX_FINGERPRINT_CHARS],
            "shape": to_json(plan),
            "summary": summary(plan),
        }
        self._writer.add(TABLE, [row])

    def _event(self, key: tuple[int, str], text: str, changed: str, old: _Current, new: Step, now_s: float) -> Row:
        details = {
            "fingerprint_id": f"{key[0]:016X}",
            "database": key[1],
            "change": changed,
            "old_plan_id": f"{plan_id(old.plan):016X}",
            "new_plan_id": f"{plan_id(new):016X}",
            "old_until": f"{old.seen_s:.3f}",
        }
        what = f"the plan of `{shortened(text)}` changed: {changed}"
        return event_row(self._server, "mysql", "plan_changed", what, at_s=now_s, details=details)
