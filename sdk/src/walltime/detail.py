"""The decision at the end of a transaction: keep its calls one by one, and why, or only the bill."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from walltime.propagation import is_sampled

if TYPE_CHECKING:
    from walltime.hotpath import Transaction


class Detail:
    """
    Says for each finished transaction why its calls are kept: `random`, `upstream`, `error`, or '' when they are not.

    `random` is decided by the trace id alone, so it is a fair sample, the same in every service; analysis that needs a
    fair population uses it by itself. The other reasons have a limit per minute.
    """

    def __init__(self, probability: float, errors_per_minute: int) -> None:
        self.probability = probability
        self._errors = Allowance(errors_per_minute)

    def why_kept(self, transaction: Transaction) -> str:
        context = transaction.span_context
        if is_sampled(context.trace_id, self.probability):
            return "random"
        if context.trace_flags.sampled:
            return "upstream"
        if transaction.is_error and self._errors.take():
            return "error"
        return ""


class Allowance:
    """So many a minute, refilled evenly, with at most a minute's worth saved up."""

    def __init__(self, per_minute: int) -> None:
        self._per_minute = per_minute
        self._left = float(per_minute)
        self._refilled_s = time.monotonic()

    def take(self) -> bool:
        """Use one up; False when there is none."""
        now_s = time.monotonic()
        refill = (now_s - self._refilled_s) * self._per_minute / 60
        self._left = min(float(self._per_minute), self._left + refill)
        self._refilled_s = now_s
        if self._left < 1:
            return False
        self._left -= 1
        return True
