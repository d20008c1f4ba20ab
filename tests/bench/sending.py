"""The sender of export requests as a process: starts it, on a core of its own, and reads what came of its order."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from tests.bench.ingest_sender import Order, Sent
from tests.bench.machine import pin
from tests.servers import Collector

ROOT: Final = Path(__file__).parents[2]
COLLECTOR_CORE, SENDER_CORE = 0, 1


class SenderFailed(Exception):
    """The sender ended with an error, which is on stderr."""


def to(collector: Collector, order: Order) -> Order:
    """The same order, for this collector."""
    address = collector.grpc if order.is_grpc else urlsplit(collector.otlp_url).netloc
    return replace(order, address=address, health_url=f"{collector.web_url}/healthz")


def send(order: Order, core: int | None = SENDER_CORE) -> Sent:
    """
    Carry out an order, on this core or on any.

    Raises:
        SenderFailed: It could not.
    """
    with sending(order, core) as process:
        assert process.stdout is not None
        answer = process.stdout.read()
    if process.returncode:
        raise SenderFailed(f"the sender ended with {process.returncode}; what it says is above")
    return Sent(**json.loads(answer))


@contextmanager
def sending(order: Order, core: int | None = SENDER_CORE) -> Iterator[subprocess.Popen[str]]:
    """The same, while something else is done; waits for its end."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.bench.ingest_sender"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        if core is not None:
            pin(process.pid, core)
        assert process.stdin is not None
        process.stdin.write(json.dumps(asdict(order)))
        process.stdin.close()
        yield process


@contextmanager
def collector_on(core: int | None, data: Path, **settings: str | int | float) -> Iterator[Collector]:
    """A collector, and all that it starts, on this core or on any; it loads once a second, as in production."""
    with on(core):
        collector = Collector(data, **{"segment_age_s": 1.0, **settings})
    with collector:
        yield collector


@contextmanager
def on(core: int | None) -> Iterator[None]:
    """What is started meanwhile stays on this core, or may use any."""
    if core is not None:
        pin(0, core)
    try:
        yield
    finally:
        os.sched_setaffinity(0, range(os.cpu_count() or 1))
