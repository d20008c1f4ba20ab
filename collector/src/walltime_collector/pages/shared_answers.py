"""Requests with the same parameters within 10 or 60 seconds share one answer: it is computed once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Generic, TypeVar

from ..clickhouse.engine import Engine
from ..query.sampled import transactions_about
from ..query.scope import Filters, Scope
from ..query.why.answer import Why
from ..query.why.explain import explain_kind
from ..query.windows import Comparison, Window

T = TypeVar("T")

PERIOD_S, LONG_PERIOD_S = 10, 60
"""
`now` is rounded down to one of them, so that the windows of live pages, and so their answers, are the same for so long.

A live page is fetched as often: however many people watch it, it is computed once.
"""
_MANY_TRANSACTIONS, _LONG_S = 100_000, 1_800
"""In so many seconds or more, so many transactions change slowly: answers about them are kept for LONG_PERIOD_S."""
_MOST = 32
_S = 1_000_000_000


class SharedAnswers(Generic[T]):
    """A size-bounded cache with one computation at a time for each key; errors are not kept. Safe between threads."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._futures: dict[Hashable, Future[T]] = {}

    def get(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return the answer for this key; compute it, or wait while another thread does."""
        mine: Future[T] = Future()
        with self._lock:
            future = self._futures.setdefault(key, mine)
            while len(self._futures) > self._most:
                del self._futures[next(iter(self._futures))]
        if future is mine:
            try:
                mine.set_result(compute())
            except BaseException as error:  # noqa: BLE001  whoever waits gets it too
                with self._lock:
                    self._futures.pop(key, None)
                mine.set_exception(error)
        return future.result()


class Explanations:
    """What pages and API share: how long an answer is kept, and the answers of `why` themselves."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._sizes, self._answers = SharedAnswers[int](), SharedAnswers[Why]()

    def period_s(self, window: Window) -> int:
        """How long an answer about it is shared: longer where very many transactions are counted, once a minute."""
        if window.length_ns < _LONG_S * _S:
            return PERIOD_S
        minutes = tuple(ns // (60 * _S) for ns in (window.start_ns, window.end_ns, time.time_ns()))
        transactions = self._sizes.get(minutes, lambda: transactions_about(self._engine, Scope(window)))
        return LONG_PERIOD_S if transactions > _MANY_TRANSACTIONS else PERIOD_S

    def why(self, filters: Filters, compared: Comparison, now_ns: int, same: Comparison | None = None) -> Why:
        """
        The answer of `explain_kind`, computed once in a period.

        Args:
            now_ns: When the period began.
            same: What is compared when `now` is that time: a question of the API is about the time until now, one of a
                page until then. It is one question, and whoever asks first decides.
        """
        key = filters, same or compared, now_ns
        return self._answers.get(key, lambda: explain_kind(self._engine, filters, compared))


def now_ns(period_s: int) -> int:
    """When the period began that is now."""
    return time.time_ns() // (period_s * _S) * period_s * _S
