"""A token without its part, as a killed engine leaves it: the INSERT that is repeated has to store its rows."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from walltime_collector.clickhouse.embedded.deduplication import forget_lost_parts

INSERTS = ["2026-11-01,1", "2026-11-02,2", "2026-11-03,3", "2026-11-01,4\n2026-10-01,5"]
STORE = f"""
import os, signal, sys
from pathlib import Path
sys.modules["pyarrow"] = None
from walltime_collector.clickhouse.embedded.database import Database

TABLE = " (day Date, number UInt64) ENGINE = MergeTree ORDER BY number PARTITION BY toYYYYMM(day)"
TABLE += " SETTINGS non_replicated_deduplication_window = 10000"
database = Database(Path(sys.argv[1]), "test")
for sql in (
    f"CREATE TABLE IF NOT EXISTS sent {{TABLE}}", f"CREATE TABLE IF NOT EXISTS counted {{TABLE}}",
    "CREATE MATERIALIZED VIEW IF NOT EXISTS counts TO counted AS SELECT day, number FROM sent",
):
    database.command(sql, {{}}, {{}})
settings = {{"deduplicate_blocks_in_dependent_materialized_views": "1"}}
for number, rows in enumerate({INSERTS!r}):
    database.insert("sent", "CSV", settings | {{"insert_deduplication_token": f"token {{number}}"}}, rows.encode())
    if number == 2:
        database.command("OPTIMIZE TABLE counted FINAL", {{}}, {{}})
for table in ("sent", "counted"):
    answer = database.query(f"SELECT arraySort(groupArray(number)) AS numbers FROM {{table}}", {{}})
    print("".join(answer.decode().split()))
sys.stdout.flush()
os.kill(os.getpid(), signal.SIGKILL)
"""
WHOLE = [[1, 2, 3, 4, 5]] * 2


def store(folder: Path) -> list[list[int]]:
    """Insert everything, with the same tokens each time, and be killed; return what both tables have."""
    done = subprocess.run([sys.executable, "-c", STORE, str(folder)], check=False, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    return [json.loads(line)["data"][0][0] for line in done.stdout.splitlines()]


@pytest.fixture
def killed(tmp_path: Path) -> Path:
    assert store(tmp_path) == WHOLE
    return tmp_path


def tables(folder: Path) -> list[Path]:
    return [each.parent for each in sorted(folder.glob("store/*/*/deduplication_logs"))]


@pytest.mark.parametrize("table", [0, 1])
def test_rows_whose_part_was_not_stored_are_stored_when_the_insert_is_repeated(killed: Path, table: int) -> None:
    """One table is filled by a view of the other."""
    (part,) = tables(killed)[table].glob("202610_*")
    shutil.rmtree(part)  # as if it had not been renamed yet: to ClickHouse it was never there
    assert store(killed) == WHOLE


def test_only_tokens_of_lost_parts_are_removed_and_once(killed: Path) -> None:
    assert forget_lost_parts(killed) == 0, "merged parts are there"
    (part,), (log,) = tables(killed)[0].glob("202610_*"), tables(killed)[0].glob("deduplication_logs/*.txt")
    shutil.rmtree(part)
    before = log.read_text()
    assert forget_lost_parts(killed) == 1
    assert log.read_text() == before + before.splitlines(keepends=True)[-1].replace("1\t", "2\t", 1)
    assert forget_lost_parts(killed) == 0


def test_a_log_that_was_cut_is_left_to_clickhouse(killed: Path) -> None:
    (part,), (log,) = tables(killed)[0].glob("202610_*"), tables(killed)[0].glob("deduplication_logs/*.txt")
    shutil.rmtree(part)
    log.write_bytes(cut := log.read_bytes()[:-3])
    assert forget_lost_parts(killed) == 0
    assert log.read_bytes() == cut
    assert store(killed) == WHOLE


def test_an_empty_folder_has_nothing_to_forget(tmp_path: Path) -> None:
    assert forget_lost_parts(tmp_path) == 0
