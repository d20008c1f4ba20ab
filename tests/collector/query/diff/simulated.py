"""Traffic of many kinds with heavy tails, as rows of `transactions`; some kinds change at a moment."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from walltime_collector.clickhouse.engine import Engine

S = 10**9
MS = 10**6


@dataclass(frozen=True)
class Changed:
    """What is different in the second part."""

    times: float = 1.0
    """Of `mysql.query`, which is about 60 % of the time."""
    failed: float = 0.01
    failed_ns: int = 0
    """Failed transactions take so long; 0 for no difference."""
    rate: float = 1.0
    """0: the kind is gone."""


def duration_ns(rng: random.Random, mean_ns: float) -> int:
    """Log-normal, and one in 200 with a Pareto tail."""
    factor = rng.lognormvariate(-0.18, 0.6) * (rng.paretovariate(1.7) if rng.random() < 0.005 else 1)
    return round(mean_ns * factor)


def rows(
    seed: int,
    service: str,
    *,
    start_ns: int,
    changed_ns: int,
    end_ns: int,
    per_s: float,
    kinds: int = 12,
    changes: Mapping[str, Changed] | None = None,
    versions: tuple[str, str] = ("", ""),
) -> Iterator[dict[str, Any]]:
    """
    Rows of the kinds `GET /0`, `GET /1` … and of those in `changes`.

    Args:
        changed_ns: From then on the kinds in `changes` are different.
        versions: Before that moment, and from then on.
    """
    rng, changes = random.Random(seed), changes or {}
    names = sorted({*(f"GET /{at}" for at in range(kinds)), *changes})
    for name in names:
        mean_ns, at_ns = rng.uniform(4, 80) * MS, float(start_ns)
        rate = per_s * rng.uniform(0.3, 1.7)
        while True:
            at_ns += rng.expovariate(rate) * S
            if at_ns >= end_ns:
                break
            is_changed = at_ns >= changed_ns
            change = changes.get(name, Changed()) if is_changed else Changed()
            if rng.random() >= change.rate or (name == "new" and not is_changed):
                continue
            is_error = rng.random() < change.failed
            query_ns = round(duration_ns(rng, mean_ns * 0.6) * change.times)
            other_ns = duration_ns(rng, mean_ns * 0.4)
            if is_error and change.failed_ns:
                query_ns, other_ns = 0, change.failed_ns
            yield {
                "trace_id": f"{rng.getrandbits(53):016x}",
                "span_id": f"{rng.getrandbits(32):08x}",
                "started_at": f"{int(at_ns) // S}.{int(at_ns) % S:09d}",
                "duration_ns": query_ns + other_ns,
                "covered_ns": query_ns,
                "service": service,
                "name": name,
                "version": versions[is_changed],
                "http_status": 500 if is_error else 200,
                "is_error": is_error,
                "mysql_query_calls": 3,
                "mysql_query_time_ns": query_ns,
            }


def insert(engine: Engine, made: Iterator[dict[str, Any]], token: str) -> None:
    engine.insert_rows("transactions", "\n".join(map(json.dumps, made)).encode(), token)
