"""
Whether more calls of a component follow lost lookups of a cache: the evidence is inside of transactions.

Two things that change at the same time may be unrelated. Two estimates say how many calls a lost lookup brings: kept
calls (what stands behind lookups that lost, and behind those that hit) and bills (transactions that look up as many
keys, at the same time, in the same version). Both compare only where nothing else changed, and those that are precise
must agree.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...components import LOOKUPS
from ...queries import Row, run
from ...statistics import SUPPORT
from ...statistics.estimates import Estimate, slope
from ..answer import Contribution, Cost
from ..reading import Reading
from .behind import Behind, kept

Outcome = Literal["because", "same_time", ""]
"""because: most of the change follows lost lookups. same_time: caches lose more as well; `Lookups.follow` is shown."""
_MOST = 3_000
"""Transactions of each side that are read."""
_ENOUGH = 0.5
_PRECISE = 0.19
"""A standard error up to this part of the change: then a half of it is beyond chance (p = 0.004)."""
_BEYOND_CHANCE = 3.5
_ALIKE = 0.05
_WORTH_SAYING = 0.2
"""A coincidence with fewer lost lookups, as a part of the additional calls, is none."""
_RARE = 0.25
_STRETCHES, _NEAR, _CLUSTERS = (24, 16), (6, 64), (2, 64)
"""A side is cut into stretches of at least so many transactions, and at most so many of them."""
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
    sides: Numbers
    """What is compared apart: 1 on the slow side; 0 for all when the slowest were chosen, which is no other time."""
    controls: Sequence[Labels]
    """Of each dimension the label of each transaction's value."""
    behind: Sequence[Behind]
    lost_more: Estimate
    """Lost lookups per transaction, more than usual."""


