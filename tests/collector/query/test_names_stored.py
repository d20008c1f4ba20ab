"""Looking up a kind: its transactions in two windows are counted exactly, without reading those of all retention."""

from __future__ import annotations

import random
import time
from importlib.resources import files

import pytest
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.query import kinds, queries
from walltime_collector.query.windows import Comparison, Window

from tests.collector.conftest import MINUTE_NS, Store
from tests.collector.query.showing import make
from tests.collector.traffic import MS, Sent

S = 1_000_000_000
ALL_SERVICES = "SELECT DISTINCT service FROM transactions_1m"


@pytest.fixture(scope="module")
def sent(store: Store) -> list[Sent]:
    """Two kinds of two services in ten minutes."""
    draw = random.Random(22)
    first_ns = (time.time_ns() // MINUTE_NS - 20) * MINUTE_NS
    every = [
        make(
            draw.choice(["GET /a", "GET /b"]),
            service=draw.choice(["shop", "web"]),
            started_ns=first_ns + draw.randrange(10 * MINUTE_NS),
            duration_ns=MS,
            calls=[],
        )
        for _ in range(400)
    ]
    every += [
        make("GET /a", service="shop", started_ns=first_ns + edge, duration_ns=MS, calls=[])
        for edge in (0, MINUTE_NS - 1)
    ]
    store(every)
    return every


def test_the_transactions_of_two_windows_are_counted_exactly(engine: Engine, sent: list[Sent]) -> None:
    draw = random.Random(23)
    first_ns = min(each.started_ns for each in sent)
    edges = [0, S, MINUTE_NS - 1, MINUTE_NS, MINUTE_NS + 1, 3 * MINUTE_NS, 5 * MINUTE_NS + 7, 10 * MINUTE_NS]
    for _ in range(12):
        windows = []
        for _ in range(2):
            start, end = sorted(draw.sample([*edges, draw.randrange(10 * MINUTE_NS)], 2))
            windows.append(Window(first_ns + start, first_ns + end))
        rows = kinds.kind(engine, "GET /a", "", Comparison(windows[0], windows[1]).parameters())
        counted = {row["service"]: (int(row["slow"]), int(row["usual"])) for row in rows}
        assert counted == {
            service: tuple(
                sum(
                    each.service == service
                    and each.name == "GET /a"
                    and window.start_ns <= each.started_ns < window.end_ns
                    for each in sent
                )
                for window in windows
            )
            for service in ("shop", "web")
        }


def test_a_service_is_looked_up_at_its_place_and_not_in_all_rows(engine: Engine, sent: list[Sent]) -> None:
    assert [kinds.service(engine, each) for each in ("shop", "we", "no such", "")] == ["shop", "web", "no such", ""]
    minutes = "FROM numbers(200000)"
    columns = "toDateTime('2026-01-01') + number * 60 AS minute, concat('s', toString(number % 100)) AS service"
    engine.command(
        f"INSERT INTO transactions_1m (minute, service, name, transactions) SELECT {columns}, 'x', 1 {minutes}"
    )
    sql = (files(queries) / "kinds" / "has_service.sql").read_text().replace("{service:String}", "'s7'")
    estimates = {
        name: engine.query(f"EXPLAIN ESTIMATE {text}") for name, text in (("exact", sql), ("all", ALL_SERVICES))
    }
    read = {name: sum(int(row["rows"]) for row in rows) for name, rows in estimates.items()}
    assert 0 < read["exact"] < read["all"] / 4


def test_a_name_is_found_in_the_sums_after_the_transactions_are_gone(engine: Engine, sent: list[Sent]) -> None:
    window = Window(max(each.started_ns for each in sent) + MINUTE_NS, time.time_ns())
    engine.command("TRUNCATE TABLE transactions")
    rows = kinds.kind_in(engine, "get /b", "", window)
    assert [(row["service"], row["name"], int(row["slow"])) for row in rows] == [
        ("shop", "GET /b", 0),
        ("web", "GET /b", 0),
    ]
