"""How soon what a collector acknowledged can be asked for."""

from __future__ import annotations

import secrets
import time
from typing import Any, Final

from tests.collector.traffic import Sent, export_request
from tests.servers import Collector, over_http

LONGEST_S: Final = 60.0
LOOK_EVERY_S: Final = 0.02


def ask(collector: Collector, sql: str) -> list[list[Any]]:
    """The rows of a statement, through the collector."""
    answer = over_http("POST", f"{collector.web_url}/api/sql", json={"sql": sql}, timeout_s=60)
    assert answer.status_code == 200, answer.text
    rows: list[list[Any]] = answer.json()["rows"]
    return rows


def visible_after_s(collector: Collector) -> float:
    """Send one transaction; from its acknowledgement until a SELECT finds it. Infinite when it takes a minute."""
    trace_id = secrets.token_hex(16)
    sent = Sent(trace_id, secrets.token_hex(8), "GET /marker", time.time_ns() - 1_000_000, 1_000_000, service="bench")
    assert collector.send(export_request([sent])).status_code == 200
    acknowledged_s = time.perf_counter()
    found = f"SELECT count() FROM transactions WHERE trace_id = unhex('{trace_id}')"
    while time.perf_counter() - acknowledged_s < LONGEST_S:
        if ask(collector, found)[0][0]:
            return time.perf_counter() - acknowledged_s
        time.sleep(LOOK_EVERY_S)
    return float("inf")
