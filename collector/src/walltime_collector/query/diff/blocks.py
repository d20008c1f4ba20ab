"""Cuts both sides of `diff` into slices of time, for the tests of chance: of all kinds in two queries a side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ...clickhouse.engine import Engine
from ..queries import run
from ..scope import MINUTE_S, Scope
from ..statistics.blocks import FEWEST, FINEST_BLOCKS
from ..statistics.blocks import Blocks as Sums
from ..windows import Window

Name = tuple[str, str]
"""Service and name of a kind."""
Counted = Literal["typical", "singles", "errors"]
Slices = Mapping[Name, NDArray[np.float64]]
"""In the order of time, shape (slices, 6): _COLUMNS."""

_COLUMNS = ("slice", "transactions", "errors", "total_ns", "singles", "single_ns")
_MOST_SLICES = 1_024
"""Of more slices, that many are read, spread over the whole time."""
_MINUTE_NS = MINUTE_S * 10**9


@dataclass(frozen=True)
class Blocks:
    """The slices of both sides, by kind."""

    usual: Slices
    now: Slices
    lengths_ns: tuple[tuple[int, int], tuple[int, int]]
    """Of both sides, and of a slice of each."""
    bounds_ns: Mapping[Name, int]
    """Transactions of a kind that are longer are single ones (statistics/tails.py); the same on both sides."""

    def of(self, name: Name, counted: Counted) -> tuple[Sums, Sums] | None:
        """
        Blocks of both sides of about equally many transactions, so that they can be exchanged.

        None when one side has too few transactions, or all of them at the same time.

        Args:
            counted: The time of transactions that are not single ones, how many are single ones, or how many failed.
        """
        sides = [_counted(side[name], counted) for side in (self.usual, self.now) if name in side]
        if len(sides) < 2 or min(side[:, 0].sum() for side in sides) < FEWEST:
            return None
        size = max(
            min(side[:, 0].sum() for side in sides) / FINEST_BLOCKS, *(float(side[:, 0].mean()) for side in sides)
        )
        usual, now = (_joined(side, size) for side in sides)
        return (usual, now) if min(len(usual), len(now)) > 1 else None

    def singles(self, name: Name) -> tuple[tuple[int, float], tuple[int, float]]:
        """How many single ones a kind has on each side, and what they add to its mean."""
        usual, now = (_single(side[name].sum(0)) if name in side else (0, 0.0) for side in (self.usual, self.now))
        return usual, now

    def absent(self, name: Name, *, is_new: bool) -> float:
        """Of a kind on one side: in how much of its time a window as long as the other side has none of it."""
        (length_ns, slice_ns), (other_ns, _) = self.lengths_ns[::-1] if is_new else self.lengths_ns
        starts_ns = (self.now if is_new else self.usual)[name][:, 0] * slice_ns
        gaps_ns = np.diff(np.concatenate([[-slice_ns], starts_ns, [length_ns]])) - slice_ns
        return float(np.maximum(gaps_ns - other_ns, 0).sum() / max(length_ns - other_ns, 1))


def read_blocks(engine: Engine, usual: tuple[Scope, int], now: tuple[Scope, int]) -> Blocks:
    """
    Read them; each scope comes with the number of its transactions, which is not 0.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    fewer = min(usual[1], now[1])
    scopes = [_shortened(engine, scope) for scope, _ in (usual, now)]
    lengths = [
        max((scope.window.end_ns - scope.window.start_ns) * fewer // (FINEST_BLOCKS * transactions), 1)
        for scope, (_, transactions) in zip(scopes, (usual, now), strict=True)
    ]
    if is_in_minutes := min(lengths) >= _MINUTE_NS:
        lengths = [length // _MINUTE_NS * _MINUTE_NS for length in lengths]
    bounds_ns: dict[Name, int] = {}
    for scope in scopes:
        for row in run(engine, "diff/bounds", **scope.parameters()):
            name = (row["service"], row["name"])
            bounds_ns[name] = max(int(row["bound_ns"]), bounds_ns.get(name, 0))
    sides = [
        _slices(engine, scope, length, bounds_ns, is_in_minutes=is_in_minutes)
        for scope, length in zip(scopes, lengths, strict=True)
    ]
    (usual_ns, now_ns) = (scope.window.end_ns - scope.window.start_ns for scope in scopes)
    return Blocks(sides[0], sides[1], ((usual_ns, lengths[0]), (now_ns, lengths[1])), bounds_ns)


def _shortened(engine: Engine, scope: Scope) -> Scope:
    """The same with the part of its window that has transactions: of a new version it can be a small one."""
    (span,) = run(engine, "diff/span", **scope.parameters())
    return replace(scope, window=Window(int(span["first_ns"]), int(span["last_ns"]) + 1))


def _slices(
    engine: Engine, scope: Scope, slice_ns: int, bounds_ns: Mapping[Name, int], *, is_in_minutes: bool
) -> Slices:
    rows = run(
        engine,
        "diff/slices",
        **scope.divided(MINUTE_S if is_in_minutes else 1),
        slice_ns=slice_ns,
        every=-(-(scope.window.end_ns - scope.window.start_ns) // (slice_ns * _MOST_SLICES)),
        kinds=["\t".join(name) for name in bounds_ns],
        bounds_ns=list(bounds_ns.values()),
        least_bound_ns=min(bounds_ns.values(), default=0),
    )
    slices: dict[Name, list[list[float]]] = {}
    for row in rows:
        slices.setdefault((row["service"], row["name"]), []).append([float(row[column]) for column in _COLUMNS])
    return {name: np.array(each) for name, each in slices.items()}


def _counted(slices: NDArray[np.float64], counted: Counted) -> Sums:
    _, transactions, errors, total_ns, singles, single_ns = slices.T
    if counted == "typical":
        return np.column_stack([transactions - singles, total_ns - single_ns])
    return np.column_stack([transactions, errors if counted == "errors" else singles])


def _single(sums: NDArray[np.float64]) -> tuple[int, float]:
    _, transactions, _, total_ns, singles, single_ns = sums
    typical_ns = (total_ns - single_ns) / max(transactions - singles, 1)
    return int(singles), float(total_ns / max(transactions, 1) - typical_ns)


def _joined(slices: Sums, size: float) -> Sums:
    """Neighbours are joined until a block has about `size` transactions; what is left at the end is in the last one."""
    before = np.cumsum(slices[:, 0]) - slices[:, 0]
    number = np.minimum(before // size, max(before[-1] // size - 1, 0))
    return np.add.reduceat(slices, np.flatnonzero(np.diff(number, prepend=-1)))
