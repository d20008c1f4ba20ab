"""Single transactions neither make a difference of `diff` nor hide one, and what they carry is said apart."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from typing import Any

import pytest
from rich.console import Console
from walltime_collector.cli.diff.text import render
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.query.diff.answer import Diff, KindDifference
from walltime_collector.query.diff.compare import diff
from walltime_collector.query.scope import Filters, Scope
from walltime_collector.query.windows import Window
from walltime_collector.sql.runner import QueryRunner

from tests.collector.query.diff.simulated import MS, S, insert
from tests.collector.query.digesting import said

USUAL_S, NOW_S = 3_600, 900
N = 400
"""Of each kind on the usual side, and half as many on the other, of about 20 ms."""


def made(kind: str, is_now: bool, number: int, rng: random.Random) -> float:
    """How long it takes, in ms."""
    took = 20 * rng.lognormvariate(-0.02, 0.2)
    match kind:
        case "one now":
            return 60_000 if is_now and number == 100 else took
        case "one before":
            return 600_000 if not is_now and number == 100 else took * (1.5 if is_now else 1)
        case "faster, one now":
            return 60_000 if is_now and number == 50 else took * (0.6 if is_now else 1)
        case "stalls":
            return 1_000 if is_now and number % 20 == 0 else took
    return took


def rows(start_ns: int) -> Iterator[dict[str, Any]]:
    rng = random.Random(11)
    for kind in ("one now", "one before", "faster, one now", "stalls", "same"):
        for is_now, count, length_s in ((False, N, USUAL_S), (True, N // 2, NOW_S)):
            for number in range(count):
                at_ns = start_ns + is_now * USUAL_S * S + round((number + rng.random()) / count * length_s * S)
                took_ns = round(made(kind, is_now, number, rng) * MS)
                yield {
                    "trace_id": f"{rng.getrandbits(53):016x}",
                    "span_id": f"{rng.getrandbits(32):08x}",
                    "started_at": f"{at_ns // S}.{at_ns % S:09d}",
                    "duration_ns": took_ns,
                    "covered_ns": took_ns,
                    "service": "singles",
                    "name": kind,
                    "http_status": 200,
                    "mysql_query_calls": 2,
                    "mysql_query_time_ns": took_ns,
                }


@pytest.fixture(scope="module")
def answer(engine: Engine) -> Diff:
    start_ns = (time.time_ns() // S - USUAL_S - NOW_S) * S
    insert(engine, rows(start_ns), "singles")
    now_ns = start_ns + USUAL_S * S
    end_ns = now_ns + NOW_S * S
    usual, now = (
        Scope(each, Filters(service="singles")) for each in (Window(start_ns, now_ns), Window(now_ns, end_ns))
    )
    return diff(engine, usual, now, end_ns)


def of(answer: Diff, name: str) -> KindDifference:
    return next(each for each in answer.kinds if each.name == name)


def test_one_long_transaction_makes_no_kind_slower(answer: Diff) -> None:
    one = of(answer, "one now")
    assert (one.change, one.singles, one.sql) == ("chance", "", ())
    assert one.single_ns == pytest.approx(60_000 * MS / (N / 2), rel=0.01)
    assert abs(one.difference_ns) < 2 * MS
    printed = " ".join(said(render(answer, Console(), 20)).split())
    assert "Only single transactions moved the mean of 1 kind: one now by +300 ms, typically" in printed


def test_one_long_transaction_hides_no_difference(answer: Diff) -> None:
    slower, faster = of(answer, "one before"), of(answer, "faster, one now")
    assert (slower.change, faster.change) == ("slower", "faster")
    assert slower.relative == pytest.approx(0.5, abs=0.1)
    assert faster.relative == pytest.approx(-0.4, abs=0.1)
    assert slower.usual is not None
    assert (slower.usual.transactions, slower.usual.timed, slower.usual.singles) == (N, N - 1, 1)
    assert sum(each.difference_ns for each in slower.components) == pytest.approx(slower.difference_ns)
    printed = " ".join(said(render(answer, Console(), 20)).split())
    assert "beside these, 0 of 200 transactions took far longer, before 1 of 400" in printed


def test_more_stalls_are_a_difference_of_their_own(answer: Diff) -> None:
    stalls = of(answer, "stalls")
    assert (stalls.change, stalls.singles) == ("chance", "more")
    assert stalls.now is not None
    assert stalls.now.singles == N // 2 // 20
    assert (of(answer, "same").change, of(answer, "same").singles) == ("chance", "")


def test_the_numbers_of_a_difference_are_those_of_its_statements(engine: Engine, answer: Diff) -> None:
    runner = QueryRunner(engine, "walltime")
    slower = of(answer, "one before")
    for sql, side in zip(slower.sql, (slower.usual, slower.now), strict=True):
        assert side is not None
        row = json.loads(runner.run(sql, name="diff", parameters={}, format_name="JSONEachRow").content)
        counts = [int(row[name]) for name in ("transactions", "errors", "singles", "timed")]
        assert counts == [side.transactions, side.errors, side.singles, side.timed]
        assert row["mean_ns"] == pytest.approx(side.mean_ns)
    runner.close()
