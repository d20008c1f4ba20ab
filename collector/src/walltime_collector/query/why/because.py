"""
Whether more calls of a component follow lost lookups of a cache: the evidence is inside of transactions.

Two things that change at the same time may be unrelated. Two estimates say how many calls a lost lookup brings: kept
calls (what stands behind lookups that lost, and behind those that hit) and bills (transactions that look up as many
keys, at the same time, in the same version). Both compare only where nothing else changed, and those that are precise
must agree.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..queries import Row, run
from ..statistics import SUPPORT
from ..statistics.slope import Slope, slope
from .answer import Contribution, Cost
from .behind import LOOKUPS, Behind, kept
from .reading import Reading

Outcome = Literal["because", "same_time", ""]
"""because: most of the change follows lost lookups. same_time: caches lose more as well; `Lookups.follow` is shown."""
_MOST = 3_000
"""Transactions of each side that are read."""
_ENOUGH = 0.5
_PRECISE = 0.15
"""A standard error up to this part of the change: then a half of it is beyond chance, at less than 1 in 1,000."""
_BEYOND_CHANCE = 3.5
_ALIKE = 0.05
_STRETCH, _MOST_STRETCHES, _CLUSTERS = 24, 16, 64
"""A side is cut into stretches of at least so many transactions, which are compared with themselves."""
_VALUES = 5
"""Transactions of a value, on average: a dimension with fewer cannot be held constant."""
STEADY_HITS = 0.05
"""A hit ratio that differs by less is as usual."""

Numbers = NDArray[np.float64]
Labels = NDArray[np.int64]
Observed = tuple[Numbers, Numbers, Labels, Labels, Labels]
"""Lost lookups, calls, group, cluster, and transaction, of each observation."""


@dataclass(frozen=True)
class Lookup:
    """A cache on one server. Lost lookups are misses and failed calls."""

    target: Contribution
    lost: float
    """Per transaction, more than usual."""


@dataclass(frozen=True)
class Lookups:
    """The caches that lose more (or fewer) lookups while the calls of a component change, and whether that is why."""

    outcome: Outcome = ""
    changed: tuple[Lookup, ...] = ()
    """Those that lose more than usual, the most first; fewer, where the calls are fewer."""
    steady: tuple[Lookup, ...] = ()
    """Those with the usual hit ratio."""
    abandoned: tuple[Lookup, ...] = ()
    """Those with hardly any calls: their keys are looked up on the others."""
    follow: float = 0.0
    """So many of the additional calls per transaction follow lost lookups; 0 when that is not beyond chance."""
    kept: int = 0
    """Kept transactions whose calls show it."""
    traces: tuple[str, ...] = ()
    """Some of those in which calls stand behind a lost lookup."""

    @property
    def losing(self) -> tuple[Lookup, ...]:
        """Those that are the reason."""
        return self.changed if self.outcome == "because" else ()


@dataclass(frozen=True)
class Transactions:
    """A sample of both sides, in the order of time, and the lookups of those that were kept."""

    rows: Sequence[Row]
    controls: Sequence[Labels]
    """Of each dimension the label of each transaction's value."""
    behind: Sequence[Behind]
    lost_more: Slope
    """Lost lookups per transaction, more than usual."""


