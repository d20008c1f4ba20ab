"""The collector is killed while it derives transactions from a stock SDK's spans: each is stored once, with a bill."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.collector.cli.command import run
from tests.servers import Collector, eventually, over_http

VISITS = 10
QUICK = {"derived_window_s": 1, "derived_settle_s": 1, "segment_age_s": 0.2}
BEFORE: dict[str, str] = {}
TODAY = {"OTEL_SEMCONV_STABILITY_OPT_IN": "http,database"}


def visit(collector: Collector, folder: Path, *conventions: dict[str, str]) -> list[str]:
    """Trace ids of visits to a shop for each of these versions of the semantic conventions."""
    shops = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.faults.otel_shop", collector.otlp_url, folder / f"{at}.db", str(VISITS)],
            env={**os.environ, **variables},
            stdout=subprocess.PIPE,
            text=True,
        )
        for at, variables in enumerate(conventions)
    ]
    seen = [shop.communicate(timeout=60)[0].split() for shop in shops]
    assert [shop.returncode for shop in shops] == [0] * len(shops)
    return [trace_id for of_shop in seen for trace_id in of_shop]


def kinds(collector: Collector) -> dict[str, Any]:
    """Kind by name; none where a collector that has just started has no answer yet."""
    answer = over_http("GET", f"{collector.web_url}/api/top?since=1h").json()
    return {kind["name"]: kind for kind in answer.get("kinds", ())}


@pytest.mark.nightly
def test_requests_of_a_stock_sdk_become_transactions_once_although_the_collector_is_killed(tmp_path: Path) -> None:
    run_through(tmp_path, "after_part", TODAY)


@pytest.mark.nightly
@pytest.mark.parametrize("place", ["after_part", "after_plan", "", "kill"])
def test_they_do_wherever_it_is_killed_and_with_both_versions_of_the_conventions(tmp_path: Path, place: str) -> None:
    run_through(tmp_path, place, BEFORE, TODAY, with_cli=True)


def run_through(folder: Path, place: str, *conventions: dict[str, str], with_cli: bool = False) -> None:
    collector = Collector(folder / "data", crashpoint=place.replace("kill", ""), **QUICK)
    try:
        traces = visit(collector, folder, *conventions)
        visits = VISITS * len(conventions)
        if place == "kill":
            collector.kill()
        elif place:
            eventually(lambda: collector.process.poll() is not None, 30)
        if place:
            collector.stop()
            collector = Collector(folder / "data", **QUICK)
        assert len(set(traces)) == visits
        eventually(lambda: sum(kind["transactions"] for kind in kinds(collector).values()) >= 2 * visits, 60)
        top = kinds(collector)
        assert {name: kind["transactions"] for name, kind in top.items()} == {
            "GET /product": visits,
            "GET /stock": visits,
        }
        product = top["GET /product"]
        shares = {share["name"]: share["calls"] for share in product["components"]}
        assert shares == {"sqlite.query": 2 * visits, "http.request": visits}
        assert product["errors"] == visits // 5
        assert sum(share["time_ns"] for share in product["components"]) + product["other_ns"] == product["total_ns"]
        for trace_id in {traces[0], traces[-1]}:
            check_transaction(httpx.get(f"{collector.web_url}/api/transactions/{trace_id}", timeout=30).text)
            if with_cli:
                output = run("show", trace_id, "--url", collector.web_url).stdout
                assert "computed from the spans of another SDK" in output
                assert output.count("sqlite.query") >= 3
                assert "secret" not in output
    finally:
        collector.stop()


def check_transaction(response: str) -> None:
    """Check one visit: its bill and its calls, without the literals of its statements."""
    product, stock = json.loads(response)["transactions"]
    about = (product["name"], product["depth"], product["kept"], product["host"])
    assert about == ("GET /product", 0, "foreign", "web-9")
    assert (stock["name"], stock["depth"], stock["calls"]) == ("GET /stock", 1, [])
    assert stock["parent_span_id"] != product["span_id"]  # the call in between is the parent
    calls = [(call["component"], call["name"], call["text"]) for call in product["calls"]]
    redacted = "SELECT * FROM product WHERE name = ?"
    assert calls[:2] == [("sqlite.query", "SELECT", redacted)] * 2
    assert calls[2][:2] == ("", "render")
    assert calls[3][0] == "http.request"
    assert product["calls"][3]["address"].startswith("127.0.0.1:")
    assert product["statements"] == [{**product["statements"][0], "text": redacted, "calls": 2}]
    assert "secret" not in response
