"""Slows down those who guess tokens; the right token is never delayed, from whatever address."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable

_FREE = 5
"""Wrong tokens of one address that are answered at once: typing errors, an old token in a script."""
_EACH_S = 1.0
_MAX_WAITING = 10
"""Of one address; more are answered at once, and not with 401."""
_MAX_WAITING_TOGETHER = 100
_MAX_ADDRESSES = 1_000
_REMEMBERED = 100


class _Guesser:
    """One address: its wrong tokens, and when the next one is answered."""

    def __init__(self) -> None:
        self.tokens: deque[bytes] = deque(maxlen=_REMEMBERED)
        self.next_s = 0.0
        self.waiting = 0


class Guesses:
    """
    The wrong tokens that a port received, by address. For one event loop.

    A program that repeats an old token is not slowed down: only a token that is new tells a guesser anything.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._clock, self._sleep = clock, sleep
        self._guessers: dict[str, _Guesser] = {}
        self._waiting = 0

    async def wrong(self, address: str, token: bytes) -> bool:
        """Wait before the answer to a wrong token; False without waiting when too many wait already."""
        guesser = self._guessers.pop(address, None) or _Guesser()
        self._guessers[address] = guesser  # the last one; the first one is forgotten
        if len(self._guessers) > _MAX_ADDRESSES:
            del self._guessers[next(iter(self._guessers))]
        if token in guesser.tokens:
            return True
        if guesser.waiting >= _MAX_WAITING or self._waiting >= _MAX_WAITING_TOGETHER:
            return False
        guesser.tokens.append(token)
        now_s = self._clock()
        guesser.next_s = max(guesser.next_s, now_s - _FREE * _EACH_S) + _EACH_S
        if (delay_s := guesser.next_s - now_s) > 0:
            guesser.waiting += 1
            self._waiting += 1
            try:
                await self._sleep(delay_s)
            finally:
                guesser.waiting -= 1
                self._waiting -= 1
        return True
