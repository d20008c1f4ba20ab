"""Measures how the CPU time of a call grows with its input: by ratios within one run, never by an absolute limit."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

_FACTOR = 4
_LINEAR_S = 0.004
"""Less than this is not measured: no input of the sizes below takes so long in linear time."""
_STEEP = 2.2
"""A time that grows this much faster than the input is quadratic: that would be _FACTOR times as fast."""
_TRIES = 3


def is_steep(call: Callable[[Any], object], make: Callable[[int], Any], size: int) -> bool:
    """Whether the time of `call(make(n))` grows clearly faster than n, from `size` to _FACTOR times `size`."""
    if _cpu_s(call, make(size)) < _LINEAR_S:
        return False
    for _ in range(_TRIES):  # a neighbour on the machine can make one measurement slow, not all of them
        small_s, large_s = (min(_cpu_s(call, make(each)) for _ in range(2)) for each in (size, _FACTOR * size))
        if large_s < _FACTOR * _STEEP * small_s:
            return False
    return True


def _cpu_s(call: Callable[[Any], object], argument: Any) -> float:
    started_s = time.thread_time()
    call(argument)
    return time.thread_time() - started_s
