"""A transaction among the others of its kind: the same numbers as by brute force, and no word without support."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from statistics import median

import pytest
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.conversion import from_json
from walltime_collector.query.transaction.place import FEWEST, SAMPLED, Place, place
from walltime_collector.query.transaction.place_words import percentile

from tests.by_day import by_day
from tests.collector.conftest import Store, Stored
from tests.collector.query.showing import asked, make
from tests.collector.traffic import DATABASE, MS, Sent, SentCall, Value

HOUR_NS = 3_600_000_000_000
HOST, _, PORT = DATABASE.rpartition(":")


def place_of(engine: Engine, sent: Sent) -> Place:
    (bill,) = [each for each in asked(engine, sent.trace_id).transactions if each.span_id == sent.span_id]
    return place(engine, bill)


def others_of(sent: Sent, stored: list[Sent]) -> list[Sent]:
    same = [each for each in stored if (each.service, each.name) == (sent.service, sent.name)]
    return [each for each in same if each.span_id != sent.span_id]


def queries(*durations_ms: float) -> list[SentCall]:
    calls, at_ns = [], 0
    for duration_ms in durations_ms:
        said: dict[str, Value] = {"server.address": HOST, "server.port": int(PORT), "db.query.text": "SELECT 1"}
        calls.append(SentCall("mysql.query", at_ns, round(duration_ms * MS), said))
        at_ns += round(duration_ms * MS) + 10_000
    return calls


def usual(name: str, n: int, seed: int = 1, around_ns: int = 0, **fields: object) -> list[Sent]:
    """Transactions of one kind: two queries of about 3 ms and some time of their own."""
    draw = random.Random(seed)
    made = []
    for at in range(n):
        took_ms = [draw.uniform(2.5, 3.5), draw.uniform(2.5, 3.5)]
        sent = make(name, duration_ns=round((sum(took_ms) + draw.uniform(3.5, 4.5)) * MS), calls=queries(*took_ms))
        sent.started_ns = (around_ns or sent.started_ns) - at * 1_000_000
        for field, value in fields.items():
            setattr(sent, field, value)
        made.append(sent)
    return made


@pytest.mark.parametrize("name", by_day(["GET /product/{id}", "GET /search", "GET /rank"], 3))
def test_the_place_is_the_one_by_brute_force(shop: Stored, name: str) -> None:
    same = [sent for sent in shop.sent if sent.name == name]
    for sent in [*same[:5], min(same, key=lambda each: each.duration_ns), max(same, key=lambda each: each.duration_ns)]:
        answer = place_of(shop.engine, sent)
        took = [each.duration_ns for each in others_of(sent, shop.sent)]
        shorter, equal = sum(t < sent.duration_ns for t in took), took.count(sent.duration_ns)
        assert (answer.others, answer.shorter, answer.equal) == (len(took), shorter, equal)
        if len(took) >= FEWEST:
            assert answer.quantile == pytest.approx((shorter + equal / 2) / len(took))
        else:
            assert answer.quantile is None
        everyone = [*took, sent.duration_ns]
        assert answer.max_ns == max(everyone)
        assert answer.p50_ns == pytest.approx(median(everyone), rel=0.02)
        assert sum(step.transactions for step in answer.steps) == len(everyone)
        for step in answer.steps:
            inside = sum(step.from_ns * 1.0001 <= t < step.to_ns * 0.9999 for t in everyone)
            around = sum(step.from_ns * 0.9999 <= t < step.to_ns * 1.0001 for t in everyone)
            assert inside <= step.transactions <= around
        assert from_json(Place, json.loads(json.dumps(asdict(answer)))) == answer


def test_what_is_unusual_is_the_same_by_brute_force(shop: Stored) -> None:
    bills = {sent.span_id: (sent, sent.bill()) for sent in shop.sent if sent.name == "GET /product/{id}"}
    slowest_first = sorted(bills, key=lambda span_id: -bills[span_id][0].duration_ns)
    found = 0
    for span_id in slowest_first[:12] + slowest_first[12::40]:
        sent, bill = bills[span_id]
        others = [other for each, (_, other) in bills.items() if each != span_id]
        answer = place_of(shop.engine, sent)
        assert answer.sampled == len(others) >= FEWEST
        reported = {(each.component, each.counter) for each in answer.unusual}
        for each in answer.unusual:
            if each.component not in ("other", "CPU", "queue"):
                values = values_of(others, each.component, each.counter)
                assert (each.value, each.usual) == (values_of([bill], each.component, each.counter)[0], median(values))
                assert fewest_as_extreme(each.value, values) <= 0.01 * len(values)
                found += 1
        for component in {call.component for call in sent.calls}:
            for counter in ("calls", "misses"):
                (value,), values = values_of([bill], component, counter), values_of(others, component, counter)
                is_far = abs(value - median(values)) >= max(1, 0.05 * median(values))
                is_unusual = is_far and fewest_as_extreme(value, values) <= 0.01 * len(values)
                assert ((component, counter) in reported) == is_unusual
    assert found


def values_of(bills: Sequence[Mapping[str, Value]], component: str, counter: str) -> list[float]:
    """The counter of each transaction, `per_call_ns` of those that called the component."""

    def number(bill: Mapping[str, Value], name: str) -> int:
        return int(str(bill.get(f"walltime.{component}.{name}", 0)))

    if counter == "per_call_ns":
        return [number(bill, "time_ns") / calls for bill in bills if (calls := number(bill, "calls"))]
    return [number(bill, counter) for bill in bills]


def fewest_as_extreme(value: float, values: Sequence[float]) -> int:
    return min(sum(each >= value for each in values), sum(each <= value for each in values))


def test_the_reason_for_a_slow_one_comes_first(engine: Engine, store: Store) -> None:
    slow = make("GET /slow", duration_ns=100 * MS, calls=queries(*[3.0] * 30))
    store([*usual("GET /slow", 300), slow])
    answer = place_of(engine, slow)
    assert (answer.others, answer.shorter, answer.quantile) == (300, 300, 1.0)
    by_counter = {each.counter: each for each in answer.unusual if each.component == "mysql.query"}
    assert answer.unusual[0].component == "mysql.query"
    assert set(by_counter) == {"time_ns", "calls"}  # each call took as long as ever
    assert (by_counter["calls"].value, by_counter["calls"].usual, by_counter["calls"].ratio) == (30, 2, 15)
    assert by_counter["calls"].quantile == 1.0
    assert by_counter["time_ns"].difference_ns == pytest.approx(84 * MS, rel=0.01)


def test_slower_calls_are_distinguished_from_more_calls(engine: Engine, store: Store) -> None:
    slow = make("GET /locked", duration_ns=900 * MS, calls=queries(3.0, 880.0))
    store([*usual("GET /locked", 200), slow])
    found = {(each.component, each.counter) for each in place_of(engine, slow).unusual}
    assert found == {("mysql.query", "time_ns"), ("mysql.query", "per_call_ns")}


def test_an_error_comes_before_all_that_took_longer(engine: Engine, store: Store) -> None:
    calls = [*queries(3.0, 80.0), SentCall("http.request", 84 * MS, 1 * MS, {"error.type": "TimeoutError"})]
    failing = make("GET /failing", duration_ns=90 * MS, calls=calls, is_error=True)
    store([*usual("GET /failing", 200), failing])
    answer = place_of(engine, failing)
    assert {each.component for each in answer.unusual[:2]} == {"http.request"}
    assert next(each for each in answer.unusual if each.counter == "errors").usual == 0


def test_a_component_that_is_missing_is_unusual_too(engine: Engine, store: Store) -> None:
    short = make("GET /short", duration_ns=1 * MS)
    store([*usual("GET /short", 200), short])
    answer = place_of(engine, short)
    assert answer.quantile == 0
    found = {(each.component, each.counter): each for each in answer.unusual}
    assert found["mysql.query", "calls"].value == 0
    assert found["mysql.query", "calls"].usual == 2


def test_custom_components_and_counters_without_columns_are_compared(engine: Engine, store: Store) -> None:
    def lookups(misses: int) -> list[SentCall]:
        results = ["miss"] * misses + ["hit"] * (20 - misses)
        calls = [SentCall("redis.get", at * MS, MS // 2, {"walltime.redis.result": r}) for at, r in enumerate(results)]
        return [*calls, SentCall("render", 20 * MS, (1 + 50 * misses) * MS)]

    others = [make("GET /redis", duration_ns=25 * MS, calls=lookups(at % 3)) for at in range(300)]
    slow = make("GET /redis", duration_ns=300 * MS, calls=lookups(18))
    store([*others, slow])
    found = {(each.component, each.counter): each for each in place_of(engine, slow).unusual}
    assert (found["redis.get", "misses"].value, found["redis.get", "misses"].usual) == (18, 1)
    assert found["render", "time_ns"].value == 901 * MS
    assert ("redis.get", "calls") not in found


def test_cpu_queue_and_other_time_are_compared_where_they_are_known(engine: Engine, store: Store) -> None:
    def beside(cpu_ns: int, queue_ns: int) -> dict[str, Value]:
        return {"walltime.cpu_user_ns": cpu_ns, "walltime.cpu_system_ns": 0, "walltime.queue_ns": queue_ns}

    others = usual("GET /busy", 150, attributes=beside(1 * MS, 1 * MS))
    busy = make("GET /busy", duration_ns=100 * MS, calls=queries(3.0, 3.0), attributes=beside(90 * MS, 60 * MS))
    unknown = make("GET /busy", duration_ns=100 * MS, calls=queries(3.0, 3.0))
    store([*others, busy, unknown])
    found = {each.component: (each.value, each.usual) for each in place_of(engine, busy).unusual}
    assert found["CPU"] == (90 * MS, 1 * MS)
    assert found["queue"] == (60 * MS, 1 * MS)
    assert found["other"][0] == 94 * MS
    assert {each.component for each in place_of(engine, unknown).unusual} == {"other"}


def test_a_usual_one_has_nothing_unusual(engine: Engine, store: Store) -> None:
    store(sent := usual("GET /usual", 400))
    in_the_middle = sorted(sent, key=lambda each: each.duration_ns)[200]
    answer = place_of(engine, in_the_middle)
    assert answer.quantile == pytest.approx(0.5, abs=0.01)
    assert (answer.unusual, answer.rare) == ((), ())


def test_nothing_is_said_without_support(engine: Engine, store: Store) -> None:
    alone = make("GET /alone", duration_ns=500 * MS, calls=queries(*[3.0] * 90), is_error=True)
    store([*usual("GET /alone", FEWEST - 1), alone])
    answer = place_of(engine, alone)
    assert (answer.others, answer.shorter) == (FEWEST - 1, FEWEST - 1)
    assert (answer.quantile, answer.sampled, answer.unusual, answer.rare) == (None, 0, (), ())


def test_a_rare_status_host_and_version_are_named(engine: Engine, store: Store) -> None:
    kinds = usual("GET /rare", 200, attributes={"http.response.status_code": 200}, version="1.9")
    odd = make("GET /rare", duration_ns=10 * MS, calls=queries(3.0, 3.0), host="web-7", version="2.0")
    odd.attributes = {"http.response.status_code": 404}
    store([*kinds, odd])
    answer = place_of(engine, odd)
    assert [(each.name, each.value, each.share, each.usual) for each in answer.rare] == [
        ("status", "404", 0, "200"), ("host", "web-7", 0, "web-1"), ("version", "2.0", 0, "1.9"),
    ]  # fmt: skip


def test_one_of_many_hosts_is_not_rare(engine: Engine, store: Store) -> None:
    sent = usual("GET /hosts", 400)
    store([replace(each, host=f"web-{at % 50}") for at, each in enumerate(sent)])
    assert place_of(engine, sent[0]).rare == ()


def test_the_window_grows_until_there_are_enough(engine: Engine, store: Store) -> None:
    now_ns = time.time_ns()
    yesterday = usual("GET /seldom", 150, around_ns=now_ns - 20 * HOUR_NS)
    one = make("GET /seldom", duration_ns=30 * MS, calls=queries(3.0, 3.0))
    store([*yesterday, one])
    answer = place_of(engine, one)
    assert (answer.others, answer.quantile) == (150, 1.0)
    near = usual("GET /often", 150, around_ns=now_ns - 2 * HOUR_NS) + usual("GET /often", 150)
    store(near)
    assert place_of(engine, near[-1]).others == 149


def test_of_many_a_sample_is_compared_and_the_place_stays_exact(engine: Engine, store: Store) -> None:
    many = usual("GET /many", 2 * SAMPLED + 100)
    slow = make("GET /many", duration_ns=100 * MS, calls=queries(*[3.0] * 30))
    store([*many, slow])
    answer = place_of(engine, slow)
    assert (answer.others, answer.shorter) == (len(many), len(many))
    assert 0.8 * SAMPLED < answer.sampled < 1.5 * SAMPLED
    assert answer.unusual[0].component == "mysql.query"


def test_of_very_many_only_those_are_read_that_were_sampled_as_they_arrived(engine: Engine, store: Store) -> None:
    slow = make("GET /crowd", duration_ns=100 * MS, calls=queries(*[3.0] * 30))
    others = usual("GET /crowd", 200)
    store(others)
    copies = 510
    engine.command(
        "INSERT INTO transactions SELECT * EXCEPT (number) REPLACE ("
        " CAST(substring(sipHash128(span_id, number), 1, 8) AS FixedString(8)) AS span_id,"
        " CAST(sipHash128(trace_id, number) AS FixedString(16)) AS trace_id,"
        " started_at - toIntervalMicrosecond(cityHash64(span_id, number) % 1500000000) AS started_at)"
        " FROM transactions CROSS JOIN numbers({copies:UInt64}) AS copies WHERE name = 'GET /crowd'",
        {"copies": copies},
    )
    store([slow])
    answer = place_of(engine, slow)
    assert answer.others == answer.shorter == 200 * (copies + 1)
    assert 0.2 * SAMPLED < answer.sampled < 2 * SAMPLED
    assert (answer.unusual[0].component, answer.quantile) == ("mysql.query", 1.0)


@pytest.mark.parametrize(
    ("quantile", "others", "words"),
    [(0.374, 4000, "p37"), (0.5, 100, "p50"), (0.992, 4000, "p99.2"), (0.9999, 4000, "p99.9"),
     (0.99986, 90_000, "p99.98"), (0.999, 100, "p99"), (1.0, 4000, "the slowest"), (0.0, 4000, "the fastest"),
     (0.004, 300, "p0.4"), (0.99999, 10**6, "p99.99")],
)  # fmt: skip
def test_a_percentile_claims_no_more_than_its_support(quantile: float, others: int, words: str) -> None:
    assert percentile(quantile, others) == words


@pytest.mark.nightly
def test_ten_minutes_of_the_shop_have_few_unusual_transactions(shop: Stored) -> None:
    searches = [sent for sent in shop.sent if sent.name == "GET /product/{id}"][:15]
    assert sum(bool(place_of(shop.engine, sent).unusual) for sent in searches) < len(searches) / 3
