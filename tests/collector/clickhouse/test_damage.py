"""A damaged part of the embedded database: it is reported with its file and what to do, until it is gone."""

from __future__ import annotations

import logging
import shutil
from contextlib import closing
from pathlib import Path

import pytest
from walltime_collector.clickhouse.embedded.damage import DamagedParts
from walltime_collector.clickhouse.embedded.engine import EmbeddedEngine
from walltime_collector.errors import QueryFailed
from walltime_collector.health.counters import Health

from tests.collector.clickhouse.spans import request, span
from tests.collector.clickhouse.two_engines import some_records
from tests.faults.oracle import wait_until_loaded
from tests.servers import Collector, eventually, with_tables


def part_of(engine: EmbeddedEngine, table: str) -> Path:
    sql = "SELECT path FROM system.parts WHERE table = {table:String} AND active ORDER BY rows DESC LIMIT 1"
    return Path(engine.query(sql, {"table": table})[0]["path"])


def looked(engine: EmbeddedEngine) -> str:
    health = Health()
    DamagedParts(engine, health.damaged).look()
    report = health.report()
    assert report["ok"] is not bool(report["troubles"])
    assert report["ready"] is True, "other data is still stored"
    return "".join(f"{trouble['reason']}: {trouble['what']}" for trouble in report["troubles"])


@pytest.mark.parametrize("damage", ["cut", pytest.param("gone", marks=pytest.mark.nightly)])
def test_a_part_that_was_damaged_while_the_collector_was_stopped_is_reported(
    tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    with closing(EmbeddedEngine(with_tables(tmp_path), "walltime")) as engine:
        engine.migrate()
        engine.insert(some_records(seed=1), "damaged")
        file = part_of(engine, "transactions") / "data.bin"
        assert looked(engine) == ""
    if damage == "cut":
        file.write_bytes(file.read_bytes()[:100])
    else:
        file.unlink()
    with closing(EmbeddedEngine(tmp_path, "walltime")) as engine, caplog.at_level(logging.ERROR):
        what = looked(engine)
        assert what.startswith("damaged: ")
        assert file.parent.name in what
        assert "restore them from a backup" in what
        assert file.parent.name in caplog.text
    for folder in tmp_path.glob("data/store/*/*/detached/*"):
        shutil.rmtree(folder)
    with closing(EmbeddedEngine(tmp_path, "walltime")) as engine:
        assert looked(engine) == ""


def test_a_part_that_is_damaged_while_the_collector_runs_is_reported_when_it_is_read(tmp_path: Path) -> None:
    with closing(EmbeddedEngine(with_tables(tmp_path), "walltime")) as engine:
        engine.migrate()
        engine.insert(some_records(seed=1), "damaged")
        file = part_of(engine, "transactions") / "data.bin"
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 0xFF
        file.write_bytes(content)
        with pytest.raises(QueryFailed):
            engine.query("SELECT * FROM transactions")
        assert looked(engine).startswith(f"damaged: {file}: the database cannot read it; its rows are missing")
        with pytest.raises(QueryFailed):
            engine.query("SELECT nothing FROM transactions")
        assert looked(engine).count("cannot read") == 1


@pytest.mark.nightly
def test_a_collector_with_a_damaged_part_says_so_and_stores_other_data(tmp_path: Path) -> None:
    with Collector(tmp_path / "data") as collector:
        collector.send(request(span({"walltime.schema": 1})).SerializeToString())
        wait_until_loaded(collector)
    file = next((tmp_path / "data").glob("chdb/data/store/*/*/[0-9]*/data.bin"))
    file.write_bytes(b"")
    with Collector(tmp_path / "data") as collector:
        eventually(lambda: collector.health()["troubles"], 30)
        (trouble,) = collector.health()["troubles"]
        assert trouble["reason"] == "damaged"
        assert file.parent.name in trouble["what"]
        assert file.parent.name in collector.log()
        assert collector.send(request(span({"walltime.schema": 1})).SerializeToString()).status_code == 200
        wait_until_loaded(collector)
