"""Transactions of some calls, and what `advise` says of their kind."""

from __future__ import annotations

import time
import zlib
from collections.abc import Sequence

from walltime_collector.clickhouse.engine import Engine
from walltime_collector.query.advise.advise import advise
from walltime_collector.query.advise.answer import Advice
from walltime_collector.query.scope import Filters, Scope
from walltime_collector.query.windows import Window

from tests.collector.traffic import DATABASE, MS, Sent, SentCall, Value

HOST, PORT = DATABASE.split(":")


def call(component: str, ms: float, *, server: str = HOST, text: str = "") -> tuple[str, float, dict[str, Value]]:
    attributes: dict[str, Value] = {"server.address": server, "server.port": int(PORT)}
    if component.startswith("memcache"):
        attributes |= {"db.system.name": "memcached", "walltime.memcache.result": "hit", "walltime.memcache.key": text}
    else:
        attributes["db.query.text"] = text
    return component, ms, attributes


Calls = Sequence[tuple[str, float, dict[str, Value]]]


def sent(
    number: int,
    name: str,
    calls: Calls,
    *,
    other_ms: float = 4,
    kept: str = "",
    attributes: dict[str, Value] | None = None,
) -> Sent:
    made, at_ns = [], 0
    for component, ms, of_call in calls:
        made.append(SentCall(component, at_ns, round(ms * MS), of_call))
        at_ns += round(ms * MS)
    identity = zlib.crc32(name.encode()) * 10**6 + number
    started_ns = (int(time.time()) - 1_000) * 10**9 + number * 5 * 10**9
    return Sent(
        f"{identity:032x}", f"{identity:016x}", name, started_ns, at_ns + round(other_ms * MS), kept=kept, calls=made,
        attributes=attributes or {},
    )  # fmt: skip


def advice_of(engine: Engine, kind: str) -> tuple[Advice, ...]:
    now_ns = time.time_ns()
    scope = Scope(Window(now_ns - 3_600 * 10**9, now_ns), Filters(kind=kind))
    return advise(engine, scope, now_ns).advice
