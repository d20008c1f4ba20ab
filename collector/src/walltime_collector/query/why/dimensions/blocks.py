"""Reads sums over blocks of time: of values, with queries/why/dimensions/blocks.sql."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...queries import Row, run
from ...statistics.estimates import BLOCKS
from ...windows import Comparison
from ..reading import Reading
from ..values import Weights
from .effects import SUMS, Side


def lengths(compared: Comparison) -> dict[str, int]:
    """Parameters of queries that cut each window into BLOCKS of equal time."""
    windows = (("usual", compared.usual), ("slow", compared.slow))
    return {f"{side}_block_ns": max((each.end_ns - each.start_ns) // BLOCKS, 1) for side, each in windows}


def at(row: Row) -> int:
    """The block of a row; the last one has the rest of the window."""
    return min(int(row["block"]), BLOCKS - 1)


def length(reading: Reading) -> float:
    """Of the usual side as a multiple of the slow one: in time or in transactions, whichever is less."""
    usual, slow = (max(each.end_ns - each.start_ns, 1) for each in (reading.compared.usual, reading.compared.slow))
    return min(usual / slow, reading.usual.transactions / reading.slow.transactions)


def read(reading: Reading, rows: Sequence[Row], named: Sequence[int], weights: Weights) -> list[tuple[Side, Side]]:
    """Usual and slow of all transactions that have none of the named values, then of the value of each row."""
    sums = np.zeros((len(rows) + 1, 2, len(SUMS), BLOCKS))
    for row in run(
        reading.engine,
        "why/dimensions/blocks",
        **{**reading.params, **weights},
        **lengths(reading.compared),
        longest_ns=max(reading.usual.p99_ns, reading.slow.p99_ns),
        candidates=[int(row["hash"]) for row in rows],
        named=named,
    ):
        sums[int(row["value"]), int(row["is_slow"]), :, at(row)] += [row[name] for name in SUMS]
    return [(Side(usual, sums[0, 0]), Side(slow, sums[0, 1])) for usual, slow in sums]
