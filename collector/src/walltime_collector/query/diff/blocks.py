"""Cuts both sides of `diff` into slices of time, for the tests of chance: of all kinds in one query a side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import mean
from typing import Literal

from ...clickhouse.engine import Engine
from ..queries import run
from ..scope import MINUTE_S, Scope
from ..why.chance import FEWEST, FINEST_BLOCKS, Block
from ..windows import Window

Name = tuple[str, str]
"""Service and name of a kind."""
Counted = Literal["total_ns", "errors"]

_MOST_SLICES = 1_024
"""Of more slices, that many are read, spread over the whole time."""
_MINUTE_NS = MINUTE_S * 10**9


@dataclass(frozen=True)
class Slice:
    """What one kind did in a slice of time."""

    transactions: int
    errors: int
    total_ns: int


@dataclass(frozen=True)
class Blocks:
    """The slices of both sides, by kind, in the order of time."""

    usual: dict[Name, list[Slice]]
    now: dict[Name, list[Slice]]

    def of(self, name: Name, counted: Counted) -> tuple[list[Block], list[Block]] | None:
        """
        Blocks of both sides of about equally many transactions, so that they can be exchanged.

        None when one side has too few transactions, or all of them at the same time.
        """
        sides = self.usual.get(name, []), self.now.get(name, [])
        transactions = [sum(each.transactions for each in side) for side in sides]
        if min(transactions) < FEWEST:
            return None
        size = max(min(transactions) / FINEST_BLOCKS, *(mean(each.transactions for each in side) for side in sides))
        usual, now = (_joined(side, counted, size) for side in sides)
        return (usual, now) if min(len(usual), len(now)) > 1 else None


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
    read = (_slices(engine, scope, length, is_in_minutes) for scope, length in zip(scopes, lengths, strict=True))
    return Blocks(*read)


def _shortened(engine: Engine, scope: Scope) -> Scope:
    """The same with the part of its window that has transactions: of a new version it can be a small one."""
    (span,) = run(engine, "timeline/span", **scope.parameters())
    return replace(scope, window=Window(int(span["first_ns"]), int(span["last_ns"]) + 1))


def _slices(engine: Engine, scope: Scope, slice_ns: int, is_in_minutes: bool) -> dict[Name, list[Slice]]:
    every = -(-(scope.window.end_ns - scope.window.start_ns) // (slice_ns * _MOST_SLICES))
    divided = scope.divided(MINUTE_S if is_in_minutes else 1)
    slices: dict[Name, list[Slice]] = {}
    for row in run(engine, "timeline/slices", **divided, slice_ns=slice_ns, every=every):
        read = Slice(int(row["transactions"]), int(row["errors"]), int(row["total_ns"]))
        slices.setdefault((row["service"], row["name"]), []).append(read)
    return slices


def _joined(slices: Sequence[Slice], counted: Counted, size: float) -> list[Block]:
    """Neighbours are joined until a block has `size` transactions; what is left at the end is in the last block."""
    blocks: list[Block] = []
    rest = Block(0, 0)
    for each in slices:
        rest += Block(each.transactions, getattr(each, counted))
        if rest.transactions >= size:
            blocks.append(rest)
            rest = Block(0, 0)
    if rest.transactions and blocks:
        blocks[-1] += rest
    return blocks