def read(reading: Reading) -> Transactions | None:
    """
    What the evidence is found in; None when the caches lose as many lookups as usual, or there are none.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    if not any(_lost(each) for each in reading.targets if each.component in LOOKUPS):
        return None
    sides = ("usual", reading.usual), ("slow", reading.slow)
    every = {f"{name}_every": math.ceil(side.transactions / _MOST) for name, side in sides}
    rows = run(reading.engine, "why/lost_lookups", **reading.params, **every, limit=_MOST)
    more = lost_more(rows)
    if not abs(more.size) > _BEYOND_CHANCE * more.error:
        return None
    return Transactions(rows, [*controls(rows)], [*kept(reading, rows)], more)


def lost_more(rows: Sequence[Row]) -> Slope:
    """Lost lookups per transaction, more than usual."""
    is_slow, lost = (np.array([row[column] for row in rows], float) for column in ("is_slow", "lost"))
    return slope(is_slow, lost, np.zeros(len(rows), np.int64), _stretches(is_slow, 2, _CLUSTERS))


def lookups(part: Contribution, reading: Reading, transactions: Transactions | None) -> Lookups:
    """The caches that change together with the calls of this component, and whether that is why."""
    change = part.slow.calls_per_transaction - part.usual.calls_per_transaction
    if transactions is None or part.component in LOOKUPS or change * transactions.lost_more.size <= 0:
        return Lookups()
    sign = 1 if change > 0 else -1
    caches = [Lookup(each, _lost(each)) for each in reading.targets if each.component in LOOKUPS]
    lost = sum(each.lost * sign for each in caches if each.lost * sign > 0)
    changed = sorted(
        (each for each in caches if each.lost * sign >= max(0.2 * lost, 1e-9)), key=lambda each: -abs(each.lost)
    )
    others = [each for each in caches if each not in changed]
    if not changed:
        return Lookups()
    amount, outcome = follow(part.component, change, transactions)
    showing = [
        each for each in transactions.behind if each.lost and part.component in {called for called, _, _ in each.calls}
    ]
    return Lookups(
        outcome,
        tuple(changed),
        steady=tuple(each for each in others if _answers_as_usual(each.target)),
        abandoned=tuple(each for each in others if _is_abandoned(each.target)),
        follow=amount,
        kept=len({each.transaction for each in transactions.behind}),
        traces=tuple(dict.fromkeys(str(transactions.rows[each.transaction]["trace"]) for each in showing))[:3],
    )


def follow(component: str, change: float, of: Transactions) -> tuple[float, Outcome]:
    """How many of the additional calls follow lost lookups; the most careful estimate decides whether they are why."""
    factor = of.lost_more.size / change
    found = [*_precise(_in_bills(component, of), of.controls, _PRECISE / factor)]
    alone = np.arange(len(of.rows))
    found += _precise(_in_kept(component, of, by_side=True), [*of.controls, alone], _PRECISE / factor)
    if not found:  # one side loses all lookups, and the other none
        found = [*_precise(_in_kept(component, of, by_side=False), (), _PRECISE / factor)]
    if not found:
        return 0.0, "same_time"
    least, best = min(found, key=lambda each: each.size), min(found, key=lambda each: each.error)
    is_why = factor * least.size >= _ENOUGH
    is_certain = best.size > _BEYOND_CHANCE * best.error
    are_alike = best.size - least.size <= 2 * (least.error + best.error) + _ALIKE * best.size
    share = min(factor * best.size, 1.0) if is_why or (is_certain and are_alike) else 0.0
    return share * abs(change), "because" if is_why else "same_time"


def _precise(observed: Observed | None, controls: Sequence[Labels], error: float) -> Iterator[Slope]:
    """The slope, and the slopes with each dimension held constant, when they have at most this error."""
    if observed is None:
        return
    x, y, groups, clusters, rows = observed
    first = slope(x, y, groups, clusters)
    if first.error <= error:
        yield first
        others = (slope(x, y, _labels(groups, each[rows]), clusters) for each in controls)
        yield from (each for each in others if each.error <= error)


def _in_bills(component: str, of: Transactions) -> Observed:
    """Lost lookups and calls of transactions that look up equally many keys, at the same time, in the same version."""
    column = f"{component.replace('.', '_')}_calls"
    calls = [row[column] if column in row else row["custom_calls"].get(component, 0) for row in of.rows]
    is_slow = np.array([row["is_slow"] for row in of.rows], float)
    groups = _labels(
        _stretches(is_slow, _STRETCH, _MOST_STRETCHES),
        [row["version"] for row in of.rows],
        [row["lookups"] for row in of.rows],
    )
    lost = np.array([row["lost"] for row in of.rows], float)
    return lost, np.array(calls, float), groups, _stretches(is_slow, 2, _CLUSTERS), np.arange(len(of.rows))


def _in_kept(component: str, of: Transactions, *, by_side: bool) -> Observed | None:
    """
    Lost keys and calls behind lookups of one prefix and number of keys, also of one side and version.

    Otherwise only calls count that stand between a lost lookup and the store of its value, and never behind a hit.
    """
    if len({each.transaction for each in of.behind}) < SUPPORT:
        return None
    groups = _labels([each.prefix for each in of.behind], [each.keys for each in of.behind])
    if by_side:
        owners = [of.rows[each.transaction] for each in of.behind]
        groups = _labels(groups, [row["is_slow"] for row in owners], [row["version"] for row in owners])
    hits = {(each.prefix, text) for each in of.behind if not each.lost for _, text, _ in each.calls}
    calls = [
        sum(
            called == component and (by_side or (is_stored and (each.prefix, text) not in hits))
            for called, text, is_stored in each.calls
        )
        for each in of.behind
    ]
    rows = np.array([each.transaction for each in of.behind], np.int64)
    return np.array([each.lost for each in of.behind], float), np.array(calls, float), groups, rows, rows


def controls(rows: Sequence[Row]) -> Iterator[Labels]:
    """The label of each transaction's value, of each dimension whose values have several transactions."""
    annotations = {key for row in rows for key in row["annotations"]}
    columns = [[row[name] for row in rows] for name in ("host", "method", "status", "user")]
    columns += [[row["annotations"].get(key, "") for row in rows] for key in sorted(annotations)]
    for column in columns:
        if 1 < len(set(column)) <= len(rows) / _VALUES:
            yield _labels(column)


def _labels(*columns: Sequence[object] | Labels) -> Labels:
    """A number from 0 for each combination of values."""
    seen: dict[tuple[object, ...], int] = {}
    return np.array([seen.setdefault(values, len(seen)) for values in zip(*columns, strict=True)], np.int64)


def _stretches(is_slow: Numbers, least: int, most: int) -> Labels:
    """Each side, which is in the order of time, in up to `most` parts of at least so many transactions."""
    slow = int(is_slow.sum())
    parts = [np.arange(n) * max(min(most, n // least), 1) // max(n, 1) for n in (len(is_slow) - slow, slow)]
    return np.concatenate([parts[0], parts[1] + most]).astype(np.int64)


def _lost(target: Contribution) -> float:
    slow, usual = target.slow, target.usual
    if not (slow.calls and usual.calls):
        return 0.0  # used on one side only: its keys are counted on the servers that they moved to
    now = (slow.misses + slow.errors) / slow.calls * slow.calls_per_transaction
    return now - (usual.misses + usual.errors) / usual.calls * usual.calls_per_transaction


def _is_abandoned(target: Contribution) -> bool:
    return target.slow.calls_per_transaction < 0.2 * target.usual.calls_per_transaction


def _answers_as_usual(target: Contribution) -> bool:
    changed = abs(hit_ratio(target.slow) - hit_ratio(target.usual))
    return target.slow.calls > 0 and not _is_abandoned(target) and changed < STEADY_HITS


def hit_ratio(cost: Cost) -> float:
    """0 without lookups."""
    return cost.hits / (cost.hits + cost.misses) if cost.hits + cost.misses else 0.0
