"""Which line of the application a difference in `other` or in a view comes from, beyond chance."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator

import pytest
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.query.statistics import CHANCE
from walltime_collector.query.why.answer import SampledLine, Why
from walltime_collector.query.why.causes.process import sampled_lines
from walltime_collector.query.why.explain import explain
from walltime_collector.query.windows import Comparison, Window, comparison

from tests.collector.conftest import MINUTE_NS, Store
from tests.collector.query.showing import make
from tests.collector.traffic import MS, SAMPLE_NS, Sent, SentCall, SentSample

TO_JSON = SentSample("shop/serializers.py:88", "to_json", library="json.encoder.iterencode")
LOCK = SentSample("shop/locks.py:7", "wait", state="lock")
USUAL = SentSample("shop/views.py:12", "page")
TWO = 2 * MINUTE_NS
_names = iter(range(1_000))


@pytest.fixture
def compare(engine: Engine, store: Store) -> Callable[..., Why]:
    """Stores 300 usual and 300 slow transactions, of which `slower_ns` is in the lines, and compares them."""
    rng = random.Random(7)

    def taken(ns: int, samples: list[SentSample]) -> list[SentSample]:
        """As a sampler does it: at each look, whatever the transaction is at."""
        looks, at_ns = [], rng.randrange(SAMPLE_NS)
        while at_ns < ns:
            looks.append(rng.choice(samples))
            at_ns += SAMPLE_NS
        return looks

    def made(name: str, start_ns: int, extra_ns: int, extra: list[SentSample], view: bool) -> list[Sent]:
        sent = []
        for at in range(300):
            own_ns = 4 * MS + rng.randrange(2 * MS)
            samples = taken(own_ns, [USUAL]) + taken(extra_ns, extra)
            calls = [SentCall("view", MS, own_ns + extra_ns)] if view else []
            one = make(name, duration_ns=own_ns + extra_ns + MS, started_ns=start_ns + at * TWO // 300, calls=calls)
            one.samples = [SentSample(**{**vars(each), "component": "view" if view else "other"}) for each in samples]
            sent.append(one)
        return sent

    def run(slower_ns: int, *lines: SentSample, view: bool = False, when: str = "") -> Why:
        name, end_ns = f"GET /{next(_names)}", time.time_ns() - MINUTE_NS
        usual = made(name, end_ns - 2 * TWO, 0, [USUAL], view)
        slow = made(name, end_ns - TWO, slower_ns, list(lines), view)
        for each in slow:
            each.version = "2"
        store([*usual, *slow])
        middle = Window(end_ns - TWO, end_ns)
        if when:
            whole = Window(end_ns - 2 * TWO, end_ns)
            return explain(engine, name, Comparison(whole, whole, when=when))
        return explain(engine, name, Comparison(middle, Window(end_ns - 2 * TWO, end_ns - TWO)))

    return run


def test_other_is_computing_in_a_line(compare: Callable[..., Why]) -> None:
    why = compare(6 * MS, TO_JSON)
    assert "+6." in why.headline
    assert "other, in no measured call: " in why.headline
    assert ", computing, " in why.headline
    assert " of it in `shop/serializers.py:88 to_json` (" in why.headline
    assert " ± " in why.headline
    (first, *_) = why.lines
    assert (first.line, first.function, first.component, first.state) == (TO_JSON.line, "to_json", "other", "computing")
    assert (first.usual_samples, first.usual_ns) == (0, 0)
    assert first.difference_ns == first.slow_samples * SAMPLE_NS / 300
    assert abs(first.difference_ns - 6 * MS) < 4 * first.error_ns


def test_a_lock_in_a_view_and_a_condition(compare: Callable[..., Why]) -> None:
    why = compare(5 * MS, LOCK, view=True, when="version = 2")
    assert "waiting for a lock, " in why.headline
    assert "`shop/locks.py:7 wait`" in why.headline
    assert why.headline.count("view: ") == 1


def test_two_lines_in_two_states_have_their_parts(compare: Callable[..., Why]) -> None:
    said = compare(12 * MS, TO_JSON, LOCK).headline
    assert "`shop/serializers.py:88 to_json`" in said
    assert ", computing)" in said
    assert ", waiting for a lock)" in said


def test_a_function_is_named_where_its_lines_are_many(compare: Callable[..., Why]) -> None:
    lines = [SentSample(f"shop/loop.py:{at}", "render") for at in range(40, 52)]
    said = compare(10 * MS, *lines).headline
    assert " of it in `shop/loop.py render` (" in said
    assert "shop/loop.py:" not in said


def test_no_line_is_named_without_samples_or_by_chance(compare: Callable[..., Why]) -> None:
    assert "`" not in compare(6 * MS, SentSample("", "", component="other")).headline.replace("`other`", "")
    same = compare(0, TO_JSON)
    assert not [each for each in same.lines if each.p_value < CHANCE]


def lines(*sampled: tuple[list[int], list[int]], looked_at: int = 0) -> tuple[SampledLine, ...]:
    """Of samples of each of 300 usual and 300 slow transactions, for each line."""
    rows = []
    for at, (usual, slow) in enumerate(sampled):
        row: dict[str, object] = {"component": "other", "line": f"a.py:{at}", "function": "f", "state": "computing"}
        row |= {"is_function": False, "looked_at": max(looked_at, len(sampled))}
        for side, samples in (("usual", usual), ("slow", slow)):
            row[f"{side}_samples"], row[f"{side}_ns"] = sum(samples), sum(samples) * SAMPLE_NS
            row[f"{side}_squares"] = sum(each**2 for each in samples) * SAMPLE_NS**2
        rows.append(row)
    return sampled_lines(rows, 300, 300)


def is_beyond_chance(usual: list[int], slow: list[int], looked_at: int = 0) -> bool:
    (line,) = lines((usual, slow), looked_at=looked_at)
    return line.p_value < CHANCE


def test_samples_of_one_long_transaction_prove_nothing() -> None:
    assert not is_beyond_chance([], [6_000])
    assert not is_beyond_chance([], [1] * 4)
    assert is_beyond_chance([], [1] * 100)


def test_of_many_lines_one_has_to_differ_more() -> None:
    assert is_beyond_chance([], [1] * 12)
    assert not is_beyond_chance([], [1] * 12, looked_at=200)
    assert is_beyond_chance([], [1] * 30, looked_at=200)


def hits(rng: random.Random, often: float) -> Iterator[int]:
    return (int(rng.random() < often) for _ in range(300))


def test_by_chance_an_answer_hardly_ever_names_a_line() -> None:
    """100 lines with the same time on both sides, some sampled often, some rarely, as a sampler finds them."""
    rng, named = random.Random(3), 0
    for _ in range(100):
        often = [rng.paretovariate(1) / 50 for _ in range(100)]
        found = [([*hits(rng, each)], [*hits(rng, each)]) for each in often]
        named += any(each.p_value < CHANCE for each in lines(*found))
    assert named <= 2


def test_the_slowest_are_explained_by_their_line(engine: Engine, store: Store) -> None:
    rng, now_ns, name = random.Random(5), time.time_ns(), "GET /slowest"
    sent = []
    for at in range(600):
        is_slow = at % 20 == 0
        took_ns = (60 if is_slow else 10) * MS + rng.randrange(MS)
        samples = [SentSample(LOCK.line, LOCK.function, 5, state="lock")] if is_slow else [USUAL]
        sent.append(make(name, duration_ns=took_ns, started_ns=now_ns - TWO + at * 10 * MS, samples=samples))
    store(sent)
    why = explain(engine, name, comparison(time.time_ns()))
    assert "waiting for a lock, all of it in `shop/locks.py:7 wait`" in why.headline
