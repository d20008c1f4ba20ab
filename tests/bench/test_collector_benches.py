"""The benches of the collector measure what they say: what was sent is counted, every answer timed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.dashboards.grafana import dashboards

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(400)]

ROOT = Path(__file__).parents[2]


def run(module: str, written: Path, *options: str) -> tuple[str, dict[str, Any]]:
    """What it prints, and what it writes for programs."""
    ended = subprocess.run(
        [sys.executable, "-m", module, *options, "--json", str(written)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "examples")},
        capture_output=True,
        text=True,
        check=False,
        timeout=390,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    document: dict[str, Any] = json.loads(written.read_text())
    return ended.stdout, document


def test_every_row_of_bench_ingest_is_stored_and_measured(tmp_path: Path) -> None:
    said, document = run("tests.bench.ingest", tmp_path / "ingest.json")
    rows = {run["row"]: run for run in document["runs"]}
    assert set(rows) == {"512", "bills", "gzip50", "grpc1", "grpc512", "grpc50", "steady", "server", "2 cores", "ramp"}
    assert all(run["spans"] > 0 and run["front_us"] > 0 and run["is_apart"] for run in rows.values())
    assert all(run["refused"] == {} for name, run in rows.items() if name != "ramp")
    assert rows["steady"]["visible_idle_s"] < float("inf")
    assert rows["steady"]["visible_busy_s"] < float("inf")
    assert "kept up with" in said


def test_bench_scale_fills_what_it_says_and_gets_every_answer(tmp_path: Path) -> None:
    few = ("--rows", "50000", "--seconds", "10", "--times", "1", "--live-seconds", "11")
    said, document = run("tests.bench.scale", tmp_path / "scale.json", *few)
    assert {table["name"] for table in document["disk"]} >= {"transactions", "spans"}
    assert document["filled"]["transactions"] >= 50_000
    assert document["filled"]["spans"] >= 5 * 50_000
    assert all(each["median_ms"] > 0 for each in document["answers"])
    assert {each["view"] for each in document["pages"]} >= {"/", "/kinds/…", "/servers/…", "/statements/…"}
    assert all(each["requests"] >= each["people"] for each in document["live"])
    assert "bytes a row on disk" in said


def test_bench_dashboards_asks_every_panel_and_gets_every_answer(tmp_path: Path) -> None:
    few = ("--rows", "20000", "--hours", "1", "--seconds", "31")
    said, document = run("tests.bench.boards", tmp_path / "boards.json", *few)
    assert {each["board"] for each in document["boards"]} == set(dashboards())
    assert all(each["errors"] == 0 for each in document["boards"])
    taken = [panel for board in document["boards"] for panel in board["panels"]]
    assert [panel["panel"] for panel in taken if panel["error"]] == []
    assert sum(panel["rows"] for panel in taken) > len(taken)
    assert (document["viewed"]["errors"], document["viewed"]["queries"] > 10) == (0, True)
    assert "CPU ms a query" in said
