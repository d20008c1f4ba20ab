"""Known faults are noticed within two minutes, explained by their cause, and closed when they are over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from walltime_collector.clickhouse.embedded.engine import EmbeddedEngine
from walltime_collector.health.incidents import watch
from walltime_collector.query.incidents.answer import Incident
from walltime_collector.query.incidents.stored import incidents
from walltime_collector.query.windows import Window

from tests.collector.health.incidents.faults import EXPLAINED, FAULTS, Faulty
from tests.collector.simulated_shop import Page
from tests.servers import with_tables

NOTICED_S = 120
_EVER = Window(0, 4_000_000_000 * 10**9)
DAILY = ("restart", "nothing")
each_fault = pytest.mark.parametrize("fault", [name for name in EXPLAINED if name in DAILY])


def played(folder: Path, runs: int, faults: Mapping[str, Page] = FAULTS, seed: int = 0) -> Iterator[Faulty]:
    engine = EmbeddedEngine(with_tables(folder), "walltime")
    engine.migrate()
    faulty = Faulty(engine, runs, seed, faults)
    faulty.play()
    yield faulty
    engine.close()


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Faulty]:
    yield from played(tmp_path_factory.mktemp("faulty"), 1, {name: FAULTS[name] for name in DAILY})


@each_fault
def test_a_fault_is_noticed_within_two_minutes(faulty: Faulty, fault: str) -> None:
    opened = [each for each in faulty.of(fault) if each.event.what == "opened"]
    assert [0 < each.after_s <= NOTICED_S for each in opened] == [True]


@each_fault
def test_a_fault_is_explained_by_its_cause(faulty: Faulty, fault: str) -> None:
    (incident,) = (each for each in incidents(faulty.engine, _EVER).incidents if each.name == fault)
    explained = " ".join(incident.sentences)
    assert [words for words in EXPLAINED[fault] if words not in explained] == [], explained


@each_fault
def test_a_fault_that_is_over_is_closed_once(faulty: Faulty, fault: str) -> None:
    assert [each.event.what for each in faulty.of(fault)].count("closed") == 1
    (incident,) = (each for each in incidents(faulty.engine, _EVER).incidents if each.name == fault)
    assert_over(incident)


def assert_over(incident: Incident) -> None:
    assert not incident.is_open
    assert incident.ended_because == "over"
    assert 120 <= (incident.window.end_ns - incident.window.start_ns) / 1e9 <= 240


def test_where_nothing_changed_nothing_is_opened(faulty: Faulty) -> None:
    assert faulty.of("nothing") == []


@pytest.mark.nightly
@pytest.mark.timeout(1_800)
def test_twenty_of_twenty_faults_are_noticed_and_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "_EXPLAINING_S", 600)  # all 100 in one look: they last for five looks only
    for faulty in played(tmp_path, 20, seed=7):
        stored = incidents(faulty.engine, _EVER, limit=1_000).incidents
        for fault, words in EXPLAINED.items():
            opened = [each.after_s for each in faulty.of(fault) if each.event.what == "opened"]
            assert len(opened) == 20
            assert max(opened) <= NOTICED_S
            explained = [" ".join(each.sentences) for each in stored if each.name.startswith(f"{fault}/")]
            assert [each for each in explained if not all(word in each for word in words)] == []
            assert len(explained) == 20
            for each in stored:
                if each.name.startswith(f"{fault}/"):
                    assert_over(each)
        assert faulty.of("nothing") == []
