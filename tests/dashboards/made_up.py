"""Rows that tests make up, stored as the loader's would be."""

from __future__ import annotations

import json
from typing import Any

from walltime_collector.clickhouse.engine import Engine


def transaction(
    at_s: int, ms: int, *, hits: int, is_error: bool = False, name: str = "GET /", service: str = "shop"
) -> dict[str, Any]:
    """With 20 keys asked for in one call, or no call."""
    target = {"component": ["memcache.get"], "address": ["cache:11211"], "calls": [1], "time_ns": [1000], "errors": [0]}
    counts = {**target, "hits": [hits], "misses": [20 - hits]} if hits else {}
    row = {"service": service, "name": name, "started_at": f"{at_s}.000000000", "duration_ns": ms * 1_000_000}
    ids = {"trace_id": f"{at_s:016}", "span_id": "a" * 8, "is_error": is_error}
    return {**row, **ids, **{f"target.{column}": values for column, values in counts.items()}}


def insert(engine: Engine, table: str, rows: list[dict[str, Any]]) -> None:
    body = "".join(json.dumps(row) + "\n" for row in rows)
    engine.insert_rows(table, body.encode(), f"{table}-{len(body)}")
