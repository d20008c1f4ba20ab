"""`why` says that other transactions came before it blames a call, and every number of it can be asked for again."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from walltime_collector.clickhouse.engine import Engine, Parameter
from walltime_collector.query.scope import Filters
from walltime_collector.query.why.answer import Population, Why
from walltime_collector.query.why.dimensions import search, servers
from walltime_collector.query.why.dimensions.mix import is_most_of, split
from walltime_collector.query.why.dimensions.sentences import findings
from walltime_collector.query.why.explain import explain
from walltime_collector.query.why.finding import Finding
from walltime_collector.query.why.reading import Reading
from walltime_collector.query.windows import Comparison, Window

from tests.collector.conftest import MINUTE_NS, Store
from tests.collector.traffic import MS, Sent, SentCall, Value

SECOND_NS = 1_000_000_000
USUAL, SLOW = 1_500, 400
DB: dict[str, Value] = {
    "server.address": "10.0.0.5",
    "server.port": 3306,
    "db.system.name": "mysql",
    "db.query.text": "SELECT 1",
}
Make = Callable[[random.Random, bool, int], Sent]
"""Whether it is of the slow side, and which one."""


def sent(
    query_ms: float,
    *,
    host: str = "web-1",
    version: str = "1.0",
    status: int = 200,
    user: str = "",
    **attributes: Value,
) -> Sent:
    """A transaction with one query; `at` fills in the rest."""
    calls = [SentCall("mysql.query", 0, int(query_ms * MS), dict(DB))]
    attributes |= {"http.response.status_code": status, "user.id": user}
    took_ns = calls[0].duration_ns + 3 * MS
    return Sent(
        "", "", "", 0, took_ns, "shop", host, version, calls=calls, attributes=attributes, is_error=status >= 500
    )


def log(rng: random.Random, mean: float) -> float:
    return mean * rng.lognormvariate(-0.03, 0.25)


class Compared:
    """A kind of its own: the usual time, then the slow one, half a second apart."""

    def __init__(self, engine: Engine, store: Store, name: str, make: Make) -> None:
        rng = random.Random(name)
        first_ns = time.time_ns() // SECOND_NS * SECOND_NS - 30 * MINUTE_NS
        made = [make(rng, at >= USUAL, at) for at in range(USUAL + SLOW)]
        for at, each in enumerate(made):
            each.trace_id, each.span_id = f"{rng.getrandbits(128) | 1:032x}", f"{at + 1:016x}"
            each.name, each.started_ns = name, first_ns + at * SECOND_NS // 2
        store(made)
        middle_ns = first_ns + USUAL * SECOND_NS // 2
        usual, slow = Window(first_ns, middle_ns), Window(middle_ns, middle_ns + SLOW * SECOND_NS // 2)
        self.engine, self.compared = engine, Comparison(slow, usual)
        self.answer: Why = explain(engine, name, self.compared)

    @property
    def findings(self) -> list[Finding]:
        answer, compared = self.answer, self.compared
        params: dict[str, Parameter] = {
            **Filters(service="shop", kind=answer.name).parameters(),
            **compared.parameters(),
        }
        params |= {"minutes": [], "when": "", "threshold_ns": 0, "bound_ns": 2**63 - 1}
        usual, slow, parts = answer.usual, answer.slow, answer.components
        reading = Reading(
            self.engine, params, compared, usual, slow, parts, answer.targets, (), self.answer.verdict != "chance"
        )
        return [*findings(reading, search.find(reading), servers.failing(reading))]


def check_evidence(engine: Engine, finding: Finding) -> None:
    """The statement yields the numbers."""
    assert finding.evidence is not None
    rows = {row["side"]: row for row in engine.query(finding.evidence.sql)}
    assert finding.evidence.numbers
    for name, number in finding.evidence.numbers.items():
        side, _, column = name.partition("_")
        assert float(rows[side][column]) == pytest.approx(number, rel=1e-6), name


def of_tenants(rng: random.Random, is_slow: bool, at: int) -> Sent:
    is_big = rng.random() < (0.5 if is_slow else 0.1)
    return sent(log(rng, 100 if is_big else 10), tenant="big" if is_big else "small")


def test_more_of_a_heavy_tenant_blames_no_call(engine: Engine, store: Store) -> None:
    asked = Compared(engine, store, "GET /tenants", of_tenants)
    (mix,) = asked.findings
    assert mix.about == "mix"
    assert mix.part_ns == pytest.approx(asked.answer.difference_ns, rel=0.1)
    assert mix.sentence in asked.answer.headline
    assert "more of tenant=big" in mix.sentence
    assert "as long as the others" in mix.sentence
    assert not any(each.startswith("mysql.query") for each in asked.answer.sentences)
    check_evidence(engine, mix)
    assert mix.evidence is not None
    rows = {row["side"]: row for row in engine.query(mix.evidence.sql)}
    assert rows["usual"]["like_with_like_mean_ns"] == pytest.approx(rows["slow"]["mean_ns"], rel=0.1)
    assert rows["slow"]["like_with_like_mean_ns"] == rows["slow"]["mean_ns"]


def test_fewer_of_a_fast_user_are_fewer(engine: Engine, store: Store) -> None:
    def make(rng: random.Random, is_slow: bool, at: int) -> Sent:
        is_bot = rng.random() < (0.08 if is_slow else 0.5)
        return sent(log(rng, 1 if is_bot else 40), user="bot" if is_bot else str(rng.randint(1, 9)))

    asked = Compared(engine, store, "GET /bot", make)
    (mix,) = asked.findings
    assert mix.sentence.startswith("The mix of users changed: fewer of user bot, ")
    assert " % of the time of the others" in mix.sentence


def test_a_new_tenant_is_new_and_one_that_left_is_gone(engine: Engine, store: Store) -> None:
    def make(rng: random.Random, is_slow: bool, at: int) -> Sent:
        is_one = rng.random() < 0.2
        tenant = ("new" if is_slow else "old") if is_one else "usual"
        return sent(log(rng, (200 if is_slow else 60) if is_one else 10), tenant=tenant)

    asked = Compared(engine, store, "GET /new", make)
    (mix,) = asked.findings
    assert "tenant=new is new with " in mix.sentence
    assert "no tenant=old any more" in mix.sentence
    assert asked.answer.mix is not None
    assert is_most_of(asked.answer.mix, asked.answer.difference_ns)


def test_a_slow_host_beside_a_changed_mix_is_named_like_with_like(engine: Engine, store: Store) -> None:
    def make(rng: random.Random, is_slow: bool, at: int) -> Sent:
        is_big, host = rng.random() < (0.5 if is_slow else 0.1), f"web-{rng.randint(1, 4)}"
        slower = 3 if is_slow and host == "web-2" else 1
        return sent(log(rng, (30 if is_big else 10) * slower), host=host, tenant="big" if is_big else "small")

    mix, value = Compared(engine, store, "GET /both", make).findings
    assert "more of tenant=big" in mix.sentence
    assert value.sentence.startswith("On web-2 only: ")
    assert "the other 3 hosts are as usual" in value.sentence
    check_evidence(engine, value)


def test_one_more_of_the_usual_bursts_of_503_is_chance_for_all(engine: Engine, store: Store) -> None:
    def make(rng: random.Random, is_slow: bool, at: int) -> Sent:
        is_burst = at % 330 in range(300, 310)
        return sent(30_000, status=503) if is_burst else sent(log(rng, 15))

    asked = Compared(engine, store, "GET /bursts", make)
    assert asked.findings == []
    assert asked.answer.mix is None
    assert len(asked.answer.sentences) == 1


def test_a_version_that_all_got_at_the_time_of_another_fault_explains_nothing(engine: Engine, store: Store) -> None:
    asked = Compared(
        engine,
        store,
        "GET /deployed",
        lambda rng, is_slow, at: sent(log(rng, 30 if is_slow else 10), version="2.1" if is_slow else "2.0"),
    )
    (circumstance,) = asked.findings
    assert (circumstance.about, circumstance.part_ns) == ("circumstance", None)
    assert circumstance.sentence.startswith("At the same time version 2.1 replaced 2.0 everywhere")
    assert asked.answer.sentences[-1] == circumstance.sentence
    assert "version" not in asked.answer.headline


@pytest.mark.parametrize("is_new_slow", [True, False])
def test_a_version_on_a_host_that_was_always_slow_explains_nothing(
    engine: Engine, store: Store, is_new_slow: bool
) -> None:
    """The database is slower for all, or the new version is."""

    def make(rng: random.Random, is_slow: bool, at: int) -> Sent:
        host = f"web-{rng.randint(1, 4)}"
        is_new = is_slow and host == "web-3"
        ms = 10.0 * (2 if host == "web-3" else 1) * ((3 if is_new else 1) if is_new_slow else (1.5 if is_slow else 1))
        return sent(log(rng, ms), host=host, version="2.1" if is_new else "2.0")

    asked = Compared(engine, store, f"GET /slow-host/{is_new_slow}", make)
    values = [each for each in asked.findings if each.about == "value"]
    if not is_new_slow:
        assert values == []
        return
    (value,) = values
    assert value.sentence.startswith("With version 2.1, new with ")
    assert value.part_ns == pytest.approx(asked.answer.difference_ns, rel=0.15)


def test_a_server_that_fails_all_the_time_is_named_and_a_burst_is_not(engine: Engine, store: Store) -> None:
    def make(rng: random.Random, is_slow: bool, at: int) -> Sent:
        each = sent(log(rng, 10))
        for number in range(40):
            broken = is_slow and ((number == 7 and rng.random() < 0.3) or (number == 8 and at % 400 in range(100, 108)))
            failed: dict[str, Value] = {"error.type": "timeout"} if broken or rng.random() < 0.005 else {}
            server: dict[str, Value] = {
                "server.address": f"10.0.1.{number}",
                "server.port": 11211,
                "db.system.name": "memcached",
            }
            each.calls.append(SentCall("memcache.get", number * 1_000, 1_000, {**server, **failed}))
        return each

    asked = Compared(engine, store, "GET /servers", make)
    named = [each for each in asked.findings if each.about == "servers"]
    assert [each.subject for each in named] == ["memcache.get 10.0.1.7:11211"]
    check_evidence(engine, named[0])


def population(groups: Sequence[tuple[int, int]]) -> Population:
    n, total_ns = (sum(each) for each in zip(*groups, strict=True))
    return Population("", "", n, 0, total_ns, total_ns / n, 0, 0, 0, 0, None, None, None, None)


groups = st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**9)), min_size=4, max_size=4)


@settings(max_examples=200, derandomize=True, deadline=None)
@given(usual=groups, slow=groups)
def test_mix_and_like_with_like_are_the_whole_difference(
    usual: list[tuple[int, int]], slow: list[tuple[int, int]]
) -> None:
    sides = [[(n, n * mean_ns) for n, mean_ns in [*side, (1, 10**6)]] for side in (usual, slow)]
    before, now = map(population, sides)
    named = [(str(at), [*sides[0][at], *sides[1][at]]) for at in range(3)]
    mix = split("user", named, before, now)
    largest = max(each[1] for each in [*usual, *slow])
    assert mix.mix_ns + mix.like_with_like_ns == pytest.approx(now.mean_ns - before.mean_ns, abs=1 + largest * 1e-9)
    assert sum(each.usual_share for each in mix.strata) == pytest.approx(1)
    if [n for n, _ in usual] == [n for n, _ in slow] and all(n >= 20 for n, _ in usual):
        assert mix.mix_ns == pytest.approx(0, abs=1 + largest * 1e-9)
