"""Gives the threads that decode to the senders in turn: each has at most one at a time, and the others wait."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from ..http.body import Disconnected

_LOOK_EVERY_S = 0.25


class Turns:
    """
    Lets so many requests work at once.

    A sender with many large bodies waits for itself, and for each other sender at most once. For one event loop.
    """

    def __init__(self, at_once: int) -> None:
        self._free = at_once
        self._busy: set[str] = set()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    @asynccontextmanager
    async def turn(self, sender: str, is_waiting: Callable[[], bool]) -> AsyncIterator[None]:
        """
        Wait for a turn, which lasts as long as the block.

        Args:
            is_waiting: Whether the client still waits for a response.

        Raises:
            Disconnected: The client left before its turn.
        """
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(sender, deque()).append(turn)
        self._give()
        try:
            while not turn.done():
                await asyncio.wait({turn}, timeout=_LOOK_EVERY_S)
                if not is_waiting():
                    raise Disconnected
            yield
        finally:
            if turn.done():
                self._free += 1
                self._busy.discard(sender)
                self._give()
            else:
                turn.cancel()

    def _give(self) -> None:
        while self._free and (sender := next((each for each in self._waiting if each not in self._busy), None)):
            turns = self._waiting.pop(sender)
            turn = turns.popleft()
            if turns:
                self._waiting[sender] = turns  # behind the others
            if not turn.done():
                self._busy.add(sender)
                turn.set_result(None)
                self._free -= 1
