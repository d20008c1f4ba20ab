"""The decision at the end of a transaction: keep its calls one by one, or only the bill."""

from __future__ import annotations

import time
from sys import getsizeof
from typing import TYPE_CHECKING, Final

from walltime.core.after_response import LOOK_EVERY
from walltime.core.bill import MAX_EARLY_BYTES, Cell
from walltime.core.call import CALL_BYTES, OTHER, text_bytes
from walltime.export.quantile import KindsP99
from walltime.propagation.propagation import is_sampled

if TYPE_CHECKING:
    from walltime.core.transaction import Transaction
    from walltime.settings.settings import Settings

_BASE_BYTES: Final = 2048
_SAMPLE_BYTES: Final = 1024


class Detail:
    """
    Decides for each finished transaction why its calls are kept; '' when they are not. In this order:

    random     chosen by its trace id: a fair sample, the same in every service
    forced     requested by a header with the secret or by `walltime.current().keep()`
    upstream   sampled by the caller's traceparent
    error      it failed
    slow       it took longer than 99 % of the recent transactions of its name

    Analysis that needs a fair sample uses `random` alone, because it depends on nothing but the trace id. Each reason
    has its own limit per minute.
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
        is_slow = self._p99.is_slow(transaction.name, transaction.duration_ns)  # first: it has to see all transactions
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
    """A token bucket: so many a minute, refilled evenly, at most one minute's worth."""

    def __init__(self, per_minute: int) -> None:
        self._per_minute = per_minute
        self._left = float(per_minute)
        self._refilled_s = time.monotonic()

    def take(self) -> bool:
        now_s = time.monotonic()
        refill = (now_s - self._refilled_s) * self._per_minute / 60
        self._left = min(float(self._per_minute), self._left + refill)
        self._refilled_s = now_s
        if self._left < 1:
            return False
        self._left -= 1
        return True


def held_bytes(transaction: Transaction) -> int:
    """Return about how much memory a finished transaction holds."""
    calls = transaction.calls
    looked_at = transaction.look_at - LOOK_EVERY
    held = _BASE_BYTES + len(transaction.path) + CALL_BYTES * len(calls) + transaction.text_bytes
    held += text_bytes(calls[looked_at:] if looked_at else calls)
    if transaction.bill is not None:
        held += MAX_EARLY_BYTES - transaction.bill.room_bytes
    if transaction.after is not None:
        held += CALL_BYTES * len(transaction.after.calls) + text_bytes(transaction.after.calls)
    if transaction.samples is not None:
        held += _SAMPLE_BYTES * len(transaction.samples.seen)
    if transaction.annotations is not None:
        texts = (*transaction.annotations, *transaction.annotations.values())
        held += sum([getsizeof(text) for text in texts])
    return held


def keep_totals(transaction: Transaction) -> None:
    """Give up what takes memory: calls, statements, samples."""
    bill = transaction.add_up(detail=False)
    if bill.statements:
        bill.statements, bill.room_bytes = {OTHER: sum(bill.statements.values(), Cell())}, MAX_EARLY_BYTES
    transaction.calls, transaction.text_bytes, transaction.look_at = [], 0, LOOK_EVERY
    transaction.samples = transaction.places = None
    if transaction.after is not None:
        transaction.after.add_up_early()
