"""Transactions that do something until they were sampled often enough, and the samples on their bills."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import walltime

from tests.sdk.sink import Received, Sink

FIELDS = ("component", "line", "function", "library", "state", "stack", "count", "time_ns")
COMPUTING = {"computing", "cpu", "gil"}
"""States of a thread that computes, on a machine with other work."""
ALMOST_ALWAYS = 0.75
"""Of the samples, on a busy machine; 0.9 on a quiet one."""


@dataclass
class Entry:
    component: str
    line: str
    function: str
    library: str
    state: str
    stack: str
    count: int
    time_ns: int


def entries(*transactions: Received) -> list[Entry]:
    return [
        Entry(*row)
        for each in transactions
        for row in zip(*[each.attributes.get(f"walltime.sample.{name}", []) for name in FIELDS], strict=True)
    ]


def sampled(sink: Sink, work: Callable[[], object], *, samples: int = 30, longest_s: float = 20) -> list[Entry]:
    """Run the work in transactions, again and again, and return what was sampled."""
    walltime.configure(service_name="test", endpoint=sink.endpoint, sample_hz=250)
    ends_s = time.monotonic() + longest_s
    while walltime.counters().get("samples", 0) < samples and time.monotonic() < ends_s:
        with walltime.transaction("work"):
            for _ in range(10):
                work()
    assert walltime.flush()
    return entries(*sink.transactions())


def share(found: list[Entry], **expected: object) -> float:
    """The share of the samples that have these values; a set has one of them, a text begins with it."""
    counted = sum(each.count for each in found if _is(each, expected))
    return counted / sum(each.count for each in found)


def _is(entry: Entry, expected: dict[str, object]) -> bool:
    return all(
        getattr(entry, name) in value if isinstance(value, set) else str(value) in getattr(entry, name)
        for name, value in expected.items()
    )


def busy(ms: float) -> None:
    """Compute for some milliseconds of CPU time."""
    ends_ns = time.thread_time_ns() + round(ms * 1e6)
    while time.thread_time_ns() < ends_ns:
        sum(range(100))
