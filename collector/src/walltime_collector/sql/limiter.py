"""Limits how many statements run and wait at the same time."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import TooManyQuestions

_MAX_LEFT_EARLY = 256


class QueryLimiter:
    """
    Lets a number of statements run at the same time; safe to use from several threads.

    When a client leaves, its place is free at once, although the engine may need some time to end its statement. At
    most `at_once` such statements are allowed; with more, new ones wait until one has ended.

    Args:
        max_waiting: A statement beyond these is refused at once.
        wait_s: The longest time that a statement waits.
    """

    def __init__(self, at_once: int, max_waiting: int, wait_s: float) -> None:
        self._at_once, self._max_waiting, self._wait_s = at_once, max_waiting, wait_s
        self._running: set[str] = set()
        self._abandoned: set[str] = set()
        """They still run, and their clients have left."""
        self._left_early: deque[str] = deque(maxlen=_MAX_LEFT_EARLY)
        """Their clients left before they ran."""
        self._waiting = 0
        self._changed = threading.Condition()

    @contextmanager
    def slot(self, name: str) -> Iterator[None]:
        """
        Wait for a place, and hold it.

        Raises:
            TooManyQuestions: Too many wait, it waited too long, or its client left.
        """
        with self._changed:
            self._wait(name)
            self._running.add(name)
        try:
            yield
        finally:
            with self._changed:
                self._running.discard(name)
                self._abandoned.discard(name)
                self._changed.notify_all()

    def leave(self, name: str) -> bool:
        """Note that the client of that statement has left; returns whether the statement runs."""
        with self._changed:
            if name in self._running:
                self._running.discard(name)
                self._abandoned.add(name)
            elif name not in self._abandoned:
                self._left_early.append(name)
            self._changed.notify_all()
            return name in self._abandoned

    def has_left(self, name: str) -> bool:
        """Whether its client left while it ran."""
        with self._changed:
            return name in self._abandoned

    def running(self) -> list[str]:
        """The running statements whose clients wait for them."""
        with self._changed:
            return list(self._running)

    def _wait(self, name: str) -> None:
        if not self._is_free() and self._waiting >= self._max_waiting:
            raise TooManyQuestions(f"{self._at_once} statements run and {self._max_waiting} wait; ask again later")
        self._waiting += 1
        try:
            is_over = self._changed.wait_for(lambda: name in self._left_early or self._is_free(), self._wait_s)
        finally:
            self._waiting -= 1
        if name in self._left_early:
            self._left_early.remove(name)
            raise TooManyQuestions("its client left before its turn came")
        if not is_over:
            raise TooManyQuestions(f"{self._at_once} statements ran for {self._wait_s:.0f} s; ask again later")

    def _is_free(self) -> bool:
        has_place = len(self._running) < self._at_once
        return has_place and len(self._running) + len(self._abandoned) < 2 * self._at_once
