"""Claims about the process in many simulated answers with known truth: hardly a false one, nearly all true ones."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from walltime_collector.clickhouse.engine import Engine, Parameter
from walltime_collector.query.components import Sums
from walltime_collector.query.scope import Filters
from walltime_collector.query.why.answer import Population
from walltime_collector.query.why.arithmetic import Totals, contributions
from walltime_collector.query.why.causes import process, waits
from walltime_collector.query.why.reading import Reading
from walltime_collector.query.windows import Comparison, Window

from tests.collector.conftest import MINUTE_NS, Store
from tests.collector.query.showing import make
from tests.collector.threads_of_a_process import Request, page, served
from tests.collector.traffic import MS, Sent, SentCall, Value

Sides = tuple[list[Sent], list[Sent]]
GIL, COMPUTING, GARBAGE = "The interpreter (GIL)", "this is computing", "The garbage collector: "
CALLS_WAIT = "calls wait for it too"
LENGTH_NS = MINUTE_NS // 6
BY_DAY, BY_NIGHT = 2, 200
"""Answers."""
NIGHTLY = (pytest.mark.nightly, pytest.mark.timeout(3_000))
MOST_AT_ONCE = 10_000
"""Transactions in a request."""


def arriving(
    rng: random.Random, start_ns: int, every_ms: float, made: Callable[[], Request]
) -> Iterator[tuple[int, Request]]:
    at_ns = float(start_ns)
    while (at_ns := at_ns + rng.expovariate(1 / (every_ms * MS))) < start_ns + LENGTH_NS:
        yield int(at_ns), made()


def process_of(
    rng: random.Random, kind: str, start_ns: int, host: str, *, threads: int, every_ms: float,
    report_every_ms: float = 0, compute_ms: float = 9, cache_ms: float = 0.4, database_ms: float = 3,
) -> list[Sent]:  # fmt: skip
    requests = [*arriving(rng, start_ns, every_ms, lambda: page(rng, compute_ms, cache_ms, database_ms))]
    if report_every_ms:
        report = Request("report", [("", 300 * MS)])
        requests += arriving(rng, start_ns, report_every_ms, lambda: Request(report.name, report.steps))
    return [*served(rng, iter(sorted(requests, key=lambda each: each[0])), threads, host=host, kind=kind)]


def sync_workers(rng: random.Random, kind: str, usual_ns: int, slow_ns: int) -> Sides:
    """One thread each; load doubles and both servers get slower."""
    factor = rng.uniform(1.5, 3)
    hosts = [f"{kind}-{at}" for at in range(2)]
    usual = [each for host in hosts for each in process_of(rng, kind, usual_ns, host, threads=1, every_ms=70)]
    slower = {"cache_ms": 0.4 * factor, "database_ms": 3 * factor}
    return usual, [
        each for host in hosts for each in process_of(rng, kind, slow_ns, host, threads=1, every_ms=25, **slower)
    ]


def idle_threads(rng: random.Random, kind: str, usual_ns: int, slow_ns: int) -> Sides:
    """They overlap all the time and wait for servers that get slower."""
    factor = rng.uniform(1.5, 4)
    same = {"threads": 16, "every_ms": 20, "compute_ms": 2}
    usual = process_of(rng, kind, usual_ns, f"{kind}-1", **same, cache_ms=10, database_ms=60)
    return usual, process_of(rng, kind, slow_ns, f"{kind}-1", **same, cache_ms=10 * factor, database_ms=60 * factor)


def busy_threads(rng: random.Random, kind: str, usual_ns: int, slow_ns: int) -> Sides:
    """Reports compute beside the pages, in threads of the same process."""
    usual = process_of(rng, kind, usual_ns, f"{kind}-1", threads=8, every_ms=80)
    return usual, process_of(
        rng, kind, slow_ns, f"{kind}-1", threads=8, every_ms=80, report_every_ms=rng.uniform(380, 500)
    )


Made = Callable[[], tuple[list[SentCall], float, float]]


def many(kind: str, start_ns: int, made: Made) -> list[Sent]:
    """250 transactions of a sync worker, one after the other: calls, `other` and CPU time in milliseconds."""
    sent: list[Sent] = []
    for at in range(250):
        calls, other_ms, cpu_ms = made()
        cpu: dict[str, Value] = {"walltime.cpu_user_ns": int(cpu_ms * MS), "walltime.cpu_system_ns": 0}
        duration_ns = sum(each.duration_ns for each in calls) + int(other_ms * MS)
        free_ns = sent[-1].started_ns + sent[-1].duration_ns if sent else start_ns
        at_ns = max(start_ns + at * LENGTH_NS // 250, free_ns)
        sent.append(make(f"GET /{kind} page", duration_ns=duration_ns, started_ns=at_ns, calls=calls, attributes=cpu))
    return sent


def one(component: str, ms: float) -> SentCall:
    return SentCall(component, 0, int(ms * MS), {"server.address": "10.0.0.5", "server.port": 3306})


def decoding(rng: random.Random, kind: str, usual_ns: int, slow_ns: int) -> Sides:
    """A driver in Python computes in its calls; `other` sleeps."""

    def made(factor: float) -> tuple[list[SentCall], float, float]:
        fetch_ms = factor * 5 * rng.lognormvariate(0, 0.2)
        return [one("mysql.fetch", fetch_ms)], factor * 5 * rng.lognormvariate(0, 0.2), 0.8 * fetch_ms

    factor = rng.uniform(1.5, 4)
    return many(kind, usual_ns, lambda: made(1)), many(kind, slow_ns, lambda: made(factor))


def sleeping(rng: random.Random, kind: str, usual_ns: int, slow_ns: int) -> Sides:
    def made(slept_ms: float) -> tuple[list[SentCall], float, float]:
        cpu_ms = 4 * rng.lognormvariate(0, 0.3)
        return (
            [one("mysql.query", 6 * rng.lognormvariate(0, 0.3))],
            cpu_ms * 0.7 + slept_ms * rng.lognormvariate(0, 0.2),
            cpu_ms,
        )

    slept_ms = rng.uniform(5, 40)
    return many(kind, usual_ns, lambda: made(1)), many(kind, slow_ns, lambda: made(slept_ms))


def computing(rng: random.Random, kind: str, usual_ns: int, slow_ns: int) -> Sides:
    def made(more_ms: float) -> tuple[list[SentCall], float, float]:
        cpu_ms = 3 * rng.lognormvariate(0, 0.3) + more_ms * rng.lognormvariate(0, 0.2)
        return [one("mysql.query", 4 * rng.lognormvariate(0, 0.3))], cpu_ms * 1.1, cpu_ms

    more_ms = rng.uniform(15, 60)
    return many(kind, usual_ns, lambda: made(0)), many(kind, slow_ns, lambda: made(more_ms))


def garbage(rng: random.Random, kind: str, usual_ns: int, slow_ns: int) -> Sides:
    def made(pause_ms: float) -> tuple[list[SentCall], float, float]:
        pauses = (
            [SentCall("python.gc", 0, int(pause_ms * rng.lognormvariate(0, 0.5) * MS))] if rng.random() < 0.3 else []
        )
        return [one("mysql.query", 6 * rng.lognormvariate(0, 0.3)), *pauses], 4 * rng.lognormvariate(0, 0.3), 4

    pause_ms = rng.uniform(20, 60)
    return many(kind, usual_ns, lambda: made(1)), many(kind, slow_ns, lambda: made(pause_ms))


def answers(engine: Engine, store: Store, made: Callable[..., Sides], number: int) -> Iterable[str]:
    """What is said of the process in so many answers about independent pairs of windows."""
    rng, end_ns = random.Random(made.__name__), time.time_ns() - MINUTE_NS
    usual_ns, slow_ns = end_ns - 4 * LENGTH_NS, end_ns - 2 * LENGTH_NS
    compared = Comparison(Window(slow_ns, end_ns), Window(usual_ns, slow_ns))
    made_for = {kind: made(rng, kind, usual_ns, slow_ns) for kind in (f"{made.__name__} {at}" for at in range(number))}
    sent = [replace(each, service=kind) for kind, both in made_for.items() for side in both for each in side]
    for at in range(0, len(sent), MOST_AT_ONCE):
        store(sent[at : at + MOST_AT_ONCE])
    for kind, both in made_for.items():
        params: dict[str, Parameter] = {**Filters(service=kind, kind=f"GET /{kind} page").parameters()}
        params |= {**compared.parameters(), "minutes": [], "when": "", "threshold_ns": 0, "bound_ns": 2**63 - 1}
        usual, slow = ([each for each in side if each.name.endswith("page")] for side in both)
        components = contributions(totals(usual), totals(slow))
        reading = Reading(engine, params, compared, population(usual), population(slow), components)
        found = [*process.findings(reading, ()), *waits.findings(reading)]
        other = next(each for each in components if each.component == "other")
        if other.difference_ns > 0.12 * reading.difference_ns:
            found.append(process.of_other(reading, other, ()))
        yield " ".join(each.sentence for each in found)


def totals(sent: Sequence[Sent]) -> Totals:
    sums: dict[str, Sums] = {}
    for call in (call for each in sent for call in each.calls):
        before = sums.get(call.component, Sums())
        sums[call.component] = replace(before, calls=before.calls + 1, time_ns=before.time_ns + call.duration_ns)
    total_ns = sum(each.duration_ns for each in sent)
    return Totals(len(sent), total_ns, total_ns - sum(each.time_ns for each in sums.values()), sums)


def population(sent: Sequence[Sent]) -> Population:
    total_ns = sum(each.duration_ns for each in sent)
    times: dict[str, Any] = {"total_ns": total_ns, "mean_ns": total_ns / len(sent)}
    times |= dict.fromkeys(("p50_ns", "p95_ns", "p99_ns", "max_ns"), 0)
    times |= dict.fromkeys(("other_on_cpu_least_ns", "other_on_cpu_most_ns", "queue_ns"))
    cpu_ns = sum(int(str(each.attributes["walltime.cpu_user_ns"])) for each in sent) / len(sent)
    return Population(since="", until="", transactions=len(sent), errors=0, cpu_ns=cpu_ns, **times)


@pytest.mark.parametrize("number", [BY_DAY, pytest.param(BY_NIGHT, marks=NIGHTLY)])
@pytest.mark.parametrize(
    ("made", "false", "true"),
    [
        (sync_workers, (GIL, CALLS_WAIT), ""),
        (idle_threads, (GIL, CALLS_WAIT), ""),
        (decoding, (GIL, COMPUTING, CALLS_WAIT), ""),
        (sleeping, (GIL, COMPUTING, CALLS_WAIT), ""),
        (computing, (GIL, "this is waiting"), COMPUTING),
        (garbage, (GIL, CALLS_WAIT), GARBAGE),
        (busy_threads, (GARBAGE,), GIL),
    ],
)
def test_what_is_said_of_the_process_is_true(
    engine: Engine, store: Store, made: Callable[..., Sides], false: tuple[str, ...], true: str, number: int
) -> None:
    said = [*answers(engine, store, made, number)]
    wrong = [each for each in said if any(words in each for words in false)]
    missed = [each for each in said if true not in each]
    assert len(wrong) <= 0.01 * number, wrong[:3]
    assert len(missed) <= 0.05 * number, missed[:3]
