"""A server that is observed: one connection, on which its looks take turns."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

from ..background import BackgroundThread
from ..health.counters import Health
from .look import Lacking, Look

log = logging.getLogger(__name__)

_FIRST_RETRY_S, _LAST_RETRY_S = 1.0, 60.0


class Closable(Protocol):
    """A connection of any driver."""

    def close(self) -> object:
        """Close it."""


Connection = TypeVar("Connection", bound=Closable)


class Watched(BackgroundThread, Generic[Connection]):
    """
    The thread of one server; one that does not answer is tried again after 1 to 60 s, beside the others.

    Args:
        name: As applications know it.
        connect: Opens a connection with time limits; whatever it raises is logged without the password.
        explain: What an error means and what to do, in a sentence without secrets; empty: it is none of the driver.
    """

    def __init__(
        self,
        name: str,
        connect: Callable[[], Connection],
        looks: Sequence[Look[Connection]],
        health: Health,
        explain: Callable[[Exception], str],
    ) -> None:
        super().__init__(f"observe {name}", f"ask {name}", 1.0)
        self._log = log.getChild(name)  # the log holds back what one logger repeats
        self.server, self._connect, self._looks, self._health, self._explain = name, connect, [*looks], health, explain
        self._connection: Connection | None = None
        self._lacking: set[Look[Connection]] = set()
        self._lacks: dict[Look[Connection], str] = {}
        self._said: set[str] = set()
        self._due_s: dict[Look[Connection], float] = {}
        self._retry_s = _FIRST_RETRY_S
        self._opened_s = 0.0
        """When the connection was opened."""

    def step(self) -> None:
        """Run the looks that are due; the next step is at the time of the next one."""
        if self._lacks and time.monotonic() - self._opened_s >= _LAST_RETRY_S:
            self._close()  # what it lacks may be there now, and a new right counts for new connections
        connection = self._connection or self._open()
        for look in [*self._looks]:
            began_s = time.monotonic()
            if self.stopping.is_set() or self._due_s.get(look, 0.0) > began_s or look in self._lacking:
                continue
            try:
                look.look(connection)
            except Lacking as lacking:
                self._leave_out(look, lacking)
                self._tell("")
            except Exception:
                self._looks.sort(key=lambda each: each is look)  # the next time after the others, which may succeed
                raise
            took_s = time.monotonic() - began_s
            self._due_s[look] = began_s + max(look.every_s, took_s / look.share)
        self._retry_s = _FIRST_RETRY_S
        now_s = time.monotonic()
        nexts = [each for look, each in self._due_s.items() if look not in self._lacking]
        nexts += [self._opened_s + _LAST_RETRY_S] if self._lacks else []
        self.interval_s = max(min(nexts, default=now_s) - now_s, 0.01)

    def _open(self) -> Connection:
        connection = self._connect()
        self._connection, self._opened_s = connection, time.monotonic()
        self._lacking.clear()
        self._lacks.clear()
        self._due_s.clear()
        for look in self._looks:
            try:
                if could_use := look.opened(connection):
                    self._say(look, could_use)
            except Lacking as lacking:
                self._leave_out(look, lacking)
        self._tell("")
        return connection

    def _leave_out(self, look: Look[Connection], lacking: Lacking) -> None:
        self._lacking.add(look)
        self._say(look, str(lacking))

    def _say(self, look: Look[Connection], what: str) -> None:
        self._lacks[look] = what
        if what not in self._said:
            self._said.add(what)
            self._log.warning("%s: %s", self.server, what)

    def failed(self, error: Exception) -> float:
        """Close the connection, say once why, and wait longer each time."""
        self._close()
        what = self._explain(error)
        if not what:
            self._log.exception("%s: asking it failed unexpectedly; trying again", self.server)
        self._tell(what or type(error).__name__)
        wait_s = self._retry_s * random.uniform(0.8, 1.2)
        self._retry_s = min(self._retry_s * 2, _LAST_RETRY_S)
        return wait_s

    def _tell(self, error: str) -> None:
        """Into the log when it changed, and onto the status: the error, or what the server lacks."""
        if self.stopping.is_set():
            return
        lacks = "; ".join(dict.fromkeys(self._lacks.values()))
        if not self._health.observed(self.server, error, lacks):
            return
        if error:
            self._log.warning("%s: %s; trying again", self.server, error)
        else:
            self._log.info("%s: is observed", self.server)

    def stop(self, within_s: float) -> None:
        """See BackgroundThread."""
        super().stop(within_s)
        self._close()

    def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                connection.close()
            except Exception as error:  # noqa: BLE001 a connection that is broken may say so once more
                self._log.debug("%s: closing the connection: %s", self.server, self._explain(error))
