"""A transaction among the others of its kind: its place in the distribution of durations, and what is unusual."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...clickhouse.engine import Engine
from ...conversion import from_row
from ...format import iso_time, unix_ns
from ..answers import Bill
from ..components import Component, counter_of
from ..queries import Row, run
from ..sampled import sampled
from ..scope import Filters, Scope
from ..windows import Window

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
_STEPS = 8
"""Of the distribution, from a duration to twice as long."""
_MOST_STEPS = 64
_LEAST_OF_EVEN = 0.2
"""A value is rare when its share is also smaller than this part of what it were if all values were equally frequent."""

Counter = Literal["time_ns", "calls", "per_call_ns", "misses", "errors"]
_COUNTERS: tuple[Counter, ...] = ("time_ns", "calls", "misses", "errors")
_Numbers = NDArray[Any]


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
    started_ns, filters = unix_ns(bill.started_at), Filters(service=bill.service, kind=bill.name)
    own = {"status": _status(bill), "host": bill.host, "version": bill.version}
    for around_s in _AROUND_S:
        window = Window(max(started_ns - around_s * _S, 0), started_ns + around_s * _S)
        of_kind = Scope(window, filters).parameters()
        row = run(engine, "place/durations", **{**of_kind, **own}, duration_ns=bill.duration_ns)[0]
        if row["others"] >= FEWEST:
            break
    others, is_enough = row["others"], row["others"] >= FEWEST
    sample = _sample(engine, bill, Scope(window, filters), others) if is_enough else {}
    return from_row(
        Place,
        row,
        since=iso_time(window.start_ns),
        until=iso_time(window.end_ns),
        quantile=(row["shorter"] + row["equal"] / 2) / others if is_enough else None,
        steps=tuple(_steps(dict(zip(row["steps"], row["of_steps"], strict=True)))),
        sampled=sample.get("transactions", 0),
        unusual=unusual(bill, sample, row["p50_ns"]) if is_enough else (),
        rare=tuple(_rare(row, own)) if is_enough else (),
    )


def _sample(engine: Engine, bill: Bill, scope: Scope, others: int) -> Row:
    """The counters of about SAMPLED others."""
    scope = sampled(engine, scope, is_for_calls=True)
    every = max(round(others / scope.one_in / SAMPLED), 1)
    return run(engine, "place/sample", **scope.parameters(), span_id=bill.span_id, every=every)[0]


def unusual(bill: Bill, sample: Row, usual_ns: int) -> tuple[Unusual, ...]:
    """
    What differs from the others.

    Args:
        sample: The row of queries/place/sample.sql.
        usual_ns: The usual duration.
    """
    small_ns = _SMALL * max(bill.duration_ns, usual_ns)
    found: list[Unusual] = []
    columns_of = _counters(sample)
    zeros = np.zeros(sample["transactions"])
    own = {each.name: each for each in bill.components}
    for name in dict.fromkeys([*own, *(component for component, _ in columns_of)]):
        component = own.get(name, Component(name))
        columns = {counter: columns_of.get((name, counter), zeros) for counter in _COUNTERS}
        difference_ns = float(component.time_ns - np.median(columns["time_ns"]))
        for counter, others in columns.items():
            small = small_ns if counter == "time_ns" else max(1, _SMALL * float(np.median(others)))
            found += _compared(name, counter, getattr(component, counter), others, small, difference_ns)
        if calls := component.calls:
            is_called = columns["calls"] > 0
            each_ns = columns["time_ns"][is_called] / columns["calls"][is_called]
            found += _compared(name, "per_call_ns", component.time_ns / calls, each_ns, small_ns / calls, difference_ns)
    cpu_ns = None if bill.cpu_user_ns is None or bill.cpu_system_ns is None else bill.cpu_user_ns + bill.cpu_system_ns
    for name, own_ns, column in (
        ("other", bill.other_ns, "other_ns"),
        ("CPU", cpu_ns, "cpu_ns"),
        ("cpu.wait", bill.cpu_wait_ns, "cpu_wait_ns"),
        ("loop.wait", bill.loop_wait_ns, "loop_wait_ns"),
        ("queue", bill.queue_ns, "queue_ns"),
    ):
        if own_ns is not None and sample[column]:
            others = np.array(sample[column], float)
            found += _compared(name, "time_ns", own_ns, others, small_ns, float(own_ns - np.median(others)))
    failed = {each.component for each in found if each.counter == "errors" and each.value > each.usual}
    first = failed if bill.is_error else set[str]()
    return tuple(
        sorted(found, key=lambda each: (each.component not in first, -abs(each.difference_ns), each.component))
    )


def _compared(
    component: str, counter: Counter, value: float, others: _Numbers, small: float, difference_ns: float
) -> Iterable[Unusual]:
    """The counter if it is unusual; `small` is the least difference that is worth mentioning."""
    usual = float(np.median(others)) if len(others) else 0.0
    if len(others) < FEWEST or abs(value - usual) < small:
        return
    not_less, not_more = np.count_nonzero(others >= value), np.count_nonzero(others <= value)
    if min(not_less, not_more) <= TAIL * len(others):
        quantile = (1 + (not_more - not_less) / len(others)) / 2
        yield Unusual(component, counter, value, usual, value / usual if usual else None, quantile, difference_ns)


def _counters(sample: Row) -> dict[tuple[str, str], _Numbers]:
    """Component and counter → a number for each transaction of the sample; those that are 0 everywhere are left out."""
    counters: dict[tuple[str, str], _Numbers] = {}
    for column, values in sample.items():
        if not isinstance(values, list) or not values:
            continue
        if isinstance(values[0], dict):
            for at, counted in enumerate(values):
                for key, number in counted.items():
                    if name := counter_of(column, key):
                        counters.setdefault(name, np.zeros(len(values)))[at] = number
        elif (name := counter_of(column)) and any(values):
            counters[name] = np.array(values, float)
    return counters


def _rare(row: Row, own: Mapping[str, str]) -> Iterable[Rare]:
    names: tuple[Literal["status", "host", "version"], ...] = ("status", "host", "version")
    for name in names:
        share, usual = (row[f"same_{name}"] - 1) / row["others"], row[f"usual_{name}"]
        is_evenly_spread = share * row[f"different_{name}"] > _LEAST_OF_EVEN
        if share <= RARE and not is_evenly_spread and usual != own[name]:
            usual_share = min(row[f"usual_{name}_count"] / row["others"], 1.0)
            yield Rare(name, own[name], max(share, 0.0), usual, usual_share)


def _steps(counts: Mapping[int, int]) -> Iterable[Step]:
    """All steps between the shortest and the longest transaction, also empty ones, at most _MOST_STEPS."""
    if not counts:
        return
    wide, first, last = 1, min(counts), max(counts)
    while last // wide - first // wide >= _MOST_STEPS:
        wide *= 2
    for step in range(first // wide, last // wide + 1):
        inside = range(step * wide, (step + 1) * wide)
        yield Step(_edge_ns(inside.start), _edge_ns(inside.stop), sum(counts.get(each, 0) for each in inside))


def _edge_ns(step: int) -> float:
    return float(2 ** (step / _STEPS) - 1)


def _status(bill: Bill) -> str:
    return str(bill.http_status) if bill.http_status else "failed" if bill.is_error else "succeeded"
