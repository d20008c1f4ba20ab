"""The cardinality limit: a service keeps its most frequent names; the rest is `_OTHER`, counted, and keeps its name."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console
from walltime_collector.cli.status import render
from walltime_collector.clickhouse.embedded.engine import EmbeddedEngine
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.config.settings import Settings
from walltime_collector.health.cardinality_limit import MAX_NAMES, CardinalityLimit
from walltime_collector.health.counters import Health
from walltime_collector.health.status import OverLimit, status
from walltime_collector.load.otel_transactions.windows import assemble, clock, due

from tests.collector.clickhouse.spans import request, span, store
from tests.servers import with_tables

N = 300


@pytest.fixture
def crowded(tmp_path: Path) -> Iterator[Engine]:
    """`shop` has N names too many, the last ones the rarest; `quiet` has one."""
    engine = EmbeddedEngine(with_tables(tmp_path), "walltime")
    often = [f"GET /{at}" for at in range(MAX_NAMES) for _ in (1, 2)]
    transactions(engine, "shop", *often, *(f"GET /{at}" for at in range(MAX_NAMES, MAX_NAMES + N)))
    transactions(engine, "quiet", "GET /")
    yield engine
    engine.close()


def transactions(engine: Engine, service: str, *names: str) -> None:
    made = [span({"walltime.schema": 1, "plan": "free"}, name=name) for name in names]
    store(engine, request(*made, resource={"service.name": service}))


def names(engine: Engine, table: str, service: str) -> int:
    sql = f"SELECT uniqExact(name) AS names FROM {table} WHERE service = {{service:String}}"
    return int(engine.query(sql, {"service": service})[0]["names"])


def looked(engine: Engine) -> Health:
    health = Health()
    CardinalityLimit(engine, health).look()
    return health


def test_beyond_ten_thousand_names_of_a_service_the_rarest_are_other_and_keep_their_name_as_an_attribute(
    crowded: Engine,
) -> None:
    assert looked(crowded).report()["counts"] == {"services_over_limit": 1}
    assert looked(crowded).report()["counts"] == {}  # known
    transactions(crowded, "shop", "GET /0", f"GET /{MAX_NAMES}", "GET /new", "GET /newer")
    transactions(crowded, "quiet", "GET /new")
    rows = crowded.query(
        "SELECT name, attributes FROM transactions WHERE service = 'shop' AND name IN ('GET /0', '_OTHER', 'GET /new')"
        " ORDER BY name, attributes['walltime.name']"
    )
    kept = [(row["name"], row["attributes"].get("walltime.name"), row["attributes"]["plan"]) for row in rows]
    assert kept == [
        *[("GET /0", None, "free")] * 3,
        *(("_OTHER", name, "free") for name in (f"GET /{MAX_NAMES}", "GET /new", "GET /newer")),
    ]
    for table in ("transactions", "transactions_1m"):
        assert names(crowded, table, "shop") == MAX_NAMES + N + 1
        assert names(crowded, table, "quiet") == 2
    minutes = crowded.query(
        "SELECT service, sum(transactions) AS n FROM transactions_1m WHERE name = '_OTHER' GROUP BY service"
    )
    assert minutes == [{"service": "shop", "n": 3}]


def test_a_service_with_ten_thousand_names_is_within_the_limit(tmp_path: Path) -> None:
    engine = EmbeddedEngine(with_tables(tmp_path), "walltime")
    transactions(engine, "shop", *(f"GET /{at}" for at in range(MAX_NAMES)))
    assert looked(engine).report()["counts"] == {}
    transactions(engine, "shop", "GET /new")
    assert looked(engine).report()["counts"] == {"services_over_limit": 1}
    engine.close()


@pytest.mark.nightly
def test_the_limit_holds_after_a_restart_and_for_every_collector_of_the_database(tmp_path: Path) -> None:
    engine = EmbeddedEngine(with_tables(tmp_path), "walltime")
    transactions(engine, "shop", "GET /1", "GET /2", "GET /2")
    one, other = (CardinalityLimit(engine, Health(), most=1) for _ in range(2))
    one.look()
    transactions(engine, "shop", "GET /2", "GET /3")
    other.look()
    transactions(engine, "shop", "GET /3", "GET /4")
    engine.close()
    engine = EmbeddedEngine(tmp_path, "walltime")
    transactions(engine, "shop", "GET /1", "GET /2", "GET /4")
    CardinalityLimit(engine, Health(), most=1).look()
    rows = engine.query("SELECT name, count() AS n FROM transactions GROUP BY name ORDER BY name")
    assert [(row["name"], row["n"]) for row in rows] == [("GET /1", 1), ("GET /2", 4), ("_OTHER", 5)]
    engine.close()


def test_status_shows_the_service_and_the_number_of_its_transactions(crowded: Engine, tmp_path: Path) -> None:
    looked(crowded)
    transactions(crowded, "shop", "GET /new", "GET /newer")
    report = status(crowded, Health(), Settings(data=tmp_path), {})
    assert report.over_limit == (OverLimit("shop", 2),)
    console = Console(width=200)
    with console.capture() as shown:
        console.print(render(report, console))
    assert "shop has too many names: 2 transactions since yesterday stored as _OTHER" in shown.get()


@pytest.mark.nightly
def test_the_limit_holds_for_derived_transactions_too(crowded: Engine) -> None:
    looked(crowded)
    from_s = clock(crowded)
    for service, route in (("shop", "/new"), ("quiet", "/new")):
        one = span({"http.route": route, "http.request.method": "GET", "plan": "free"}, name="GET")
        store(crowded, request(one, resource={"service.name": service}))
    roots, deadline_s = 0, time.monotonic() + 60
    while roots < 2:
        assert time.monotonic() < deadline_s
        roots += sum(assemble(crowded, window) for window in due(crowded, from_s=from_s, window_s=1, settle_s=0))
    sql = "SELECT service, name, attributes FROM transactions WHERE kept = 'foreign' ORDER BY service"
    quiet, shop = crowded.query(sql)
    kept = {"http.route": "/new", "plan": "free"}
    assert (quiet["name"], quiet["attributes"]) == ("GET /new", kept)
    assert (shop["name"], shop["attributes"]) == ("_OTHER", {**kept, "walltime.name": "GET /new"})
