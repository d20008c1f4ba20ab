"""`find`: pages by key in every order, over stored rows; and those that arrive."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from typing import Any

import pytest
from walltime_collector.cli.find.follow import LATE_S, arrivals
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.errors import BadParameter
from walltime_collector.query.find.answer import Match, Matches
from walltime_collector.query.find.search import ended, find
from walltime_collector.query.scope import Filters, Scope
from walltime_collector.query.windows import Window

from tests.by_day import by_day
from tests.collector.query.condition.rows import is_true, lock, make_rows, slow_log, stored_value

S = 10**9


@pytest.fixture(scope="module")
def rows(engine: Engine) -> list[dict[str, Any]]:
    """Most are of the last minutes, some are hours old; 10 started at the same time."""
    now_ns, rng = time.time_ns(), random.Random(3)
    rows = make_rows(240, now_ns)
    lock(rows)
    for at, row in enumerate(rows):
        row["span_id"] = f"{rng.getrandbits(24):08d}"
        row["started_ns"] = now_ns - 700 * S if at < 10 else now_ns - rng.choice((60, 600, 86_400)) * rng.randrange(S)
        row["started_at"] = f"{row['started_ns'] // S}.{row['started_ns'] % S:09d}"
    stored = [{name: value for name, value in row.items() if name not in ("lock_ns", "started_ns")} for row in rows]
    engine.insert_rows("transactions", "\n".join(map(json.dumps, stored)).encode(), "rows")
    engine.insert_rows("slow_log_entries", slow_log(rows, now_ns - 60 * S), "logged")
    return rows


def day() -> Window:
    now_ns = time.time_ns()
    return Window(now_ns - 90_000 * S, now_ns + S)


def pages(engine: Engine, filters: Filters, sort: str, limit: int) -> list[Matches]:
    """All pages; between them the clock goes on, and the window of the list stays."""
    read = [find(engine, Scope(day(), filters), sort=sort, limit=limit)]
    while read[-1].next:
        now_ns = time.time_ns()
        another = Scope(Window(now_ns - 5 * S, now_ns), filters)
        read.append(find(engine, another, sort=sort, limit=limit, after=read[-1].next))
    return read


@pytest.mark.parametrize(
    "sort",
    by_day(["time", "duration", "mysql.query.calls", "redis.time", "memcache.misses", "tax.rows", "lock.time"], 4),
)
@pytest.mark.parametrize("where", ["", "status = 5xx or duration > 1s"])
def test_the_pages_have_every_transaction_once_and_in_order(
    engine: Engine, rows: list[dict[str, Any]], sort: str, where: str
) -> None:
    def key(row: dict[str, Any]) -> tuple[int, int, str]:
        value = row["started_ns"] if sort == "time" else stored_value(sort, row)
        return value, row["started_ns"], row["span_id"].encode().hex()

    listed = [row for row in rows if row["lock_ns"]] if sort == "lock.time" else rows
    expected = sorted((key(row) for row in listed if not where or is_true(where, row)), reverse=True)
    read = pages(engine, Filters(where=where), sort, 17)
    assert [len(each.matches) for each in read[:-1]] == [17] * (len(read) - 1)
    assert len({(each.since, each.until) for each in read}) == 1
    matches = [each for page in read for each in page.matches]
    assert [(each.sort_value, each.span_id) for each in matches] == [(value, span) for value, _, span in expected]


def test_a_match_has_its_bill(engine: Engine, rows: list[dict[str, Any]]) -> None:
    by_trace = {row["trace_id"].encode().hex(): row for row in rows}
    for match in find(engine, Scope(day()), sort="duration", limit=20).matches:
        row = by_trace[match.trace_id]
        assert (match.duration_ns, match.host, match.user) == (row["duration_ns"], row["host"], row["user"])
        assert match.other_ns == stored_value("other.time", row)
        for part in match.components:
            assert (part.calls, part.time_ns) == tuple(
                stored_value(f"{part.name}.{counter}", row) for counter in ("calls", "time")
            )


@pytest.mark.parametrize(
    ("sort", "after", "where"),
    [
        ("colour", "", "sort"),
        ("host", "", "sort"),
        ("duration); --", "", "sort"),
        ("time", "1-2-3", "after"),
    ],
)
def test_a_wrong_order_or_key_is_an_error(engine: Engine, sort: str, after: str, where: str) -> None:
    with pytest.raises(BadParameter) as error:
        find(engine, Scope(day()), sort=sort, after=after)
    assert error.value.where == where


def test_those_that_ended_lately_are_found_whenever_they_started(engine: Engine, rows: list[dict[str, Any]]) -> None:
    now_ns = time.time_ns()
    long = {"trace_id": "l" * 16, "span_id": "l" * 8, "service": "jobs", "name": "nightly", "duration_ns": 7_000 * S}
    long |= {"started_at": f"{(now_ns - 7_020 * S) // S}.0"}
    short = {**long, "span_id": "s" * 8, "duration_ns": 6_000 * S}
    engine.insert_rows("transactions", "\n".join(map(json.dumps, (long, short))).encode(), "long")
    jobs = ended(engine, Filters(service="jobs"), within_s=60, now_ns=time.time_ns(), limit=10)
    assert [each.span_id for each in jobs.matches] == [("l" * 8).encode().hex()]
    now_ns, after = time.time_ns(), ""
    ends = {row["trace_id"].encode().hex(): row["started_ns"] + row["duration_ns"] for row in rows}
    expected = {trace for trace, end_ns in ends.items() if end_ns >= now_ns - 600 * S}
    seen: list[str] = []
    while True:
        page = ended(engine, Filters(service=""), within_s=600, now_ns=now_ns, limit=7, after=after)
        seen += [each.trace_id for each in page.matches if each.service != "jobs"]
        if not (after := page.next):
            break
    assert set(seen) == expected
    assert len(seen) == len(expected)
    assert seen == sorted(seen, key=lambda trace: ends[trace])


@pytest.mark.parametrize("seed", range(20))
def test_each_transaction_is_followed_once_however_late_it_is_stored(seed: int) -> None:
    rng, clock = random.Random(seed), 0.0
    ends = sorted(rng.uniform(-LATE_S, 400) for _ in range(400))
    stored_s = {end: end + rng.choice((rng.uniform(0, 3), rng.uniform(0, LATE_S - 60))) for end in ends}

    def ended_within(seconds: int) -> list[Match]:
        return [_match(end) for end in ends if clock - seconds <= end and stored_s[end] <= clock]

    def wait() -> None:
        nonlocal clock
        clock += 1

    def until(stop: Callable[[], bool]) -> list[str]:
        seen: list[str] = []

        def wait_or_stop() -> None:
            wait()
            if stop():
                raise StopFollowing

        try:
            for each in arrivals(ended_within, wait_or_stop):
                seen.append(each.trace_id)
        except StopFollowing:
            pass
        return seen

    seen = until(lambda: clock > 1_400)
    assert len(seen) == len(set(seen))
    assert set(seen) == {_match(end).trace_id for end in ends if stored_s[end] > 0}


class StopFollowing(Exception): ...


def _match(end: float) -> Match:
    return Match(str(end), "", "", 0, "", "", "", "", "", "", 0, False, "", "", 0, 0, ())
