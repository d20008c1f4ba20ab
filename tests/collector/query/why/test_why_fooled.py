"""Data that fooled `why`: single transactions, bursts, a changed mix, a deploy at the time of a fault."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from walltime_collector.clickhouse.embedded.engine import EmbeddedEngine
from walltime_collector.query.why.answer import Why
from walltime_collector.query.why.explain import explain
from walltime_collector.query.windows import Comparison, Window
from walltime_collector.spool.segment import Record

from tests.by_day import by_day
from tests.collector.traffic import DATABASE, MS, Sent, SentCall, Value, export_request

S = 1_000_000_000
HOST, PORT = DATABASE.split(":")
Calls = Sequence[tuple[str, float, dict[str, Value]]]
"""Component, milliseconds, attributes."""


def query(text: str, ms: float) -> tuple[str, float, dict[str, Value]]:
    return "mysql.query", ms, {"server.address": HOST, "server.port": int(PORT), "db.query.text": text}


def get(*, is_hit: bool) -> tuple[str, float, dict[str, Value]]:
    result = "hit" if is_hit else "miss"
    where: dict[str, Value] = {"server.address": "10.0.0.11", "server.port": 11211}
    return "memcache.get", 0.3, {**where, "walltime.memcache.result": result}


class Shop:
    """Requests of one kind, with times by a seed."""

    def __init__(self, engine: EmbeddedEngine, seed: int) -> None:
        self.engine, self.random, self.name = engine, random.Random(seed), f"GET /{seed}/{time.time_ns()}"
        self.now_ns = time.time_ns() // S * S

    def about(self, ms: float) -> float:
        return ms * self.random.lognormvariate(-0.03, 0.25)

    def many(
        self, count: int, minutes_ago: float, gap_s: float, calls: Callable[[int], Calls], **more: Any
    ) -> list[Sent]:
        start_ns = self.now_ns - round(minutes_ago * 60 * S)
        return [self.one(start_ns + round(at * gap_s * S), calls(at), **more) for at in range(count)]

    def one(self, at_ns: int, calls: Calls, *, status: int = 200, version: str = "", tenant: str = "") -> Sent:
        sent, offset_ns = [], 100_000
        for component, ms, of_call in calls:
            sent.append(SentCall(component, offset_ns, round(ms * MS), of_call))
            offset_ns += round(ms * MS)
        ids = self.random.getrandbits
        attributes: dict[str, Value] = {"http.request.method": "GET", "http.response.status_code": status}
        return Sent(
            f"{ids(128) | 1:032x}",
            f"{ids(64) | 1:016x}",
            self.name,
            at_ns,
            offset_ns + round(self.about(5) * MS),
            version=version,
            calls=sent,
            attributes=attributes | ({"tenant": tenant} if tenant else {}),
            is_error=status >= 500,
        )

    def why(self, usual: list[Sent], slow: list[Sent] | None = None) -> Why:
        """Of two times; of the slowest 5 % of one, without `slow`."""
        sent = [*usual, *(slow or ())]
        self.engine.insert([Record(time.time_ns(), len(sent), export_request(sent))], self.name)
        if slow is None:
            return explain(self.engine, self.name, Comparison(_window(usual), _window(usual), 5.0))
        return explain(self.engine, self.name, Comparison(_window(slow), _window(usual)))


def _window(sent: list[Sent]) -> Window:
    return Window(min(each.started_ns for each in sent), max(each.started_ns for each in sent) + 1)


@pytest.fixture(params=by_day((1, 2), 2))
def shop(engine: EmbeddedEngine, request: pytest.FixtureRequest) -> Shop:
    return Shop(engine, request.param)


def adds_up(why: Why) -> None:
    parts_ns = sum(each.difference_ns for each in why.components)
    parts_ns += (why.singles.part_ns if why.singles else 0) + (why.mix.part_ns if why.mix else 0)
    assert parts_ns == pytest.approx(why.difference_ns, rel=1e-6, abs=10)


def test_one_outlier_of_the_slowest_is_told_from_what_49_have_in_common(shop: Shop) -> None:
    def calls(at: int) -> Calls:
        waits_ms = 60_000.0 if at == 507 else shop.about(2)
        if at % 20 == 7:
            return get(is_hit=False), query("SELECT * FROM product WHERE id=%s", 90), query("SELECT 1", waits_ms)
        return get(is_hit=True), query("SELECT 1", shop.about(2))

    why = shop.why(shop.many(1000, 30, 1, calls))
    assert "typically take 9" in why.headline or "typically take 10" in why.headline
    assert "product" in why.sentences[1]
    assert "memcache.get" in why.sentences[1]
    assert "1 of 50 transactions takes 60.1 s" in why.sentences[2]
    assert why.singles is not None
    assert why.singles.slow == 1
    assert why.singles.slow_traces[0] in why.sentences[2]
    adds_up(why)


def test_one_stall_of_the_usual_time_does_not_hide_that_all_became_slower(shop: Shop) -> None:
    usual = shop.many(3600, 90, 1, lambda at: [query("SELECT 1", 60_000 if at == 1800 else shop.about(15))])
    why = shop.why(usual, shop.many(300, 20, 1, lambda _: [query("SELECT 1", shop.about(25))]))
    assert why.verdict == "different"
    assert why.low_ns is not None
    assert why.high_ns is not None
    assert why.low_ns < 10 * MS < why.high_ns
    assert "mysql.query: each call takes 1.7× as long" in " ".join(why.sentences)
    assert why.difference_ns < 0 < why.typical_ns
    adds_up(why)


def test_lock_waits_of_one_in_fifty_are_a_change_of_their_own(shop: Shop) -> None:
    usual = shop.many(1500, 60, 1, lambda _: [query("UPDATE cart", shop.about(15))])
    slow = shop.many(500, 20, 1, lambda at: [query("UPDATE cart", 2_000 if at % 50 == 7 else shop.about(15))])
    why = shop.why(usual, slow)
    assert why.verdict == "different"
    assert "2.0 % of the transactions (10 of 500) take more than" in why.headline
    assert "mostly in mysql.query" in why.headline
    assert "each call takes" not in " ".join(why.sentences)
    adds_up(why)


def test_a_burst_as_there_were_six_before_is_chance_in_every_sentence(shop: Shop) -> None:
    def in_bursts(every: int) -> Callable[[int], Calls]:
        return lambda at: [query("SELECT 1", 30_000 if at % every < 20 else shop.about(15))]

    usual = shop.many(6000, 100, 0.6, in_bursts(1000))
    why = shop.why(usual, shop.many(500, 20, 0.6, in_bursts(500)))
    assert why.verdict == "chance"
    assert len(why.sentences) == 1


def test_more_requests_of_a_slow_tenant_are_a_mix_and_nobody_is_slower(shop: Shop) -> None:
    def sent(count: int, minutes_ago: float, share: float) -> list[Sent]:
        start_ns, made = shop.now_ns - round(minutes_ago * 60 * S), []
        for at in range(count):
            is_big = shop.random.random() < share
            called = [query("SELECT * FROM orders", shop.about(100 if is_big else 10))]
            made.append(shop.one(start_ns + at * S // 2, called, tenant="big" if is_big else "small"))
        return made

    why = shop.why(sent(1500, 40, 0.1), sent(400, 20, 0.5))
    assert "The mix changed: more of tenant=big" in why.headline
    assert "each call takes" not in " ".join(why.sentences)
    assert why.mix is not None
    assert why.mix.mix_ns == pytest.approx(why.typical_ns, rel=0.15)
    adds_up(why)


def test_a_version_that_all_have_explains_no_fault_of_the_database(shop: Shop) -> None:
    usual = shop.many(1500, 40, 0.5, lambda _: [query("SELECT 1", shop.about(10))], version="2.0")
    why = shop.why(usual, shop.many(400, 20, 0.5, lambda _: [query("SELECT 1", shop.about(30))], version="2.1"))
    assert "mysql.query: each call takes" in why.headline
    assert why.dimensions == ()
    assert why.findings[-1].about == "circumstance"
    assert why.findings[-1].part_ns is None
    adds_up(why)


def test_what_single_transactions_carry_is_read_from_the_tables(shop: Shop) -> None:
    usual = shop.many(1500, 60, 1, lambda _: [query("UPDATE cart", shop.about(15))])
    slow = shop.many(500, 20, 1, lambda at: [query("UPDATE cart", 2_000 if at % 50 == 7 else shop.about(15))])
    finding = next(each for each in shop.why(usual, slow).findings if each.about == "single")
    assert finding.evidence is not None
    rows = {row["side"]: row for row in shop.engine.query(finding.evidence.sql)}
    for name, number in finding.evidence.numbers.items():
        side, _, column = name.partition("_")
        assert float(rows[side][column]) == pytest.approx(number, rel=1e-6)


def test_the_slowest_of_one_bad_minute_are_explained_by_what_they_have_in_common(shop: Shop) -> None:
    """As in the demo, a minute after the restart: all slow ones are neighbours, and all of them miss."""

    def calls(at: int) -> Calls:
        made: list[tuple[str, float, dict[str, Value]]] = [query("SELECT * FROM product", shop.about(2))]
        for key in range(10):
            is_hit = shop.random.random() < (0.05 if at >= 830 else 0.99)
            made.append(get(is_hit=is_hit))
            made += [] if is_hit else [query(f"SELECT * FROM part{key}", shop.about(2))]
        return made

    why = shop.why(shop.many(900, 15, 0.9, calls))
    assert "because memcache.get on 10.0.0.11:11211 hits" in why.headline
