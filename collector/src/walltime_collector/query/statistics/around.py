"""How far a bad time extends around its worst step."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def around(worst: int, is_bad: NDArray[np.bool_], is_known: NDArray[np.bool_]) -> tuple[int, int]:
    """The first and the last bad step around the worst one; steps of which nothing is known do not end it."""
    good = np.flatnonzero(is_known & ~is_bad)
    following = int(np.searchsorted(good, worst))
    start = int(good[following - 1]) + 1 if following else 0
    bad = start + np.flatnonzero((is_bad & is_known)[start : good[following] if following < len(good) else None])
    return int(bad[0]), int(bad[-1])
