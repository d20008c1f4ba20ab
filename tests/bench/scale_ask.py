"""How long a collector's answers take, as those see it who ask: over HTTP, from the question to the last byte."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import httpx

from tests.servers import Collector

KIND: Final = "GET /product/{id}"
SLOWEST: Final = (
    "SELECT lower(hex(trace_id)), duration_ns FROM transactions WHERE service = 'shop' AND name = 'GET /product/{id}'"
    " AND started_at > now() - INTERVAL 1 DAY AND duration_ns > 1000000 AND mysql_query_calls > 2"
    " ORDER BY duration_ns DESC LIMIT 20"
)
SOME: Final = (
    "SELECT lower(hex(trace_id)) FROM transactions WHERE name = 'GET /product/{id}'"
    " AND started_at > now() - INTERVAL {hours} HOUR LIMIT 1 BY toStartOfHour(started_at)"
)
AGE: Final = "SELECT dateDiff('minute', max(started_at), now()) FROM transactions"
"""Nothing is younger: it was filled before it was merged, or by an earlier run."""


@dataclass(frozen=True)
class Took:
    """The answers to one question."""

    question: str
    times: int
    first_ms: float
    """Without anything in a cache of the database."""
    median_ms: float
    longest_ms: float


def ask_all(collector: Collector) -> list[Took]:
    """Each question several times; a trace id is never asked for twice."""
    # one client for all: each reads the authorities of TLS first, 20 to 40 ms that are none of the collector's
    with httpx.Client(base_url=collector.web_url, verify=False, timeout=300) as client:  # noqa: S501  plain HTTP

        def get(path: str, parameters: Mapping[str, str] | None = None) -> Callable[[], Any]:
            return lambda: _answer(client.get(path, params=dict(parameters or {})))

        def sql(statement: str) -> Callable[[], Any]:
            return lambda: _answer(client.post("/api/sql", json={"sql": statement}))

        def last(minutes: int) -> Mapping[str, str]:
            return {"since": f"{minutes + age_minutes}m"}

        age_minutes = int(sql(AGE)()["rows"][0][0])
        day = last(24 * 60)
        traces = [row[0] for row in sql(SOME.replace("{hours}", "23"))()["rows"]]
        return [
            _timed("a transaction by trace id", [get(f"/api/transactions/{each}") for each in traces]),
            _timed("top of a day", [get("/api/top", day)] * 7),
            _timed("top of 15 minutes", [get("/api/top", last(15))] * 7),
            _timed("slowest of a kind in a day (SQL)", [sql(SLOWEST)] * 5),
            _timed("why, the slowest of an hour", [get("/api/why", {"kind": KIND, **last(60)})] * 3),
            _timed("why, the slowest of a day", [get("/api/why", {"kind": KIND, **day})] * 2),
            _timed("digest of a day", [get("/api/digest", day)] * 3),
        ]


def _answer(response: httpx.Response) -> Any:
    assert response.status_code == 200, f"{response.url}: {response.text}"
    return response.json()


def _timed(question: str, asked: list[Callable[[], Any]]) -> Took:
    took_ms = []
    for each in asked:
        started_s = time.perf_counter()
        each()
        took_ms.append((time.perf_counter() - started_s) * 1000)
    return Took(question, len(took_ms), took_ms[0], statistics.median(took_ms), max(took_ms))
