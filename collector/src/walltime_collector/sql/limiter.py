"""Whose statement runs, whose waits, and whose client has left: a gate for all who ask at once."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import TooManyQuestions

_REMEMBERED = 256


class QueryLimiter:
    """
    Lets so many run at once; safe to use from several threads.

    A statement whose client has left gives its place to the next one at once, although the engine may need some time to
    end it. As many of those as may run are borne; with more, everybody waits until one has ended.

    Args:
        most_wait: More than these are refused at once.
        wait_s: So long each of them waits.
    """

    def __init__(self, at_once: int, most_wait: int, wait_s: float) -> None:
        self._at_once, self._most_wait, self._wait_s = at_once, most_wait, wait_s
        self._running: set[str] = set()
        self._left: set[str] = set()
        self._gone: deque[str] = deque(maxlen=_REMEMBERED)  # those that left before their turn came
        self._waiting = 0
        self._changed = threading.Condition()

    @contextmanager
    def turn(self, name: str) -> Iterator[None]:
        """
        Wait for a place, and hold it.

        Raises:
            TooManyQuestions: Too many wait, it waited too long, or its client left meanwhile.
        """
        with self._changed:
            self._wait(name)
            self._running.add(name)
        try:
            yield
        finally:
            with self._changed:
                self._running.discard(name)
                self._left.discard(name)
                self._changed.notify_all()

    def leave(self, name: str) -> bool:
        """Note that nobody waits for that statement any more; returns whether it runs."""
        with self._changed:
            if name in self._running:
                self._running.discard(name)
                self._left.add(name)
            elif name not in self._left:
                self._gone.append(name)
            self._changed.notify_all()
            return name in self._left

    def has_left(self, name: str) -> bool:
        """Whether its client left while it ran."""
        with self._changed:
            return name in self._left

    def running(self) -> list[str]:
        """Those that run and whose clients wait for them."""
        with self._changed:
            return list(self._running)

    def _wait(self, name: str) -> None:
        if not self._is_free() and self._waiting >= self._most_wait:
            raise TooManyQuestions(f"{self._at_once} statements run and {self._most_wait} wait; ask again later")
        self._waiting += 1
        try:
            is_over = self._changed.wait_for(lambda: name in self._gone or self._is_free(), self._wait_s)
        finally:
            self._waiting -= 1
        if name in self._gone:
            self._gone.remove(name)
            raise TooManyQuestions("its client left before its turn came")
        if not is_over:
            raise TooManyQuestions(f"{self._at_once} statements ran for {self._wait_s:.0f} s; ask again later")

    def _is_free(self) -> bool:
        return len(self._running) < self._at_once and len(self._running) + len(self._left) < 2 * self._at_once