def read(reading: Reading) -> Transactions | None:
    """
    What the evidence is found in; None when the caches lose as many lookups as usual, or there are none.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    if not any(_lost(each) for each in reading.targets if each.component in LOOKUPS):
        return None
    several, compared = [reading.usual.transactions, reading.slow.transactions], reading.compared
    if compared.slowest_percent is not None:
        several = [sum(several) // 2] * 2
    usual_every, slow_every = (math.ceil(each / _MOST) for each in several)
    every = {"usual_every": usual_every, "slow_every": slow_every}
    rows = run(reading.engine, "why/lost_lookups", **reading.params, **every, limit=_MOST)
    found = observed(rows, is_one_time=compared.slowest_percent is not None)
    if not abs(found.lost_more.size) > _BEYOND_CHANCE * found.lost_more.error:
        return None
    return replace(found, behind=[*kept(reading, found.rows)])


def observed(rows: Sequence[Row], behind: Sequence[Behind] = (), *, is_one_time: bool = False) -> Transactions:
    """Rows of queries/why/lost_lookups.sql, by side and time."""
    rows = sorted(rows, key=lambda row: (row["is_slow"] and not is_one_time, row["started_ns"]))
    is_slow, lost = (np.array([row[column] for row in rows], float) for column in ("is_slow", "lost"))
    sides = is_slow * (not is_one_time)
    more = slope(is_slow, lost, np.zeros(len(rows), np.int64), _stretches(sides, *_CLUSTERS))
    return Transactions(rows, sides, [*_controls(rows)], behind, more)


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
    if not amount and lost < _WORTH_SAYING * abs(change):
        return Lookups()
    showing = [each for each in transactions.behind if each.lost and part.component in {call[0] for call in each.calls}]
    return Lookups(
        outcome,
        tuple(changed),
        steady=tuple(each for each in others if _answers_as_usual(each.target)),
        abandoned=tuple(each for each in others if _is_abandoned(each.target)),
        follow=amount,
        traces=tuple(dict.fromkeys(str(transactions.rows[each.transaction]["trace"]) for each in showing))[:3],
    )


def follow(component: str, change: float, of: Transactions) -> tuple[float, Outcome]:
    """How many of the additional calls follow lost lookups; the most careful estimate decides whether they are why."""
    factor = of.lost_more.size / change
    error = _PRECISE / factor
    found = [*_precise(_in_bills(component, of), of.controls, error)]
    found += _precise(_in_bills(component, of, is_by_time=True) if found else None, (), error)
    alone = np.arange(len(of.rows))
    found += _precise(_in_kept(component, of, by_side=True), [*of.controls, alone], error)
    if not found:  # one side loses all lookups, and the other none
        found = [*_precise(_in_kept(component, of, by_side=False), (), error)]
    if not found:
        return 0.0, "same_time"
    least, best = min(found, key=lambda each: each.size), min(found, key=lambda each: each.error)
    is_why = factor * least.size >= _ENOUGH
    is_certain = best.size > _BEYOND_CHANCE * best.error
    are_alike = best.size - least.size <= 2 * (least.error + best.error) + _ALIKE * best.size
    share = min(factor * best.size, 1.0) if is_why or (is_certain and are_alike) else 0.0
    return share * abs(change), "because" if is_why else "same_time"


def _precise(observed: Observed | None, controls: Sequence[Labels], error: float) -> Iterator[Estimate]:
    """The slope, and the slopes with each dimension held constant, when they have at most this error."""
    if observed is None:
        return
    x, y, groups, clusters, rows = observed
    first = slope(x, y, groups, clusters)
    if first.error <= error:
        yield first
        others = (slope(x, y, _labels(groups, each[rows]), clusters) for each in controls)
        yield from (each for each in others if each.error <= error)


def _in_bills(component: str, of: Transactions, *, is_by_time: bool = False) -> Observed:
    """
    Lost lookups and calls of transactions that look up equally many keys, at about the same time, in the same version.

    By time it is of nearer neighbours, whatever they look up: of both there are too few.
    """
    column = f"{component.replace('.', '_')}_calls"
    calls = [row[column] if column in row else row["custom_calls"].get(component, 0) for row in of.rows]
    groups = _stretches(of.sides, *_NEAR)
    if not is_by_time:
        alike = [(row["version"], row["lookups"]) for row in of.rows]
        groups = _labels(_stretches(of.sides, *_STRETCHES), alike)
    lost = np.array([row["lost"] for row in of.rows], float)
    return lost, np.array(calls, float), groups, _stretches(of.sides, *_CLUSTERS), np.arange(len(of.rows))


def _in_kept(component: str, of: Transactions, *, by_side: bool) -> Observed | None:
    """
    Lost keys and calls behind lookups of one prefix and number of keys; also of one side and version, or else only the
    calls until the value is stored. Statements that are often behind hits do not count: they are sent anyway.
    """
    if len({each.transaction for each in of.behind}) < SUPPORT:
        return None
    rows = np.array([each.transaction for each in of.behind], np.int64)
    groups = _labels([each.prefix for each in of.behind], [each.keys for each in of.behind])
    if by_side:
        groups = _labels(groups, [(of.sides[at], of.rows[at]["version"]) for at in rows])
    lookups, texts = Counter[tuple[str, bool]](), Counter[tuple[str, str, bool]]()
    for each in of.behind:
        lookups[each.prefix, each.lost > 0] += 1
        texts.update((each.prefix, text, each.lost > 0) for _, text, _ in each.calls)

    def is_counted(prefix: str, text: str) -> bool:
        behind_hits = texts[prefix, text, False] * lookups[prefix, True]
        return behind_hits <= _RARE * texts[prefix, text, True] * lookups[prefix, False]

    calls = [
        sum(
            called == component and (by_side or is_stored) and is_counted(each.prefix, text)
            for called, text, is_stored in each.calls
        )
        for each in of.behind
    ]
    return np.array([each.lost for each in of.behind], float), np.array(calls, float), groups, rows, rows


def _controls(rows: Sequence[Row]) -> Iterator[Labels]:
    """The label of each transaction's value, of each dimension whose values have several transactions."""
    annotations = {key for row in rows for key in row["annotations"]}
    columns = [[row[name] for row in rows] for name in ("host", "method", "status", "user")]
    columns += [[row["annotations"].get(key, "") for row in rows] for key in sorted(annotations)]
    for column in columns:
        if 1 < len(set(column)) <= len(rows) / _VALUES:
            yield _labels(column)


def _labels(*columns: Sequence[object] | NDArray[Any]) -> Labels:
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
