"""A program that is sampled: it computes and sleeps in known lines. Arguments: OTLP address, what it does."""

from __future__ import annotations

import json
import sys
import time

import walltime

ROWS = [{"sku": number, "tags": [str(number)] * 3} for number in range(200)]


def to_json() -> None:
    started_s = time.thread_time()
    while time.thread_time() - started_s < 0.02:
        json.dumps(ROWS, indent=1)


def pause() -> None:
    time.sleep(0.01)


walltime.configure(endpoint=sys.argv[1], service_name="sampled")
for _ in range(200):
    with walltime.transaction("GET /report"):
        pause()
        if sys.argv[2] == "slow":
            to_json()
walltime.shutdown()
