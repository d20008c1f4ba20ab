"""`why` names line, function and state of time that no call explains: six seeded faults, again and again."""

from __future__ import annotations

import inspect
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import urllib3
from shop.ask import iso
from shop.services import Gunicorn

from tests.server_folder import server_folder
from tests.servers import Collector, over_http

pytestmark = [pytest.mark.nightly, pytest.mark.alone]

ROOT = Path(__file__).parents[2]
RUNS, VISITS = 20, 1000
EXPECTED = {
    "json": ("to_json", "computing"),
    "lock": ("wait_for_lock", "lock"),
    "sleep": ("pause", "sleep"),
    "template": ("render", "computing"),
    "file": ("read_file", "file"),
    "regex": ("match", "computing"),
}
"""Fault → the function of its line, and its state."""


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    with server_folder() as folder, Collector(folder / "collector") as running:
        yield running


@pytest.fixture(scope="module")
def address(collector: Collector) -> Iterator[str]:
    environment = {
        "PYTHONPATH": f"{ROOT}:{ROOT / 'examples'}",
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.otlp_url.removesuffix("/v1/traces"),
        "OTEL_BSP_SCHEDULE_DELAY": "200",
        "WALLTIME_SAMPLE_HZ": "100",
    }
    with server_folder() as folder, ExitStack() as running:
        server = Gunicorn("faulty", folder, "tests.library.faulty:app", workers=1, threads=1, environment=environment)
        running.enter_context(server)
        yield f"http://{server.address}"


def visit(http: urllib3.PoolManager, address: str, suffix: str) -> str:
    """Visit each kind in turn; return the window."""
    start_ns = time.time_ns()
    for _ in range(VISITS):
        for name in EXPECTED:
            response = http.request("GET", f"{address}/{name}{suffix}")
            assert response.status == 200, response.data
    return f"{iso(start_ns)}..{iso(time.time_ns())}"


def stored(collector: Collector) -> int:
    kinds = over_http("GET", f"{collector.web_url}/api/top?since=1d").json()["kinds"]
    return sum(each["transactions"] for each in kinds if each["service"] == "faulty")


@pytest.mark.timeout(3600)
def test_the_line_of_each_fault_is_named_every_time(collector: Collector, address: str) -> None:
    from tests.library import faulty

    lines = {name: inspect.getsourcelines(fault) for name, fault in faulty.FAULTS.items()}
    right: Counter[str] = Counter()
    wrong: list[Any] = []
    sent = 0
    with urllib3.PoolManager() as http:
        for run in range(RUNS):
            usual, slow = visit(http, address, ""), visit(http, address, "?fault=1")
            sent += 2 * VISITS * len(EXPECTED)
            deadline_s = time.monotonic() + 60
            while stored(collector) < sent and time.monotonic() < deadline_s:
                time.sleep(0.2)
            for name, (function, state) in EXPECTED.items():
                params = {"kind": f"GET /{name}", "against": usual, "during": slow}
                answer = over_http("GET", f"{collector.web_url}/api/why", params=params).json()
                first = answer["lines"][0] if answer.get("lines") else {}
                text, start = lines[name]
                file, _, number = str(first.get("line", "")).rpartition(":")
                is_there = file.endswith("tests/library/faulty.py") and start <= int(number) < start + len(text)
                is_said = f"{first.get('line')} {function}" in " ".join(answer["sentences"])
                if is_there and is_said and (first["function"], first["state"]) == (function, state):
                    right[name] += 1
                else:
                    wrong.append((name, first, answer.get("sentences", answer)))
                    print(wrong[-1], flush=True)
            print(f"named in {run + 1} runs: {dict(right)}", flush=True)
    assert dict(right) == dict.fromkeys(EXPECTED, RUNS), wrong
