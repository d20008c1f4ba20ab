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
from ..statistics.blocks import FEWEST, FINEST_BLOCKS, Blocks
from ..windows import Window

Name = tuple[str, str]
"""Service and name of a kind."""
Counted = Literal["typical", "singles", "errors"]
"""The time of transactions that are not single ones, how many are single ones, or how many failed."""

_COLUMNS = ("slice", "transactions", "errors", "total_ns", "singles", "single_ns")
_NONE = np.zeros((0, len(_COLUMNS)))
_MOST_SLICES = 1_024
"""Of more slices, that many are read, spread over the whole time."""
_MINUTE_NS = MINUTE_S * 10**9


@dataclass(frozen=True)
class Slices:
    """One side."""

    kinds: Mapping[Name, NDArray[np.float64]]
    """In the order of time, shape (slices, 6): _COLUMNS."""
    length_ns: int
    slice_ns: int
    bounds_ns: Mapping[Name, int]
    """Transactions of a kind that are longer are single ones (statistics/tails.py); the same on both sides."""

    def counted(self, name: Name, counted: Counted) -> Blocks:
        """How many transactions of a kind each slice has, and their sum."""
        _, transactions, errors, total_ns, singles, single_ns = self.kinds.get(name, _NONE).T
        if counted == "typical":
            return np.column_stack([transactions - singles, total_ns - single_ns])
        return np.column_stack([transactions, errors if counted == "errors" else singles])

    def singles(self, name: Name) -> tuple[int, float]:
        """How many single ones a kind has, and what they add to its mean."""
        _, transactions, _, total_ns, singles, single_ns = self.kinds.get(name, _NONE).sum(0)
        typical_ns = (total_ns - single_ns) / max(transactions - singles, 1)
        return int(singles), float(total_ns / max(transactions, 1) - typical_ns)

    def absent(self, name: Name, length_ns: int) -> float:
        """In how much of its time a window of this length has none of a kind, even one in no slice that was read."""
        starts_ns = self.kinds.get(name, _NONE)[:, 0] * self.slice_ns
        gaps_ns = np.diff(np.concatenate([[-self.slice_ns], starts_ns, [self.length_ns]])) - self.slice_ns
        return float(np.maximum(gaps_ns - length_ns, 0).sum() / max(self.length_ns - length_ns, 1))


def blocks(usual: Blocks, now: Blocks) -> tuple[Blocks, Blocks] | None:
    """
    Slices joined to blocks of about equally many transactions on both sides, so that they can be exchanged.

    None when one side has too few transactions, or all of them at the same time.
    """
    sides = usual, now
    fewer = min(side[:, 0].sum() for side in sides)
    if fewer < FEWEST:
        return None
    size = max(fewer / FINEST_BLOCKS, *(float(side[:, 0].mean()) for side in sides))
    usual, now = (_joined(side, size) for side in sides)
    return (usual, now) if min(len(usual), len(now)) > 1 else None


def read_slices(engine: Engine, *sides: tuple[Scope, int]) -> tuple[Slices, Slices]:
    """
    Read the usual side and the other one; each comes with the number of its transactions.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    if not (fewer := min(transactions for _, transactions in sides)):
        return Slices({}, 0, 0, {}), Slices({}, 0, 0, {})
    scopes = [_shortened(engine, scope) for scope, _ in sides]
    lengths = [
        max(scope.window.length_ns * fewer // (FINEST_BLOCKS * transactions), 1)
        for scope, (_, transactions) in zip(scopes, sides, strict=True)
    ]
    step_s = 1
    if min(lengths) >= _MINUTE_NS:
        step_s, lengths = MINUTE_S, [length // _MINUTE_NS * _MINUTE_NS for length in lengths]
    bounds_ns: dict[Name, int] = {}
    for row in (each for scope in scopes for each in run(engine, "diff/bounds", **scope.parameters())):
        name = (row["service"], row["name"])
        bounds_ns[name] = max(int(row["bound_ns"]), bounds_ns.get(name, 0))
    usual, now = (
        _slices(engine, scope, length, bounds_ns, step_s) for scope, length in zip(scopes, lengths, strict=True)
    )
    return usual, now


def _shortened(engine: Engine, scope: Scope) -> Scope:
    """The same with the part of its window that has transactions: of a new version it can be a small one."""
    (span,) = run(engine, "diff/span", **scope.parameters())
    return replace(scope, window=Window(int(span["first_ns"]), int(span["last_ns"]) + 1))


def _slices(engine: Engine, scope: Scope, slice_ns: int, bounds_ns: Mapping[Name, int], step_s: int) -> Slices:
    rows = run(
        engine,
        "diff/slices",
        **scope.divided(step_s),
        slice_ns=slice_ns,
        every=-(-scope.window.length_ns // (slice_ns * _MOST_SLICES)),
        kinds=["\t".join(name) for name in bounds_ns],
        bounds_ns=list(bounds_ns.values()),
        least_bound_ns=min(bounds_ns.values(), default=0),
    )
    kinds: dict[Name, list[list[float]]] = {}
    for row in rows:
        kinds.setdefault((row["service"], row["name"]), []).append([float(row[column]) for column in _COLUMNS])
    arrays = {name: np.array(each) for name, each in kinds.items()}
    return Slices(arrays, scope.window.length_ns, slice_ns, bounds_ns)


def _joined(slices: Blocks, size: float) -> Blocks:
    """Neighbours are joined until a block has about `size` transactions; what is left at the end is in the last one."""
    before = np.cumsum(slices[:, 0]) - slices[:, 0]
    number = np.minimum(before // size, max(before[-1] // size - 1, 0))
    return np.add.reduceat(slices, np.flatnonzero(np.diff(number, prepend=-1)))
