"""
What the sampler costs: CPU of its thread, and the latency of short requests with and without it, in turn.

    python -m tests.bench.sampler [--windows 10] → a few lines
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import threading
import time
from pathlib import Path
from typing import Final

import walltime
from walltime.sampling import tick

HZ: Final = 100
RATE: Final = 500
WINDOW_S: Final = 2
REQUESTS: Final = 20_000
TASKS: Final = Path("/proc/self/task")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--windows", type=int, default=10)
    windows = parser.parse_args().windows
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))  # what else the machine does waits, where we may
    for threads, compute_ms, wait_ms in ((0, 0.0, 0.0), (1, 2.0, 2.0), (16, 0.2, 8.0), (16, 2.0, 8.0)):
        cpu(threads, compute_ms, wait_ms)
    registering()
    latency(windows)


def cpu(threads: int, compute_ms: float, wait_ms: float) -> None:
    """Threads that serve one request after the other; each computes and waits in turn, four times."""
    before = {each.name for each in TASKS.iterdir()}
    walltime.configure(exporters="none", sample_hz=HZ)
    with walltime.transaction("first"):
        (sampler,) = {each.name for each in TASKS.iterdir()} - before
    ended = threading.Event()

    def serve() -> None:
        while not ended.is_set():
            with walltime.transaction("request"):
                for _ in range(4):
                    compute(compute_ms)
                    time.sleep(wait_ms / 1e3)

    servers = [threading.Thread(target=serve) for _ in range(threads)]
    for each in servers:
        each.start()
    time.sleep(1)
    samples, used_ns, began_s = tick.counts["samples"], cpu_ns(sampler), time.monotonic()
    time.sleep(2 * WINDOW_S)
    took_s = time.monotonic() - began_s
    share, rate = (cpu_ns(sampler) - used_ns) / 1e9 / took_s, (tick.counts["samples"] - samples) / took_s
    ended.set()
    for each in servers:
        each.join()
    walltime.shutdown()
    print(f"{threads} threads, {compute_ms} ms and {wait_ms} ms in turn: {share:.2%} of a CPU, {rate:.0f} samples/s")


def registering() -> None:
    """CPU of the request's thread for a transaction that does nothing, in turn."""
    costs_us: dict[int, list[float]] = {0: [], HZ: []}
    for _ in range(10):
        for hz, costs in costs_us.items():
            walltime.configure(exporters="none", sample_hz=hz)
            began_ns = time.thread_time_ns()
            for _ in range(REQUESTS // 10):
                with walltime.transaction("request"):
                    pass
            costs.append((time.thread_time_ns() - began_ns) / (REQUESTS // 10) / 1e3)
            walltime.shutdown()
    off, on = (min(costs) for costs in costs_us.values())
    print(f"an empty transaction: {off:.2f} µs without, {on:.2f} µs with the sampler (minima)")


def latency(windows: int) -> None:
    """Short requests at a constant rate, with and without the sampler in turn."""
    took_us: dict[int, list[list[float]]] = {0: [], HZ: []}
    for _ in range(windows):
        for hz, of_hz in took_us.items():
            walltime.configure(exporters="none", sample_hz=hz)
            of_hz.append(sorted(paced()))
            walltime.shutdown()
    for hz, of_hz in took_us.items():
        p50, p99 = (statistics.median(window[int(len(window) * share)] for window in of_hz) for share in (0.5, 0.99))
        print(f"{RATE} requests/s of 0.5 ms, sample_hz={hz}: p50 {p50:.0f} µs, p99 {p99:.0f} µs")


def paced() -> list[float]:
    """Return the durations of a window's requests, in µs."""
    took_us = []
    began_s = time.perf_counter()
    for number in range(RATE * WINDOW_S):
        time.sleep(max(0.0, began_s + number / RATE - time.perf_counter()))
        at_s = time.perf_counter()
        with walltime.transaction("request"):
            for _ in range(500):
                sum(range(50))
        took_us.append((time.perf_counter() - at_s) * 1e6)
    return took_us


def compute(ms: float) -> None:
    ends_ns = time.thread_time_ns() + round(ms * 1e6)
    while time.thread_time_ns() < ends_ns:
        sum(range(50))


def cpu_ns(task: str) -> int:
    return int((TASKS / task / "schedstat").read_text().split()[0])


if __name__ == "__main__":
    main()
