"""The questions people ask read few granules: ClickHouse's own plan says so, over ten days."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from walltime_collector.clickhouse.embedded.engine import EmbeddedEngine
from walltime_collector.clickhouse.engine import Engine

from tests.servers import with_tables

TRANSACTIONS = """
INSERT INTO transactions (trace_id, span_id, started_at, duration_ns, service, name)
SELECT reinterpretAsFixedString(sipHash128(number)), reinterpretAsFixedString(sipHash64(number)),
    now64(9, 'UTC') - toIntervalSecond(number * 4), 1000000,
    'shop-' || toString(number % 4), 'GET /' || toString(number % 7)
FROM numbers(200000)
"""
SPANS = """
INSERT INTO spans (trace_id, span_id, started_at, duration_ns, service, name, component)
SELECT reinterpretAsFixedString(sipHash128(intDiv(number, 10))), reinterpretAsFixedString(sipHash64(number)),
    now64(9, 'UTC') - toIntervalSecond(intDiv(number, 10) * 80), 1000, 'shop', 'SELECT', 'mysql.query'
FROM numbers(100000)
"""


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    directory: Path = tmp_path_factory.mktemp("granules")
    engine = EmbeddedEngine(with_tables(directory), "walltime")
    engine.migrate()
    for insert in (TRANSACTIONS, SPANS):
        engine.command(insert)
    yield engine
    engine.close()


def granules(engine: Engine, question: str) -> tuple[int, int]:
    """How many granules the question reads, of how many."""
    plan = "\n".join(row["explain"] for row in engine.query(f"EXPLAIN indexes = 1 {question}"))
    read = re.findall(r"Granules: (\d+)/(\d+)", plan)
    return int(read[-1][0]), int(read[0][1])


def test_the_calls_of_a_trace_are_in_one_or_two_granules_a_part(filled: Engine) -> None:
    read, of = granules(
        filled, "SELECT * FROM spans WHERE trace_id = reinterpretAsFixedString(sipHash128(toUInt64(777)))"
    )

    assert of > 30
    assert read <= 2 * parts(filled, "spans")


def test_a_transaction_by_trace_id_reads_the_granules_that_may_hold_it(filled: Engine) -> None:
    read, of = granules(
        filled, "SELECT * FROM transactions WHERE trace_id = reinterpretAsFixedString(sipHash128(toUInt64(777)))"
    )

    assert of > 20
    assert read <= 2


def test_a_kind_in_an_hour_reads_one_or_two_granules_a_part(filled: Engine) -> None:
    read, of = granules(
        filled,
        "SELECT count(), sum(duration_ns) FROM transactions WHERE service = 'shop-1' AND name = 'GET /1'"
        " AND started_at >= now64(9, 'UTC') - INTERVAL 1 HOUR",
    )

    assert of > 20
    assert read <= 2


def test_an_hour_of_everything_reads_its_days_and_no_others(filled: Engine) -> None:
    plan = "\n".join(
        row["explain"]
        for row in filled.query(
            "EXPLAIN indexes = 1 SELECT count() FROM transactions WHERE started_at >= now64(9, 'UTC') - INTERVAL 1 HOUR"
        )
    )
    read, of = map(int, re.findall(r"Parts: (\d+)/(\d+)", plan)[0])

    assert of >= 9
    assert read <= 2


def parts(engine: Engine, table: str) -> int:
    return int(
        engine.query("SELECT count() AS n FROM system.parts WHERE active AND table = {table:String}", {"table": table})[
            0
        ]["n"]
    )
