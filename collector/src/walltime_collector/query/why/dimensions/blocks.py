"""Reads sums over blocks of time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ....clickhouse.engine import Parameter
from ...queries import run
from ...statistics.estimates import BLOCKS
from ..reading import Reading


def read(
    reading: Reading, query: str, columns: Sequence[str], values: int, **more: Parameter
) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """
    The usual and the slow sums of each value from 0 on: a row for each column, a column for each of BLOCKS.

    Each window is cut into BLOCKS of equal time; the last one has the rest of the window.

    Args:
        query: Of queries/why/dimensions, with a row for each `value`, `is_slow` and `block`.
        more: Its parameters, also instead of those of `reading`.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    windows = (("usual", reading.compared.usual), ("slow", reading.compared.slow))
    lengths = {f"{side}_block_ns": max(each.length_ns // BLOCKS, 1) for side, each in windows}
    sums = np.zeros((values, 2, len(columns), BLOCKS))
    for row in run(reading.engine, f"why/dimensions/{query}", **{**reading.params, **lengths, **more}):
        block = min(int(row["block"]), BLOCKS - 1)
        sums[int(row["value"]), int(row["is_slow"]), :, block] += [row[each] for each in columns]
    return [(usual, slow) for usual, slow in sums]


def length(reading: Reading) -> float:
    """Of the usual side as a multiple of the slow one: in time or in transactions, whichever is less."""
    usual, slow = (max(each.length_ns, 1) for each in (reading.compared.usual, reading.compared.slow))
    return min(usual / slow, reading.usual.transactions / reading.slow.transactions)
