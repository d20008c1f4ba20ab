"""
The measured process: one subject, driven by lines of JSON.

    python -m tests.bench.measured SUBJECT ENDPOINT

Standard input: `{"do": "sampled" | "calls" | "requests", …}`, the names and arguments of the methods of `Measured`.
Standard output: one line of JSON for each of them, and one when the process is ready.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from typing import Final

from tests.bench import subjects, transports
from tests.bench.workload import Shop, serve

SAMPLED_CALLER: Final = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
FLUSH_EVERY: Final = 50
"""Requests between two exports: 50 × 33 spans fit into OpenTelemetry's queue of 2,048, so that nobody loses any."""
CALLS_IN_A_ROW: Final = {"sql": (8, 50), "memcache": (8, 50), "http": (4, 20)}
"""Requests, and calls in each, of one measurement."""


class Measured:
    """The application under one subject."""

    def __init__(self, subject: str, endpoint: str) -> None:
        chosen = subjects.by_name(subject)
        instrumented = chosen.instrument(endpoint, chosen.probability)
        self._flush = instrumented.flush
        self._app = instrumented.wrap(Shop())
        self.calls()  # warm: caches, connections, the specialising interpreter
        self.requests(FLUSH_EVERY)

    def sampled(self) -> dict[str, str]:
        """Serve one request of a caller who records; tell what went over the wires."""
        serve(self._app, "/request", traceparent=SAMPLED_CALLER)
        self._flush()
        return {transport: sent.decode("latin-1") for transport, sent in transports.last_sent.items()}

    def calls(self) -> dict[str, float]:
        """Measure each client's calls by themselves; nanoseconds."""
        return {f"{client}_call_ns": self._call_ns(client, *CALLS_IN_A_ROW[client]) for client in CALLS_IN_A_ROW}

    def requests(self, count: int) -> dict[str, float]:
        """Measure whole requests, everything that is exported because of them included; nanoseconds."""
        latencies_ns = []
        started_ns = time.process_time_ns()  # of all threads
        for number in range(1, count + 1):
            begun_ns = time.perf_counter_ns()
            serve(self._app, "/request")
            latencies_ns.append(time.perf_counter_ns() - begun_ns)
            if number % FLUSH_EVERY == 0 or number == count:
                self._flush()
        cpu_ns = (time.process_time_ns() - started_ns) / count
        return {"request_cpu_ns": cpu_ns, "request_p50_ns": statistics.median(latencies_ns)}

    def _call_ns(self, client: str, requests: int, calls: int) -> float:
        """CPU time of the request's thread per call, without what comes before and after the calls."""
        spent_ns = sum(serve(self._app, f"/{client}", calls)["bench.cpu_ns"] for _ in range(requests))
        self._flush()
        return float(spent_ns / (requests * calls))


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # whatever a library prints is no answer of ours
    measured = Measured(*sys.argv[1:3])
    answers.write("{}\n")
    for line in sys.stdin:
        order = json.loads(line)
        answers.write(json.dumps(getattr(measured, order.pop("do"))(**order)) + "\n")


if __name__ == "__main__":
    main()
