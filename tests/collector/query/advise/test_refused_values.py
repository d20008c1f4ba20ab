"""Values that a cache refuses are found by the calls that should store them; what is stored, or hits, is not."""

from __future__ import annotations

import json
import time

import pytest
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.query.advise.answer import Advice

from tests.collector.conftest import Store
from tests.collector.query.advise.transactions import PORT, advice_of, call, sent
from tests.collector.traffic import MS, Sent, Value

N, BUILD_MS = 40, 20
OBSERVED = "10.3.0.1"


def report(number: int, kind: str, server: str, result: str, error: str = "", *, hits: bool = False) -> Sent:
    """It looks up a value, builds it, and sends it to the cache."""
    said: dict[str, Value] = {"walltime.memcache.result": "hit" if hits and number % 2 else "miss"}
    stored: dict[str, Value] = {"walltime.memcache.result": result, **({"error.type": error} if error else {})}
    calls = [
        call("memcache.get", 1, server=server, text=f"report:#{number:08x}"),
        call("mysql.query", BUILD_MS, text="SELECT 1"),
        call("memcache.set", 2, server=server, text=f"report:#{number:08x}"),
    ]
    calls[0][2].update(said)
    calls[2][2].update(stored)
    return sent(number, f"GET /{kind}", calls, kept="random", attributes={"walltime.sample_probability": 1.0})


@pytest.fixture(scope="module")
def stored(engine: Engine, store: Store) -> Engine:
    store([
        each
        for number in range(N)
        for each in (
            report(number, "refused", "10.3.0.2", "error", "MemcacheServerError"),
            report(number, "too-large", OBSERVED, "sent"),
            report(number, "unique", "10.3.0.3", "stored"),
            report(number, "hits", "10.3.0.4", "error", "MemcacheServerError", hits=True),
        )
    ])  # fmt: skip
    at_s = time.time() - 900
    row = {"at": f"{at_s:.3f}", "server": f"{OBSERVED}:{PORT}", "system": "memcached", "others": {"store_too_large": N}}
    engine.insert_rows("cache_status", json.dumps(row).encode() + b"\n", "refused")
    return engine


def of(engine: Engine, kind: str) -> list[Advice]:
    return [each for each in advice_of(engine, f"GET /{kind}") if each.category == "refused_values"]


def test_values_that_the_client_saw_refused_cost_what_building_them_takes(stored: Engine) -> None:
    (found,) = of(stored, "refused")
    assert "report:" in found.change
    assert "10.3.0.2:3306: they are refused (MemcacheServerError)" in found.change
    assert found.price.mean_ns == pytest.approx((1 + BUILD_MS + 2) * MS, rel=0.01)
    assert f"always in vain ({N} misses)" in found.finding


def test_values_that_the_server_counts_as_too_large_need_no_answer_to_the_client(stored: Engine) -> None:
    (found,) = of(stored, "too-large")
    assert "they are larger than it takes (-I, by default 1 MB)" in found.change


@pytest.mark.parametrize("kind", ["unique", "hits"])
def test_values_that_are_stored_are_no_fault(stored: Engine, kind: str) -> None:
    assert of(stored, kind) == []
