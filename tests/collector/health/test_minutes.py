"""The tables per minute agree with the transactions, also after an insert is repeated."""

from __future__ import annotations

import time

import pytest
from walltime_collector.clickhouse.engine import Engine, Rows
from walltime_collector.spool.segment import Record

from tests.collector.conftest import Stored
from tests.collector.traffic import Shop, export_request

SUMS = """
SELECT service, name, toStartOfMinute(started_at) AS at, count() AS transactions, countIf(is_error) AS errors,
    countIf(intDiv(http_status, 100) = 4) AS client_errors, countIf(intDiv(http_status, 100) = 5) AS server_errors,
    sum(duration_ns) AS total_ns, max(duration_ns) AS longest_ns, sum(other_ns) AS other_total_ns,
    COLUMNS('^(mysql|memcache|http)_.*_(calls|time_ns|errors|hits|misses|rows)$') APPLY sum,
    sumMap(custom_time_ns) AS custom
FROM transactions GROUP BY ALL ORDER BY ALL
"""
MINUTES = """
SELECT service, name, minute AS at, sum(transactions) AS transactions, sum(errors) AS errors,
    sum(status_4xx) AS client_errors, sum(status_5xx) AS server_errors,
    sum(duration_ns) AS total_ns, max(max_ns) AS longest_ns, sum(other_ns) AS other_total_ns,
    COLUMNS('^(mysql|memcache|http)_.*_(calls|time_ns|errors|hits|misses|rows)$') APPLY sum,
    sumMap(custom_time_ns) AS custom
FROM transactions_1m GROUP BY ALL ORDER BY ALL
"""
TARGETS = """
SELECT service, name, target.component AS component, target.address AS address, toStartOfMinute(started_at) AS at,
    count() AS n, sum(target.calls) AS calls, sum(target.time_ns) AS time_ns,
    sum(target.hits) AS hits, sum(target.misses) AS misses
FROM transactions ARRAY JOIN target GROUP BY ALL ORDER BY ALL
"""
TARGET_MINUTES = """
SELECT service, name, component, address, minute AS at,
    sum(transactions) AS n, sum(t.calls) AS calls, sum(t.time_ns) AS time_ns,
    sum(t.hits) AS hits, sum(t.misses) AS misses
FROM targets_1m AS t GROUP BY ALL ORDER BY ALL
"""
STATEMENTS = """
SELECT service, name, statement.text AS text, toStartOfMinute(started_at) AS at,
    count() AS n, sum(statement.calls) AS calls, sum(statement.time_ns) AS time_ns, sum(statement.errors) AS errors
FROM transactions ARRAY JOIN statement GROUP BY ALL ORDER BY ALL
"""
STATEMENT_MINUTES = """
SELECT service, name, text, minute AS at,
    sum(transactions) AS n, sum(t.calls) AS calls, sum(t.time_ns) AS time_ns, sum(t.errors) AS errors
FROM statements_1m AS t GROUP BY ALL ORDER BY ALL
"""
SAMPLES = """
SELECT service, name, sample.component AS component, sample.line AS line, sample.function AS function,
    sample.library AS library, sample.state AS state, sample.stack AS stack, toStartOfMinute(started_at) AS at,
    sum(sample.count) AS n, sum(sample.time_ns) AS time
FROM transactions ARRAY JOIN sample GROUP BY ALL ORDER BY ALL
"""
SAMPLE_MINUTES = """
SELECT service, name, component, line, function, library, state, stack, minute AS at,
    sum(samples) AS n, sum(time_ns) AS time
FROM other_1m GROUP BY ALL ORDER BY ALL
"""
PAIRS = (
    (SUMS, MINUTES),
    (TARGETS, TARGET_MINUTES),
    (STATEMENTS, STATEMENT_MINUTES),
    (SAMPLES, SAMPLE_MINUTES),
)


@pytest.mark.parametrize(("raw", "minutes"), PAIRS, ids=("transactions", "targets", "statements", "samples"))
def test_the_sums_per_minute_equal_those_of_the_transactions(shop: Stored, raw: str, minutes: str) -> None:
    expected, stored = shop.engine.query(raw), shop.engine.query(minutes)

    assert len(stored) > 10
    assert stored == expected


def test_percentiles_of_the_minutes_are_close_to_those_of_the_durations(shop: Stored) -> None:
    durations: dict[str, list[int]] = {}
    for sent in shop.sent:
        durations.setdefault(sent.name, []).append(sent.duration_ns)
    stored = shop.engine.query(
        "SELECT name, quantilesTDigestMerge(0.5, 0.95, 0.99)(percentiles_ns) AS estimates"
        " FROM transactions_1m GROUP BY name"
    )

    assert {row["name"] for row in stored} == set(durations)
    often = [row for row in stored if len(durations[row["name"]]) >= 200]
    assert often
    for row in often:
        mine = durations[row["name"]]
        below = [sum(duration <= estimate for duration in mine) / len(mine) for estimate in row["estimates"]]
        assert below == pytest.approx([0.5, 0.95, 0.99], abs=0.02)


def test_a_repeated_insert_adds_nothing_to_the_minutes(engine: Engine) -> None:
    sent = [each for visit in range(20) for each in Shop(seed=visit).visit(time.time_ns())]
    for each, status in zip(sent, (404, 422, 500, 503, 301), strict=False):
        each.attributes["http.response.status_code"] = status
    record = Record(time.time_ns(), len(sent), export_request(sent))

    def counted() -> list[Rows]:
        return [engine.query(minutes) for _, minutes in PAIRS]

    engine.insert([record], "tried-again")
    once = counted()
    engine.insert([record], "tried-again")

    assert counted() == once
    engine.insert([record], "not-the-same")
    assert counted() != once
    assert counted()[0] == engine.query(SUMS)
