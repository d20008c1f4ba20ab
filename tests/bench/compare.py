"""
Subjects side by side: one process each, every slice of one between two slices of the bare application, differences.

A machine that gets slower or busier for a while does so for both, and a median of many slices forgets the rest.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from tests.bench.machine import pin
from tests.bench.measured import SAMPLED_CALLER
from tests.bench.recorded import Recorded, check, check_wires
from tests.bench.subjects import BARE, SUBJECTS, Subject
from tests.sdk.sink import Sink

METRICS: Final = ("sql_call_ns", "memcache_call_ns", "http_call_ns", "request_cpu_ns", "request_p50_ns")

Slice = dict[str, float]
"""Metric → nanoseconds, of one process in one go."""


@dataclass(frozen=True)
class Plan:
    """How much is measured."""

    processes: int
    """One after the other for each subject: a process can be lucky with its memory."""
    rounds: int
    """Slices of each process."""
    requests: int = 50
    """Whole requests of a slice."""


@dataclass
class Result:
    """Everything measured of one subject."""

    subject: Subject
    slices: list[Slice] = field(default_factory=list)
    around: list[Slice] = field(default_factory=list)
    """For each slice the mean of the bare slices before and after it; none for the bare application itself."""
    recorded: Recorded = field(default_factory=Recorded)
    requests: int = 0
    """Whole requests served in the slices."""

    def median_ns(self, metric: str) -> float:
        return statistics.median(one[metric] for one in self.slices)

    def least_ns(self, metric: str) -> float:
        return min(one[metric] for one in self.slices)

    def overhead_ns(self, metric: str) -> float:
        """The median of the differences between a slice and the bare slices around it."""
        pairs = zip(self.slices, self.around, strict=True)
        return statistics.median(one[metric] - bare[metric] for one, bare in pairs)


def compare(plan: Plan, progress: Callable[[], None]) -> list[Result]:
    """
    Measure all subjects; `bare` comes first. `progress` is called after each of the `processes` × `rounds` rounds.

    Raises:
        NotRecorded: a subject does not record or send what it claims.
    """
    results = {subject: Result(subject) for subject in (BARE, *SUBJECTS)}
    order = random.Random(1)
    for _ in range(plan.processes):
        with ExitStack() as running:
            processes = [running.enter_context(_process(subject)) for subject in results]
            bare, others = processes[0], processes[1:]
            for _ in range(plan.rounds):
                order.shuffle(others)
                before = bare.slice(plan, results[BARE])
                for process in others:
                    result = results[process.subject]
                    result.slices.append(process.slice(plan, result))
                    after = bare.slice(plan, results[BARE])
                    result.around.append({metric: (before[metric] + after[metric]) / 2 for metric in METRICS})
                    results[BARE].slices.append(after)
                    before = after
                progress()
    return list(results.values())


class Process:
    """A running `tests.bench.measured`, with a sink of its own."""

    def __init__(self, subject: Subject, sink: Sink, process: subprocess.Popen[str]) -> None:
        self.subject = subject
        self._sink = sink
        self._process = process

    def check(self) -> None:
        """Serve one request of a caller who records: everything of it must arrive, whatever the probability is."""
        self._sink.requests.clear()
        sent = self._ask("sampled")
        check(self.subject, Recorded.of(self._sink.requests), 1, 1 if self.subject.probability else 0)
        check_wires(self.subject, sent, SAMPLED_CALLER.split("-")[1])

    def slice(self, plan: Plan, result: Result) -> Slice:
        found: Slice = self._ask("calls")
        self._sink.requests.clear()
        found |= self._ask("requests", count=plan.requests)
        recorded = Recorded.of(self._sink.requests)
        check(self.subject, recorded, plan.requests, self.subject.probability)
        result.recorded.add(recorded)
        result.requests += plan.requests
        return found

    def _ask(self, do: str, **arguments: Any) -> Any:
        assert self._process.stdin
        self._process.stdin.write(json.dumps({"do": do, **arguments}) + "\n")
        self._process.stdin.flush()
        return self.answer()

    def answer(self) -> Any:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.subject.name}: its process ended; what it said is above")
        return json.loads(line)


@contextmanager
def _process(subject: Subject) -> Iterator[Process]:
    """A process that is warm and has shown that it records."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "WALLTIME_"))}
    environment["PYTHONHASHSEED"] = "0"
    with Sink() as sink:
        command = [sys.executable, "-m", "tests.bench.measured", subject.name, sink.endpoint]
        with subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process:
            try:
                pin(process.pid, 1)
                running = Process(subject, sink, process)
                running.answer()
                running.check()
                yield running
            finally:
                process.kill()  # nothing of it is needed any more, least of all a last export
