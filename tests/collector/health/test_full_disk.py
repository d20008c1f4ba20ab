"""On a full disk the oldest day is dropped, if the settings say so: one at a time, counted, and never today."""

from __future__ import annotations

import time

from walltime_collector.clickhouse.engine import Engine
from walltime_collector.health.counters import Health
from walltime_collector.health.full_disk import OldestDays
from walltime_collector.spool.reserve import reserve_bytes
from walltime_collector.spool.segment import Record

from tests.collector.clickhouse.spans import request, span

DAY_NS = 86_400 * 1_000_000_000
DISK = 10**9
RESERVE = reserve_bytes(DISK)


def days(engine: Engine, table: str) -> list[int]:
    sql = "SELECT dateDiff('day', started_at, now64(9)) AS day FROM {table:Identifier} ORDER BY day DESC"
    return [int(row["day"]) for row in engine.query(sql, {"table": table})]


def test_the_oldest_day_is_dropped_until_there_is_space_and_today_stays(engine: Engine) -> None:
    now_ns, spans = time.time_ns(), []
    for age, transaction in ((5, True), (3, True), (3, False), (3, False), (1, False), (0, True), (0, False)):
        times = {"start_time_unix_nano": now_ns - age * DAY_NS, "end_time_unix_nano": now_ns}
        spans.append(span({"walltime.schema": 1} if transaction else {}, **times))
    engine.insert([Record(now_ns, len(spans), request(*spans).SerializeToString())], "days")
    minutes = engine.query("SELECT sum(transactions) AS n FROM transactions_1m")
    free, health = [RESERVE + 1], Health()
    oldest = OldestDays(engine, health, lambda: (free[0], DISK))

    def looked() -> tuple[list[int], list[int], dict[str, int]]:
        oldest.look()
        return days(engine, "transactions"), days(engine, "spans"), health.report()["counts"]

    assert looked() == ([5, 3, 0], [3, 3, 1, 0], {})
    free[0] = RESERVE
    assert looked() == ([3, 0], [3, 3, 1, 0], {"full_disk_days": 1, "full_disk_rows": 1})
    assert looked() == ([0], [1, 0], {"full_disk_days": 2, "full_disk_rows": 4})
    free[0] = RESERVE + 1
    assert looked() == ([0], [1, 0], {"full_disk_days": 2, "full_disk_rows": 4})
    free[0] = 0
    for _ in range(3):
        assert looked()[0] == [0]
    assert looked() == ([0], [0], {"full_disk_days": 3, "full_disk_rows": 5})
    assert engine.query("SELECT sum(transactions) AS n FROM transactions_1m") == minutes
