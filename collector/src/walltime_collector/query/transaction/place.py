"""A transaction among the others of its kind: its place in the distribution of durations, and what is unusual."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Literal

from ...clickhouse.engine import Engine
from ...format import iso_time, unix_ns
from ..answers import Bill
from ..components import Component, counter_of
from ..queries import Row, run

FEWEST = 100
"""With fewer others to compare with, there is no place, and nothing is called unusual."""
SAMPLED = 2_000
"""Of the others so many are compared, counter by counter."""
TAIL = 0.01
"""Unusual is what at most so many of the others exceed, or fall short of."""
RARE = 0.05
"""A status, host or version is rare when at most so many of the others have it."""
_SMALL = 0.05
"""A difference in time that is a smaller share of the duration, this one or the usual one, is not mentioned."""
_AROUND_S = (1_800, 43_200, 302_400)
"""The window reaches so far to both sides: the first one that has enough others."""
_S = 1_000_000_000
_MANY = 16 * SAMPLED
"""With more others, the sample is from slices of the window: most of its rows need not be read then."""
_SLICES, _SLICED = 8, 15
"""So many slices, of which each has one part in so many of its time."""
_STEPS = 8
"""Of the distribution, from a duration to twice as long."""
_MOST_STEPS = 64
_LEAST_OF_EVEN = 0.2
"""A value is rare when its share is also smaller than this part of what it were if all values were equally frequent."""

Counter = Literal["time_ns", "calls", "per_call_ns", "misses", "errors"]


@dataclass(frozen=True)
class Step:
    """A bar of the distribution."""

    from_ns: float
    to_ns: float
    transactions: int


@dataclass(frozen=True)
class Unusual:
    """A counter of this transaction that few of the others have as high, or as low."""

    component: str
    """Of the bill; also `other`, `CPU` and `queue`."""
    counter: Counter
    value: float
    usual: float
    """The median of the others."""
    ratio: float | None
    """None when the usual is 0."""
    quantile: float
    """Of the others so many have less, plus half of those that have as much."""
    difference_ns: float
    """Of the time of the component, from the usual one."""


@dataclass(frozen=True)
class Rare:
    """A property that few of the others have."""

    name: Literal["status", "host", "version"]
    value: str
    share: float
    """Of the others."""
    usual: str
    """The value that most of them have."""
    usual_share: float


@dataclass(frozen=True)
class Place:
    """Where a transaction stands among the others of its kind that started around the same time."""

    since: str
    until: str
    others: int
    shorter: int
    equal: int
    quantile: float | None
    """Of the others so many took less time, plus half of those that took as much; None with fewer than FEWEST."""
    p50_ns: int
    p95_ns: int
    p99_ns: int
    max_ns: int
    """This transaction is among those of the percentiles, the maximum and the steps."""
    steps: tuple[Step, ...]
    sampled: int
    """What is unusual is by comparison with so many of the others; 0 with fewer than FEWEST."""
    unusual: tuple[Unusual, ...]
    """The component with the largest difference in time first; of a failed one, those with errors before all others."""
    rare: tuple[Rare, ...]


def place(engine: Engine, bill: Bill) -> Place:
    """
    Compare a transaction with the others of its kind.

    The place is exact, over all of them; counters are compared with a sample, by the hash of their span ids.

    Raises:
        EngineUnavailable: The engine cannot answer now.
    """
    started_ns = unix_ns(bill.started_at)
    kind = {"service": bill.service, "kind": bill.name}
    own = {"status": _status(bill), "host": bill.host, "version": bill.version}
    for around_s in _AROUND_S:
        window = {"start_ns": max(started_ns - around_s * _S, 0), "end_ns": started_ns + around_s * _S}
        row = run(engine, "place/durations", **kind, **window, **own, duration_ns=bill.duration_ns)[0]
        others = max(row["transactions"] - 1, 0)  # without this one
        if others >= FEWEST:
            break
    is_enough = others >= FEWEST
    shorter, equal = row["shorter"], max(row["equal"] - 1, 0)
    sample = _sample(engine, bill, window, others) if is_enough else {}
    p50_ns, p95_ns, p99_ns = (int(each) for each in row["percentiles_ns"])
    return Place(
        since=iso_time(window["start_ns"]),
        until=iso_time(window["end_ns"]),
        others=others,
        shorter=shorter,
        equal=equal,
        quantile=(shorter + equal / 2) / others if is_enough else None,
        p50_ns=p50_ns,
        p95_ns=p95_ns,
        p99_ns=p99_ns,
        max_ns=row["max_ns"],
        steps=tuple(_steps(dict(zip(row["steps"], row["of_steps"], strict=True)))),
        sampled=int(sample.get("transactions", 0)),
        unusual=unusual(bill, sample, p50_ns) if is_enough else (),
        rare=tuple(_rare(row, own, others)) if is_enough else (),
    )


def _sample(engine: Engine, bill: Bill, window: Mapping[str, int], others: int) -> Row:
    """The counters of about SAMPLED others, of the whole window or of slices of it."""
    slice_ns = (window["end_ns"] - window["start_ns"]) // _SLICES
    for part in (_SLICED, 1) if others > _MANY else (1,):
        row = run(
            engine,
            "place/sample",
            service=bill.service,
            kind=bill.name,
            span_id=bill.span_id,
            **window,
            slice_ns=slice_ns,
            part_ns=slice_ns // part + 1,
            every=max(round(others / part / SAMPLED), 1),
        )[0]
        if row["transactions"] >= FEWEST:
            break
    return row


def unusual(bill: Bill, sample: Row, usual_ns: int) -> tuple[Unusual, ...]:
    """
    What differs from the others.

    Args:
        sample: The row of queries/place/sample.sql.
        usual_ns: The usual duration.
    """
    small_ns = _SMALL * max(bill.duration_ns, usual_ns)
    found: list[Unusual] = []
    sampled = _counters(sample)
    zeros = [0] * sample["transactions"]
    own = {each.name: each for each in bill.components}
    for name in dict.fromkeys([*own, *(component for component, _ in sampled)]):
        component = own.get(name, Component(name))
        times, calls = (sampled.get((name, counter), zeros) for counter in ("time_ns", "calls"))
        difference_ns = component.time_ns - median(times)
        counts: tuple[tuple[Counter, int], ...] = (
            ("calls", component.calls),
            ("misses", component.misses),
            ("errors", component.errors),
        )
        found += _compared(name, "time_ns", component.time_ns, times, small_ns, difference_ns)
        for counter, number in counts:
            others = sampled.get((name, counter), zeros)
            found += _compared(name, counter, number, others, max(1, _SMALL * median(others)), difference_ns)
        if component.calls:
            each_ns = [time_ns / n for time_ns, n in zip(times, calls, strict=True) if n]
            per_call_ns = component.time_ns / component.calls
            found += _compared(name, "per_call_ns", per_call_ns, each_ns, small_ns / component.calls, difference_ns)
    cpu_ns = None if bill.cpu_user_ns is None or bill.cpu_system_ns is None else bill.cpu_user_ns + bill.cpu_system_ns
    for name, own_ns, column in (
        ("other", bill.other_ns, "other_ns"),
        ("CPU", cpu_ns, "cpu_ns"),
        ("cpu.wait", bill.cpu_wait_ns, "cpu_wait_ns"),
        ("loop.wait", bill.loop_wait_ns, "loop_wait_ns"),
        ("queue", bill.queue_ns, "queue_ns"),
    ):
        if own_ns is not None and sample[column]:
            found += _compared(name, "time_ns", own_ns, sample[column], small_ns, own_ns - median(sample[column]))
    failed = {each.component for each in found if each.counter == "errors" and each.value > each.usual}
    first = failed if bill.is_error else set[str]()
    return tuple(
        sorted(found, key=lambda each: (each.component not in first, -abs(each.difference_ns), each.component))
    )


def _compared(
    component: str, counter: Counter, value: float, others: Sequence[float], small: float, difference_ns: float
) -> list[Unusual]:
    """The counter if it is unusual; `small` is the least difference that is worth mentioning."""
    n, usual = len(others), median(others) if others else 0
    if n < FEWEST or abs(value - usual) < small:
        return []
    ordered = sorted(others)
    less, not_more = bisect_left(ordered, value), bisect_right(ordered, value)
    if min(n - less, not_more) > TAIL * n:
        return []
    quantile = (less + not_more) / 2 / n
    return [Unusual(component, counter, value, usual, value / usual if usual else None, quantile, difference_ns)]


def _counters(sample: Row) -> dict[tuple[str, str], list[int]]:
    """Component and counter → a number for each transaction of the sample; those that are 0 everywhere are left out."""
    n = sample["transactions"]
    counters: dict[tuple[str, str], list[int]] = {}
    for column, values in sample.items():
        if not isinstance(values, list) or not values:
            continue
        if isinstance(values[0], dict):
            for at, counted in enumerate(values):
                for key, number in counted.items():
                    if name := counter_of(column, key):
                        counters.setdefault(name, [0] * n)[at] = int(number)
        elif (name := counter_of(column)) and any(values):
            counters[name] = values
    return counters


def _rare(row: Row, own: Mapping[str, str], others: int) -> Iterable[Rare]:
    names: tuple[Literal["status", "host", "version"], ...] = ("status", "host", "version")
    for name in names:
        share = (int(row[f"same_{name}"]) - 1) / others
        usual, usual_count = row[f"usual_{name}"], int(row[f"usual_{name}_count"])
        is_evenly_spread = share * int(row[f"different_{name}"]) > _LEAST_OF_EVEN
        if share <= RARE and not is_evenly_spread and usual != own[name]:
            yield Rare(name, own[name], max(share, 0.0), usual, min(usual_count / others, 1.0))


def _steps(counts: Mapping[int, int]) -> Iterable[Step]:
    """All steps between the shortest and the longest transaction, also empty ones, at most _MOST_STEPS."""
    wide = 1
    while counts and max(counts) // wide - min(counts) // wide >= _MOST_STEPS:
        wide *= 2
    merged: dict[int, int] = {}
    for step, number in counts.items():
        merged[step // wide] = merged.get(step // wide, 0) + number
    edges = range(min(merged, default=0), max(merged, default=-1) + 2)
    for step, following in pairwise(edges):
        yield Step(_edge_ns(step * wide), _edge_ns(following * wide), merged.get(step, 0))


def _edge_ns(step: int) -> float:
    return float(2 ** (step / _STEPS) - 1)


def _status(bill: Bill) -> str:
    return str(bill.http_status) if bill.http_status else "failed" if bill.is_error else "succeeded"
