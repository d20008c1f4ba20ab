"""A stock SDK sends, the collector dies while it makes transactions of that: each is there once, with a true bill."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.collector.test_cli import run
from tests.servers import Collector, eventually

VISITS = 20
QUICK = {"foreign_window_s": 1, "foreign_settle_s": 1, "segment_age_s": 0.2}
CONVENTIONS = {"of before": {}, "of today": {"OTEL_SEMCONV_STABILITY_OPT_IN": "http,database"}}


def visit(collector: Collector, folder: Path) -> list[str]:
    """Trace ids of visits to two shops, one for each version of the semantic conventions."""
    shops = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.faults.foreign_shop", collector.otlp_url, folder / f"{name}.db", str(VISITS)],
            env={**os.environ, **said},
            stdout=subprocess.PIPE,
            text=True,
        )
        for name, said in CONVENTIONS.items()
    ]
    seen = [shop.communicate(timeout=60)[0].split() for shop in shops]
    assert [shop.returncode for shop in shops] == [0, 0]
    return [trace_id for of_shop in seen for trace_id in of_shop]


def kinds(collector: Collector) -> dict[str, Any]:
    answer = httpx.get(f"{collector.web_url}/api/top?since=1h", timeout=30).json()
    return {kind["name"]: kind for kind in answer["kinds"]}


@pytest.mark.parametrize(
    "place", ["after_part", *(pytest.param(each, marks=pytest.mark.nightly) for each in ("after_plan", "", "kill"))]
)
def test_a_stock_sdks_requests_are_transactions_once_although_the_collector_dies(tmp_path: Path, place: str) -> None:
    aim = place.replace("kill", "")
    collector = Collector(tmp_path / "data", crashpoint=aim, **QUICK)
    try:
        traces = visit(collector, tmp_path)
        if place == "kill":
            collector.kill()
        elif place:
            eventually(lambda: collector.process.poll() is not None, 30)
        if place:
            collector.stop()
            collector = Collector(tmp_path / "data", **QUICK)
        assert len(set(traces)) == 2 * VISITS
        eventually(lambda: sum(kind["transactions"] for kind in kinds(collector).values()) >= 4 * VISITS, 60)
        found = kinds(collector)
        assert Counter({name: kind["transactions"] for name, kind in found.items()}) == {
            "GET /product": 2 * VISITS,
            "GET /stock": 2 * VISITS,
        }
        product = found["GET /product"]
        shares = {share["name"]: share["calls"] for share in product["components"]}
        assert shares == {"sqlite.query": 4 * VISITS, "http.request": 2 * VISITS}
        assert product["errors"] == 2 * (VISITS // 5)
        assert sum(share["time_ns"] for share in product["components"]) + product["other_ns"] == product["total_ns"]
        for trace_id in (traces[0], traces[-1]):
            shown(collector, trace_id)
    finally:
        collector.stop()


def shown(collector: Collector, trace_id: str) -> None:
    """What `walltime show` says of one visit: its bill, its calls under it, without what was in the statement."""
    answer = run("show", trace_id, "--url", collector.web_url, "--json")
    assert answer.returncode == 0, answer.stderr
    product, stock = json.loads(answer.stdout)["transactions"]
    assert (product["name"], product["depth"], product["kept"], product["host"]) == (
        "GET /product",
        0,
        "foreign",
        "web-9",
    )
    assert (stock["name"], stock["depth"], stock["calls"]) == ("GET /stock", 1, [])
    assert stock["parent_span_id"] != product["span_id"]  # the call in between is the parent
    calls = [(call["component"], call["name"], call["text"]) for call in product["calls"]]
    redacted = "SELECT * FROM product WHERE name = ?"
    assert calls[:2] == [("sqlite.query", "SELECT", redacted)] * 2
    assert calls[2][:2] == ("", "render")
    assert calls[3][0] == "http.request"
    assert product["calls"][3]["address"].startswith("127.0.0.1:")
    assert product["statements"] == [{**product["statements"][0], "text": redacted, "calls": 2}]
    assert "secret" not in answer.stdout
    on_paper = run("show", trace_id, "--url", collector.web_url).stdout
    assert "computed from the spans of another SDK" in on_paper
    assert on_paper.count("sqlite.query") >= 3
