"""Asks for the evidence of `why`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from walltime_collector.clickhouse.engine import Engine
from walltime_collector.query.queries import run

from tests.collector.traffic import CACHES, DATABASE, MS

_OF_BOTH_SIDES = (
    *("computing", "cpu_wait", "garbage", "held", "interpreter"),
    *("interpreter_wait", "loop_wait", "queue", "singles", "whole"),
)


def ask_for_evidence(engine: Engine, compared: Mapping[str, Any], fingerprint: int) -> None:
    """What is asked only where it explains a difference, or in a statement that people run."""
    for name in _OF_BOTH_SIDES:
        run(engine, f"why/evidence/{name}", **compared)
    server, of = {"server": CACHES[0]}, {"component": "memcache.get", "address": CACHES[0]}
    run(engine, "why/evidence/cache_status", **compared, **server)
    run(engine, "why/cache_blocks", **compared, **server, blocks=4)
    run(engine, "why/slow_seconds", **compared, **server)
    run(engine, "why/evidence/lookups", **compared, cache=of["component"], address=CACHES[0])
    (keys, *_) = run(engine, "why/keys", **compared, **of)
    run(engine, "why/evidence/keys", **compared, **of, prefix=keys["prefix"])
    spans = {"starts_ns": [compared["slow_start_ns"]], "ends_ns": [compared["slow_end_ns"]]}
    run(engine, "why/evidence/during", **compared, **of, **spans, measure="time_ns")
    run(engine, "why/evidence/load", **compared, server=DATABASE, fingerprints=[fingerprint])
    run(engine, "why/holders", **compared, limit=1_000)
    run(engine, "why/singles", **{**compared, "bound_ns": 20 * MS})
