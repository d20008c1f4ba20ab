"""
Whether more calls of a component follow lost lookups of a cache: the evidence is inside of transactions.

Two things that change at the same time may be unrelated. Two estimates say how many calls a lost lookup brings: kept
calls (what stands behind lookups that lost, and behind those that hit) and bills (transactions that
look up as many keys, at the same time, in the same version). Both compare only where nothing else changed, and those
that are precise must agree.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...components import LOOKUPS
from ...queries import Row, run
from ...statistics import SUPPORT
from ...statistics.estimates import Estimate, slope
from ..answer import Contribution
from ..reading import Reading
from .behind import Behind, kept

_MOST = 3_000
"""Transactions of each side that are read."""
_ENOUGH = 0.5
_PRECISE = 0.19
"""A standard error up to this part of the change: then a half of it is beyond chance (p = 0.004)."""
_BEYOND_CHANCE = 3.5
_ALIKE = 0.05
_NAMED = 0.2
"""Of all lost lookups, by a cache."""
_WORTH_SAYING = 0.2
"""A coincidence with fewer lost lookups, as a part of the additional calls, is none."""
_RARE = 0.25
_STRETCHES, _CLUSTERS = (12, 32), (2, 64)
"""A side is cut into stretches of at least so many transactions, and at most so many of them."""
_VALUES = 5
"""Transactions of a value, on average: a dimension with fewer cannot be held constant."""
_ABANDONED = 0.2
STEADY_HITS = 0.05
"""A hit ratio that differs by less is as usual."""

Numbers = NDArray[np.float64]
Labels = NDArray[np.int64]


@dataclass(frozen=True)
class Lookups:
    """The caches that lose more (or fewer) lookups while the calls of a component change. Lost: misses and failures."""

    changed: tuple[Contribution, ...] = ()
    """Those that lose more than usual, the most first; fewer, where the calls are fewer."""
    is_why: bool = False
    """Most of the change follows lost lookups; else caches lose more at the same time."""
    follow: float = 0.0
    """So many of the additional calls per transaction follow lost lookups; 0 when that is not beyond chance."""
    steady: tuple[Contribution, ...] = ()
    """Those with the usual hit ratio."""
    abandoned: tuple[Contribution, ...] = ()
    """Those with hardly any calls: their keys are looked up on the others."""
    traces: tuple[str, ...] = ()
    """Some of those in which calls stand behind a lost lookup."""


@dataclass(frozen=True)
class Transactions:
    """A sample of both sides, in the order of time, and the lookups of those that were kept."""

    rows: Sequence[Row]
    sides: Numbers
    """What is compared apart: 1 on the slow side; 0 for all when the slowest were chosen, which is no other time."""
    lost_more: Estimate
    """Lost lookups per transaction, more than usual."""
    behind: Sequence[Behind]


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
    # the slowest are often of one moment, which is no reason to doubt what they have in common
    clusters = np.arange(len(rows)) if is_one_time else _stretches(sides, *_CLUSTERS)
    more = slope(is_slow, lost, np.zeros(len(rows), np.int64), clusters)
    return Transactions(rows, sides, more, behind)


def lookups(part: Contribution, reading: Reading, transactions: Transactions | None) -> Lookups:
    """The caches that change together with the calls of this component, and whether that is why."""
    change = part.more_calls
    if transactions is None or part.component in LOOKUPS or change * transactions.lost_more.size <= 0:
        return Lookups()
    caches = {each: math.copysign(1, change) * _lost(each) for each in reading.targets if each.component in LOOKUPS}
    lost = sum(each for each in caches.values() if each > 0)
    changed = [each for each in caches if caches[each] >= max(_NAMED * lost, 1e-9)]
    amount, is_why = follow(part.component, change, transactions)
    if not changed or (not amount and lost < _WORTH_SAYING * abs(change)):
        return Lookups()
    others = [each for each in caches if each not in changed]
    left = [each for each in others if each.slow.calls_per_transaction < _ABANDONED * each.usual.calls_per_transaction]
    as_usual = (each for each in others if abs(each.slow.hit_ratio - each.usual.hit_ratio) < STEADY_HITS)
    showing = [each for each in transactions.behind if each.lost and part.component in {call[0] for call in each.calls}]
    return Lookups(
        tuple(sorted(changed, key=lambda each: -caches[each])),
        is_why,
        amount,
        steady=tuple(each for each in as_usual if each.slow.calls and each not in left),
        abandoned=tuple(left),
        traces=tuple(dict.fromkeys(str(transactions.rows[each.transaction]["trace"]) for each in showing))[:3],
    )


def follow(component: str, change: float, of: Transactions) -> tuple[float, bool]:
    """How many of the additional calls follow lost lookups; the most careful estimate decides whether they are why."""
    factor = of.lost_more.size / change
    found: list[Estimate] = []
    sides = [*zip(of.sides, (row["version"] for row in of.rows), strict=True)]
    inside = [_in_kept(component, of, each) for each in (range(len(of.rows)), sides)]
    for estimates in (*_in_bills(component, of), *inside), (_in_kept(component, of),):
        # across sides only where one loses all lookups, and the other none
        found = found or [each for each in estimates if each.error <= _PRECISE / factor]
    if not found:
        return 0.0, False
    least, best = min(found, key=lambda each: each.size), min(found, key=lambda each: each.error)
    is_why = factor * least.size >= _ENOUGH
    is_certain = best.size > _BEYOND_CHANCE * best.error
    are_alike = best.size - least.size <= 2 * (least.error + best.error) + _ALIKE * best.size
    share = min(factor * best.size, 1.0) if is_why or (is_certain and are_alike) else 0.0
    return share * abs(change), is_why


def _in_bills(component: str, of: Transactions) -> Iterator[Estimate]:
    """
    In transactions that look up equally many keys, at about the same time, in the same version.

    Again with each dimension held constant whose values have several transactions.
    """
    column = f"{component.replace('.', '_')}_calls"
    calls = [row[column] if column in row else row["custom_calls"].get(component, 0) for row in of.rows]
    lost = np.array([row["lost"] for row in of.rows], float)
    clusters, stretches = (_stretches(of.sides, *each) for each in (_CLUSTERS, _STRETCHES))
    alike = [(at, row["version"], row["lookups"]) for at, row in zip(stretches, of.rows, strict=True)]
    yield slope(lost, np.array(calls, float), _labels(alike), clusters)
    columns = [[row[name] for row in of.rows] for name in ("host", "method", "status", "user")]
    for key in sorted({key for row in of.rows for key in row["annotations"]}):
        columns.append([row["annotations"].get(key, "") for row in of.rows])
    for values in columns:
        if 1 < len(set(values)) <= len(values) / _VALUES:
            yield slope(lost, np.array(calls, float), _labels([*zip(alike, values, strict=True)]), clusters)


def _in_kept(component: str, of: Transactions, alike: Sequence[object] = ()) -> Estimate:
    """
    Behind lookups of one prefix and number of keys; statements often behind hits do not count: they are sent anyway.

    Args:
        alike: Of each transaction what is compared apart; without it, only calls until the value is stored count.
    """
    if len({each.transaction for each in of.behind}) < SUPPORT:
        return Estimate(0.0)
    lookups, texts = Counter[tuple[str, bool]](), Counter[tuple[str, str, bool]]()
    for each in of.behind:
        lookups[each.prefix, each.lost > 0] += 1
        texts.update((each.prefix, text, each.lost > 0) for _, text, _ in each.calls)

    def is_counted(prefix: str, text: str) -> bool:
        behind_hits = texts[prefix, text, False] * lookups[prefix, True]
        return behind_hits <= _RARE * texts[prefix, text, True] * lookups[prefix, False]

    calls = [
        sum(
            called == component and (alike or is_stored) and is_counted(each.prefix, text)
            for called, text, is_stored in each.calls
        )
        for each in of.behind
    ]
    lost = np.array([each.lost for each in of.behind], float)
    rows = np.array([each.transaction for each in of.behind], np.int64)
    groups = [(each.prefix, each.keys, alike[each.transaction] if alike else 0) for each in of.behind]
    return slope(lost, np.array(calls, float), _labels(groups), rows)


def _labels(values: Sequence[object]) -> Labels:
    """A number from 0 for each value."""
    seen: dict[object, int] = {}
    return np.array([seen.setdefault(value, len(seen)) for value in values], np.int64)


def _stretches(is_slow: Numbers, least: int, most: int) -> Labels:
    """Each side, which is in the order of time, in up to `most` parts of at least so many transactions."""
    slow = int(is_slow.sum())
    parts = [np.arange(n) * max(min(most, n // least), 1) // max(n, 1) for n in (len(is_slow) - slow, slow)]
    return np.concatenate([parts[0], parts[1] + most]).astype(np.int64)


def _lost(target: Contribution) -> float:
    """Lookups per transaction, more than usual."""
    slow, usual = target.slow, target.usual
    if not (slow.calls and usual.calls):
        return 0.0  # used on one side only: its keys are counted on the servers that they moved to
    now = (slow.misses + slow.errors) / slow.calls * slow.calls_per_transaction
    return now - (usual.misses + usual.errors) / usual.calls * usual.calls_per_transaction
