"""Statements that wait on disk: one damaged journal costs its own statements, and those of no other."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from walltime_collector.clickhouse.embedded.engine import EmbeddedEngine
from walltime_collector.health.counters import Health
from walltime_collector.observe.mysql.statements.batches import Batches, StatementStore
from walltime_collector.observe.mysql.statements.seen import Seen

from tests.collector.clickhouse.two_engines import count, slow_rows
from tests.servers import with_tables

ROWS = 3


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[EmbeddedEngine]:
    engine = EmbeddedEngine(with_tables(tmp_path / "engine"), "walltime")
    engine.migrate()
    yield engine
    engine.close()


@pytest.mark.parametrize("damage", [(0, 1), pytest.param((2, 9), marks=pytest.mark.nightly)])
def test_a_damaged_journal_is_set_aside_and_the_others_are_stored(
    engine: EmbeddedEngine, tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: tuple[int, int]
) -> None:
    root, health = tmp_path / "statements", Health()
    for server in ("a:3306", "b:3306", "c:3306"):
        batches = Batches(root, server, health)
        for at in range(3):
            batches.write(Seen(run=f"{server} {at}"), slow_rows(ROWS), ROWS)
    folder = min(each for each in root.iterdir() if each.is_dir())
    journal, start = sorted(folder.glob("*.journal"))[damage[0]], damage[1]
    content = bytearray(journal.read_bytes())
    content[start : start + 4] = b"\0\xff\0\xff"
    journal.write_bytes(content)
    with caplog.at_level(logging.ERROR):
        StatementStore(root, engine, health).step()
    aside = journal.with_suffix(".damaged")
    assert aside.read_bytes() == content
    assert f"{journal}: damaged" in caplog.text
    assert count(engine, "slow_queries") == 8 * ROWS
    assert health.report()["counts"]["observed_lost"] == ROWS
    assert health.report()["counts"]["observed_rows"] == 8 * ROWS
    assert len(list(folder.glob("*.journal"))) == 1


def test_what_a_damaged_newest_journal_had_seen_is_read_again(tmp_path: Path) -> None:
    health = Health()
    batches = Batches(tmp_path, "a:3306", health)
    for at in range(2):
        batches.write(Seen(run=str(at)), slow_rows(ROWS), ROWS)
    (newest,) = tmp_path.glob("*/*2.journal")
    newest.write_bytes(b"{" + newest.read_bytes())
    again = Batches(tmp_path, "a:3306", health)
    assert again.seen.run == "0"
    assert health.report()["counts"]["observed_lost"] == ROWS
    again.write(Seen(run="2"), b"", 0)
    assert Batches(tmp_path, "a:3306", health).seen.run == "2"
