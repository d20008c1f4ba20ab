"""The decision at the end of a transaction: keep its calls one by one, and why, or only the bill."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from walltime.export.quantile import KindsP99
from walltime.propagation.propagation import is_sampled

if TYPE_CHECKING:
    from walltime.core.transaction import Transaction
    from walltime.settings.settings import Settings


class Detail:
    """
    Says for each finished transaction why its calls are kept, or '' when they are not. In this order:

    random     the trace id says so: a fair sample, the same in every service
    forced     a header with the secret or `walltime.current().keep()` asked for it
    upstream   the caller's traceparent says sampled
    error      it failed
    slow       it took longer than 99 % of the recent transactions of its name

    Analysis that needs a fair population takes `random` alone: whether a transaction is in it depends on nothing but
    its trace id, so what else would be kept makes no difference to it. Each reason has a limit of its own per minute.
    """

    def __init__(self, settings: Settings) -> None:
        self._probability = settings.sample_probability
        self._random = Allowance(settings.random_per_minute)
        self._forced = Allowance(settings.forced_per_minute)
        self._upstream = Allowance(settings.upstream_per_minute)
        self._errors = Allowance(settings.errors_per_minute)
        self._slow = Allowance(settings.slow_per_minute)
        self._p99 = KindsP99()

    def why_kept(self, transaction: Transaction) -> str:
        """Decide once for each transaction, in the order they ended; about 1 µs."""
        ids = transaction.ids
        is_slow = self._p99.is_slow(transaction.name, transaction.duration_ns)  # first: it remembers all of them
        is_random = is_sampled(ids.trace_id, self._probability)
        if is_random and self._random.take():
            return "random"
        if transaction.is_forced:
            if self._forced.take():
                return "forced"
        elif ids.trace_flags & 1 and not is_random and self._upstream.take():
            return "upstream"
        if transaction.is_error and self._errors.take():
            return "error"
        return "slow" if is_slow and self._slow.take() else ""


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
