"""Claims about the process, over many simulated answers whose truth is known: hardly ever a false one, nearly all true ones."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator

import pytest
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.query.why.explain import explain
from walltime_collector.query.windows import Comparison, Window

from tests.collector.conftest import MINUTE_NS, Store
from tests.collector.query.showing import make
from tests.collector.threads_of_a_process import Request, page, served
from tests.collector.traffic import MS, Sent, SentCall, Value

Sides = tuple[list[Sent], list[Sent]]
GIL, COMPUTING, GARBAGE = "The interpreter (GIL)", "this is computing", "The garbage collector: "
CALLS_WAIT = "calls wait for it too"
LENGTH_NS = MINUTE_NS // 2
_kinds = iter(range(1_000_000))


def arriving(
    rng: random.Random, start_ns: int, every_ms: float, made: Callable[[], Request]
) -> Iterator[tuple[int, Request]]:
    at_ns = float(start_ns)
    while (at_ns := at_ns + rng.expovariate(1 / (every_ms * MS))) < start_ns + LENGTH_NS:
        yield int(at_ns), made()


def process(
    rng: random.Random, kind: str, start_ns: int, host: str, *, threads: int, every_ms: float, report_every_ms: float = 0,
    compute_ms: float = 9, cache_ms: float = 0.4, database_ms: float = 3,
) -> list[Sent]:  # fmt: skip
    requests = [*arriving(rng, start_ns, every_ms, lambda: page(rng, compute_ms, cache_ms, database_ms))]
    if report_every_ms:
        report = Request("report", [("", 300 * MS)])
        requests += arriving(rng, start_ns, report_every_ms, lambda: Request(report.name, report.steps))
    return [*served(rng, iter(sorted(requests, key=lambda each: each[0])), threads, host=host, kind=kind)]


def sync_workers(rng: random.Random, kind: str, usual_ns: int, slow_ns: int) -> Sides:
    """One thread each; load doubles and both servers get slower."""
    factor = rng.uniform(1.5, 3)
    hosts = [f"{kind}-{at}" for at in range(3)]
    usual = [each for host in hosts for each in process(rng, kind, usual_ns, host, threads=1, every_ms=70)]
    slower = {"cache_ms": 0.4 * factor, "database_ms": 3 * factor}
    return usual, [
        each for host in hosts for each in process(rng, kind, slow_ns, host, threads=1, every_ms=25, **slower)
    ]


def idle_threads(rng: random.Random, kind: str, usual_ns: int, slow_ns: int) -> Sides:
    """They overlap all the time and wait for servers that get slower."""
    factor = rng.uniform(1.5, 4)
    same = {"threads": 16, "every_ms": 20, "compute_ms": 2}
    usual = process(rng, kind, usual_ns, f"{kind}-1", **same, cache_ms=10, database_ms=60)
    return usual, process(rng, kind, slow_ns, f"{kind}-1", **same, cache_ms=10 * factor, database_ms=60 * factor)


def busy_threads(rng: random.Random, kind: str, usual_ns: int, slow_ns: int) -> Sides:
    """Reports compute beside the pages, in threads of the same process."""
    usual = process(rng, kind, usual_ns, f"{kind}-1", threads=8, every_ms=80)
    return usual, process(
        rng, kind, slow_ns, f"{kind}-1", threads=8, every_ms=80, report_every_ms=rng.uniform(380, 500)
    )


def many(
    rng: random.Random, kind: str, start_ns: int, made: Callable[[], tuple[list[SentCall], float, float]]
) -> list[Sent]:
    """300 transactions of a sync worker: calls, `other` and CPU time in milliseconds."""
    sent = []
    for at in range(300):
        calls, other_ms, cpu_ms = made()
        attributes: dict[str, Value] = {"walltime.cpu_user_ns": int(cpu_ms * MS), "walltime.cpu_system_ns": 0}
        duration_ns = sum(each.duration_ns for each in calls) + int(other_ms * MS)
        started_ns = start_ns + at * LENGTH_NS // 300
        sent.append(
            make(
                f"GET /{kind} page", duration_ns=duration_ns, started_ns=started_ns, calls=calls, attributes=attributes
            )
        )
    return sent


def one(component: str, ms: float) -> SentCall:
    return SentCall(component, 0, int(ms * MS), {"server.address": "10.0.0.5", "server.port": 3306})


def decoding(rng: random.Random, kind: str, usual_ns: int, slow_ns: int) -> Sides:
    """A driver in Python computes in its calls; `other` sleeps."""

    def made(factor: float) -> tuple[list[SentCall], float, float]:
        fetch_ms = factor * 5 * rng.lognormvariate(0, 0.2)
        return [one("mysql.fetch", fetch_ms)], factor * 5 * rng.lognormvariate(0, 0.2), 0.8 * fetch_ms

    factor = rng.uniform(1.5, 4)
    return many(rng, kind, usual_ns, lambda: made(1)), many(rng, kind, slow_ns, lambda: made(factor))


def sleeping(rng: random.Random, kind: str, usual_ns: int, slow_ns: int) -> Sides:
    def made(slept_ms: float) -> tuple[list[SentCall], float, float]:
        cpu_ms = 4 * rng.lognormvariate(0, 0.3)
        return (
            [one("mysql.query", 6 * rng.lognormvariate(0, 0.3))],
            cpu_ms * 0.7 + slept_ms * rng.lognormvariate(0, 0.2),
            cpu_ms,
        )

    slept_ms = rng.uniform(5, 40)
    return many(rng, kind, usual_ns, lambda: made(1)), many(rng, kind, slow_ns, lambda: made(slept_ms))


def computing(rng: random.Random, kind: str, usual_ns: int, slow_ns: int) -> Sides:
    def made(more_ms: float) -> tuple[list[SentCall], float, float]:
        cpu_ms = 3 * rng.lognormvariate(0, 0.3) + more_ms * rng.lognormvariate(0, 0.2)
        return [one("mysql.query", 4 * rng.lognormvariate(0, 0.3))], cpu_ms * 1.1, cpu_ms

    more_ms = rng.uniform(15, 60)
    return many(rng, kind, usual_ns, lambda: made(0)), many(rng, kind, slow_ns, lambda: made(more_ms))


def garbage(rng: random.Random, kind: str, usual_ns: int, slow_ns: int) -> Sides:
    def made(pause_ms: float) -> tuple[list[SentCall], float, float]:
        pauses = (
            [SentCall("python.gc", 0, int(pause_ms * rng.lognormvariate(0, 0.5) * MS))] if rng.random() < 0.3 else []
        )
        return [one("mysql.query", 6 * rng.lognormvariate(0, 0.3)), *pauses], 4 * rng.lognormvariate(0, 0.3), 4

    pause_ms = rng.uniform(20, 60)
    return many(rng, kind, usual_ns, lambda: made(1)), many(rng, kind, slow_ns, lambda: made(pause_ms))


def answers(engine: Engine, store: Store, made: Callable[..., Sides], number: int) -> Iterable[str]:
    """The sentences of so many answers about independent pairs of windows."""
    rng, end_ns = random.Random(made.__name__), time.time_ns() - MINUTE_NS
    usual_ns, slow_ns = end_ns - 4 * LENGTH_NS, end_ns - 2 * LENGTH_NS
    for _ in range(number):
        kind = f"{made.__name__} {next(_kinds)}"
        usual, slow = made(rng, kind, usual_ns, slow_ns)
        for each in (*usual, *slow):
            each.service = kind
        store([*usual, *slow])
        compared = Comparison(Window(slow_ns, slow_ns + LENGTH_NS), Window(usual_ns, usual_ns + LENGTH_NS))
        yield " ".join(explain(engine, f"GET /{kind} page", compared, service=kind).sentences)


BY_DAY, BY_NIGHT = 3, 200


@pytest.mark.parametrize("number", [BY_DAY, pytest.param(BY_NIGHT, marks=pytest.mark.nightly)])
@pytest.mark.parametrize(
    ("made", "false"),
    [
        (sync_workers, (GIL, CALLS_WAIT)),
        (idle_threads, (GIL, CALLS_WAIT)),
        (decoding, (GIL, COMPUTING, CALLS_WAIT)),
        (sleeping, (GIL, COMPUTING, CALLS_WAIT)),
        (computing, (GIL, "this is waiting")),
        (garbage, (GIL, CALLS_WAIT)),
    ],
)
def test_no_false_claim_about_the_process(
    engine: Engine, store: Store, made: Callable[..., Sides], false: tuple[str, ...], number: int
) -> None:
    wrong = [said for said in answers(engine, store, made, number) if any(words in said for words in false)]
    assert len(wrong) <= 0.01 * number, wrong[:3]


@pytest.mark.parametrize("number", [BY_DAY, pytest.param(BY_NIGHT, marks=pytest.mark.nightly)])
@pytest.mark.parametrize(("made", "true"), [(busy_threads, GIL), (computing, COMPUTING), (garbage, GARBAGE)])
def test_true_claims_about_the_process_are_made(
    engine: Engine, store: Store, made: Callable[..., Sides], true: str, number: int
) -> None:
    missed = [said for said in answers(engine, store, made, number) if true not in said]
    assert len(missed) <= 0.05 * number, missed[:3]
