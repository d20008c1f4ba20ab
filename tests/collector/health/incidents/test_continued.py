"""Open incidents outlive the collector that opened them: a restart, a failover, and a store of an older version."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from walltime_collector.clickhouse.embedded.engine import EmbeddedEngine
from walltime_collector.query.incidents.answer import Incident
from walltime_collector.query.incidents.stored import incidents
from walltime_collector.query.windows import Window

from tests.collector.health.incidents.faults import FAULTS, LOOK_S, Faulty
from tests.collector.health.incidents.stored import slower, store
from tests.servers import with_tables

FAULT = "deploy with N+1"
_EVER = Window(0, 4_000_000_000 * 10**9)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[EmbeddedEngine]:
    engine = EmbeddedEngine(with_tables(tmp_path), "walltime")
    engine.migrate()
    yield engine
    engine.close()


def one_fault(engine: EmbeddedEngine) -> Faulty:
    return Faulty(engine, faults={FAULT: FAULTS[FAULT]})


def events(faulty: Faulty) -> list[str]:
    return [each.event.what for each in faulty.sent if each.event.what != "severity"]


def stored(engine: EmbeddedEngine) -> Incident:
    (incident,) = incidents(engine, _EVER).incidents
    return incident


def test_a_restarted_collector_goes_on_with_the_open_incidents(engine: EmbeddedEngine) -> None:
    faulty = one_fault(engine)
    watch, is_restarted = faulty.watch(), False
    for _ in faulty.steps():
        watch.look()
        if events(faulty) and not is_restarted:
            opened = stored(engine)
            assert opened.is_open
            watch, is_restarted = faulty.watch(), True
    assert events(faulty) == ["opened", "closed"]
    over = stored(engine)
    assert (over.id, over.opened_at, over.ended_because) == (opened.id, opened.opened_at, "over")
    assert "FROM prices WHERE" in " ".join(over.sentences)


@pytest.mark.nightly
def test_what_an_open_incident_changed_is_not_usual_after_a_restart(engine: EmbeddedEngine) -> None:
    """Most of the half hour that a start reads is of the incident; then it is over, and the fault comes again."""
    faulty = one_fault(engine)
    faulty.fault_s, faulty.after_s, faulty.times = 20 * 60, 240, 2
    watch, steps = faulty.watch(), faulty.steps()
    for _ in itertools.islice(steps, 40):
        watch.look()
    watch = faulty.watch()
    while len(events(faulty)) < 3 and next(steps, None):
        watch.look()
    assert events(faulty) == ["opened", "closed", "opened"]
    assert 0 < faulty.sent[-1].after_s <= 120


@pytest.mark.nightly
def test_the_next_collector_goes_on_when_the_leader_has_stopped(engine: EmbeddedEngine) -> None:
    faulty = one_fault(engine)
    faulty.after_s = 420
    first, second = (faulty.watch(name, is_shared=True) for name in ("a", "b"))
    for now_s in faulty.steps():
        alive = ("b",) if events(faulty) else ("a", "b")
        rows = [{"minute": now_s // 60 * 60, "collector": each, "is_ok": True} for each in alive]
        engine.insert_rows("walltime_health", "\n".join(map(json.dumps, rows)).encode(), f"minute {now_s}")
        if "a" in alive:
            first.look()
            if events(faulty):
                opened_s = now_s
        second.look()
    assert events(faulty) == ["opened", "closed"]
    (row,) = engine.query("SELECT collector, toUnixTimestamp(updated_at) AS updated_s FROM incidents FINAL")
    assert row["collector"] == "b"
    assert row["updated_s"] - opened_s >= 180 + LOOK_S
    assert stored(engine).ended_because == "over"


@pytest.mark.nightly
def test_of_two_collectors_on_an_empty_store_one_looks(engine: EmbeddedEngine) -> None:
    faulty = one_fault(engine)
    watches = {name: faulty.watch(name, is_shared=True) for name in ("a", "b")}
    looking = []
    for number, now_s in enumerate(itertools.islice(faulty.steps(), 4)):
        if number:  # b's first minute of counters is stored before a's
            rows = [{"minute": now_s // 60 * 60, "collector": each} for each in ("b", "a")[:number]]
            engine.insert_rows("walltime_health", "\n".join(map(json.dumps, rows)).encode(), f"minute {now_s}")
        for watch in watches.values():
            watch.look()
        looking.append([name for name, watch in watches.items() if watch._looks is not None])
    assert looking == [[], ["b"], ["a"], ["a"]]


@pytest.mark.nightly
def test_a_store_of_an_older_version_gets_the_table(tmp_path: Path) -> None:
    older = EmbeddedEngine(with_tables(tmp_path), "walltime")
    older.migrate()
    older.command("DROP TABLE incidents")
    older.command("DELETE FROM schema_migrations WHERE name IN ('016_incidents.sql', '021_incidents_explained.sql')")
    older.close()
    engine = EmbeddedEngine(tmp_path, "walltime")
    engine.migrate()
    assert incidents(engine, _EVER).incidents == ()
    store(engine, incident := slower(FAULT))
    assert stored(engine).id == incident.id
    engine.close()
