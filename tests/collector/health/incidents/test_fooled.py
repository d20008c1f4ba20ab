"""Single requests, single clients and single moments open no incident and hide none, and what it says is true."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from walltime_collector.clickhouse.embedded.engine import EmbeddedEngine
from walltime_collector.query.incidents.answer import Incident
from walltime_collector.query.incidents.stored import incidents
from walltime_collector.query.scope import Filters
from walltime_collector.query.why.explain import explain_kind
from walltime_collector.query.windows import Comparison, Window

from tests.collector.health.incidents.stories import Did, Story, Told, then
from tests.servers import with_tables

NOTICED_S = 120
USUAL = Did()
STALLED = Did(ms=60_000)


def _stalled_before(slower: Did, every: int) -> Story:
    """Slower than usual, and one of `every` requests of the usual time takes 60 s."""
    later = then(slower)
    return Story(lambda second: later(second) if second >= 0 or second % every else [STALLED])


def _worse_and_worse(second: int) -> list[Did]:
    return then(Did(ms=36 if second < 90 else 160))(second)


def _burst_at_a_look(second: int) -> list[Did]:
    failing = [Did(fails=True, user="")] * 10 if 27 <= second < 33 else []
    return [*then(USUAL)(second), *failing]


NOTHING = {
    "one request of 60 makes 5,000 queries": Story(then(Did(queries=5_000), every=60)),
    "one request of 30 makes 5,000 queries": Story(then(Did(queries=5_000), every=30)),
    "one request of 40 takes 60 s": Story(then(STALLED, every=40)),
    "one request of 60 misses 5,000 keys": Story(then(Did(lookups=5_000, missed=5_000), every=60)),
    "one client misses": Story(then(USUAL, more=[Did(missed=4, user="crawler")])),
    "one client fails": Story(then(USUAL, more=[Did(fails=True, user="bot")])),
    "requests of one client are large": Story(then(USUAL, more=[Did(ms=200, queries=80, user="export")])),
    "failures of six seconds": Story(_burst_at_a_look),
    "nothing": Story(then(USUAL)),
}
FAULTS = {
    "five times, and one request of 60 s at this hour of three days": Story(
        then(Did(ms=100)), days=3, is_stalled_daily=True
    ),
    "twice, and one request of 60 s before": _stalled_before(Did(ms=40), 900),
    "three times, and one request of 40 took 60 s before": _stalled_before(Did(ms=60), 40),
    "one request of five fails": Story(then(Did(fails=True), every=5)),
    "a cache is cold": Story(then(Did(missed=3, ms=24))),
    "20 queries instead of 2": Story(then(Did(queries=20, ms=22))),
    "one request of four takes 200 ms": Story(then(Did(ms=200), every=4)),
    "twice, then eight times": Story(_worse_and_worse),
    "the client who always makes a third fails": Story(
        lambda second: [Did(user="regular", fails=second >= 0) if second % 3 == 0 else USUAL]
    ),
}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    engine = EmbeddedEngine(with_tables(tmp_path_factory.mktemp("told")), "walltime")
    engine.migrate()
    told = Told(engine, NOTHING | FAULTS)
    told.tell()
    yield told
    engine.close()


def _stored(told: Told, name: str) -> Incident:
    ever = Window(0, 4_000_000_000 * 10**9)
    (one,) = incidents(told.engine, ever, kind=name).incidents
    return one


@pytest.mark.parametrize("name", NOTHING)
def test_nothing_is_opened_for(told: Told, name: str) -> None:
    assert told.opened(name) == [], [each.incident.headline for _, each in told.events]


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_noticed_where(told: Told, name: str) -> None:
    assert [0 < each <= NOTICED_S for each in told.opened(name)] == [True]


def test_an_incident_that_becomes_much_worse_is_critical_and_says_so_once(told: Told) -> None:
    of = [(at_s, each) for at_s, each in told.events if each.incident.kind.name == "twice, then eight times"]
    assert [each.what for _, each in of] == ["opened", "severity"]
    assert 90 < of[1][0] <= 90 + NOTICED_S
    assert _stored(told, "twice, then eight times").severity == "critical"
    assert _stored(told, "a cache is cold").severity == "warning"


@pytest.mark.parametrize("name", FAULTS)
def test_the_numbers_of_an_incident_are_those_of_its_explanation(told: Told, name: str) -> None:
    one = _stored(told, name)
    assert one.explained_at
    filters = Filters(service="shop", kind=name)
    window = replace(one.window, end_ns=one.window.end_ns)
    for change in one.changes:
        if change.measure == "time" and one.sentences[0].startswith(f"{name}: takes"):
            assert len(one.sentences) == 1, "`why` has another opinion, and is not printed beside this one"
        elif change.measure == "time":
            why = explain_kind(told.engine, filters, Comparison(window, one.usual))
            single_ns = why.singles.usual_ns if why.singles else 0.0
            assert change.usual == pytest.approx(why.usual.mean_ns - single_ns, rel=0.05)
            assert f"{name}: takes" not in " ".join(one.sentences)


@pytest.mark.parametrize(
    ("name", "measure", "usual", "now"),
    [
        ("five times, and one request of 60 s at this hour of three days", "time", 20e6, 100e6),
        ("twice, and one request of 60 s before", "time", 20e6, 40e6),
        ("three times, and one request of 40 took 60 s before", "time", 20e6, 60e6),
        ("one request of five fails", "errors", 0, 0.2),
        ("a cache is cold", "hit_ratio", 1, 0.25),
        ("20 queries instead of 2", "calls", 2, 20),
        ("the client who always makes a third fails", "errors", 0, 1 / 3),
    ],
)
def test_what_an_incident_says_is_true(told: Told, name: str, measure: str, usual: float, now: float) -> None:
    (change,) = (each for each in _stored(told, name).changes if each.measure == measure)
    assert change.usual == pytest.approx(usual, rel=0.08, abs=1e-6)
    assert change.now == pytest.approx(now, rel=0.08, abs=0.02)
