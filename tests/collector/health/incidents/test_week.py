"""Where nothing happens no incident is opened: with a daily rhythm, weekends, noise, outliers, stalls, low traffic."""

from __future__ import annotations

from pathlib import Path

import pytest
from walltime_collector.clickhouse.embedded.engine import EmbeddedEngine

from tests.collector.health.incidents.weeks import DAY_S, false_incidents
from tests.servers import with_tables


def opened(folder: Path, seed: int, *, before_s: int, length_s: int) -> list[str]:
    engine = EmbeddedEngine(with_tables(folder), "walltime")
    engine.migrate()
    try:
        events = false_incidents(engine, seed, before_s=before_s, length_s=length_s)
        return [event.incident.headline for event in events]
    finally:
        engine.close()


def test_three_hours_of_fifty_kinds_open_no_incident(tmp_path: Path) -> None:
    """After the batch at 2 o'clock, which is not usual before it is known of an earlier day."""
    assert opened(tmp_path, seed=1, before_s=3 * 3600, length_s=3 * 3600) == []


@pytest.mark.nightly
def test_a_week_of_fifty_kinds_opens_at_most_one_false_incident(tmp_path: Path) -> None:
    false = opened(tmp_path, seed=2, before_s=2 * DAY_S, length_s=7 * DAY_S)
    assert len(false) <= 1, false
