"""
How long `walltime why` takes over a million transactions: `python -m tests.bench.why [TRANSACTIONS] [HOURS]`.

Half of them are the simulated shop on a usual day, half of them with one cache emptied; both by time and by percentile.
A day of 6.5 million transactions, which may take 1.5 s: `python -m tests.bench.why 6500000 24`.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from walltime_collector.clickhouse.embedded.engine import EmbeddedEngine
from walltime_collector.query.why.explain import explain
from walltime_collector.query.windows import Comparison, Window

from tests.bench.machine import machine
from tests.collector.simulated_shop import MINUTE_NS, USUAL, Page, simulate

KIND = "GET /product/{id}"
TIMES = 5
_PART = 250_000
"""Transactions of one INSERT."""


def main(transactions: int, hours: int = 1) -> None:
    end_ns = time.time_ns() - MINUTE_NS
    middle_ns, start_ns = end_ns - 30 * hours * MINUTE_NS, end_ns - 60 * hours * MINUTE_NS
    usual, slow, whole = Window(start_ns, middle_ns), Window(middle_ns, end_ns), Window(start_ns, end_ns)
    with tempfile.TemporaryDirectory() as folder:
        engine = EmbeddedEngine(Path(folder), "walltime")
        engine.migrate()
        for seed, (page, window) in enumerate(((USUAL, usual), (Page(hits_1=0.12), slow))):
            parts = max(transactions // 2 // _PART, 1)  # the database's process has a memory limit
            length_ns = (window.end_ns - window.start_ns) // parts
            for part in range(parts):
                many, from_ns = transactions // 2 // parts, window.start_ns + part * length_ns
                simulate(engine, page, seed=2 * part + seed, transactions=many, from_ns=from_ns, length_ns=length_ns)
        print(f"{transactions:,} transactions on {', '.join(map(str, machine().values()))}")
        for what, compared in (("by time", Comparison(slow, usual)), ("by percentile", Comparison(whole, whole, 5.0))):
            walls, cpus = [], []
            for _ in range(TIMES):
                wall_s, cpu_s = time.perf_counter(), time.process_time()
                answer = explain(engine, KIND, compared)
                walls.append(time.perf_counter() - wall_s)
                cpus.append(time.process_time() - cpu_s)
            print(f"{what:<14} {min(walls):.2f} s best of {TIMES}, {min(cpus):.2f} s of CPU   {answer.headline}")
        engine.close()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3] or (1_000_000,)))
