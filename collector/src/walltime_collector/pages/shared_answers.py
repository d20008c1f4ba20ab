"""Requests with the same parameters within 10 or 60 seconds share one answer: it is computed once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Generic, TypeVar

T = TypeVar("T")

PERIOD_S, LONG_PERIOD_S = 10, 60
"""
`now` is rounded down to one of them, so that the windows of live pages, and so their answers, are the same for so long.

A live page is fetched as often: however many people watch it, it is computed once.
"""
_MOST = 32


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
