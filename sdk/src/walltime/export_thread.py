"""
The life of the export thread: it starts with the first finished transaction, wakes, serves flushes, and ends once.

Nothing here is a lock that a thread waits for while another holds it: a fork can leave none held in the child, and a
signal handler or a destructor may come here at any moment, also on the thread that is here already.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from contextlib import suppress
from contextvars import Context
from typing import TYPE_CHECKING, Any

from walltime.errors import contain

if TYPE_CHECKING:
    from collections.abc import Callable


class _Signals:
    """Locks of which none is taken twice: who waits takes it, who signals releases it."""

    def __init__(self) -> None:
        self.make = threading.Lock  # now: gevent may have patched it, and may do so later
        self.alarm, self.over = self.unreleased(), self.unreleased()

    def unreleased(self) -> Any:
        lock = self.make()
        lock.acquire()
        return lock


class ExportThread:
    """The thread of one exporter in one process."""

    def __init__(self, work: Callable[[], None], at_exit: Callable[[], object]) -> None:
        """
        Args:
            work: what the thread does; it returns after `is_closing`, when it has called `end`.
            at_exit: ends the thread when a multiprocessing child ends, which does not run its parent's exit handlers.
        """
        self._work = work
        self._at_exit = at_exit
        self._claims: list[None] = [None]
        """Who takes it starts the thread, or makes sure that none starts."""
        self._made: dict[str, _Signals] = {}
        self._flushes: deque[Any] = deque()
        """A lock of each `flush` that waits."""
        self.is_closing = False
        self.has_ended = False
        """The thread looks into the queue once more after it has set this. Who adds later has to look as well."""
        self.ident: int | None = None

    @property
    def _signals(self) -> _Signals:
        """Made once, not before the first use."""
        return self._made.get("") or self._made.setdefault("", _Signals())

    @property
    def is_started(self) -> bool:
        return not self._claims

    @property
    def is_over(self) -> bool:
        """Whether the thread does nothing any more."""
        return self.has_ended and not self._signals.over.locked()

    def start(self) -> None:
        """
        Start it, unless another thread does or has. Never waits for that one.

        Raises:
            RuntimeError: the system or the interpreter, at its exit, starts no thread. The next call tries again.
        """
        _ = self._signals  # before anybody can wait
        try:
            self._claims.pop()
        except IndexError:
            return
        try:
            thread = threading.Thread(target=self._run, name="walltime-export", daemon=True)
            Context().run(thread.start)  # without the context of the current transaction
        except BaseException:
            self._claims.append(None)
            raise
        process = sys.modules.get("multiprocessing.process")
        if process is not None and process.parent_process() is not None:
            from multiprocessing.util import Finalize

            Finalize(None, self._at_exit, exitpriority=-1000)  # after the application's: they may make transactions

    def _run(self) -> None:
        self.ident = threading.get_ident()
        try:
            self._work()
        except Exception as error:  # a bug of ours; the next transaction starts a new thread
            contain("export thread", error)
            if not self.has_ended:
                self._claims.append(None)
        if self.is_closing:
            _release(self._signals.over)

    def wake(self) -> None:
        _release(self._signals.alarm)

    def wait(self, longest_s: float) -> None:
        """Wait for `wake`. Called on the thread."""
        self._signals.alarm.acquire(timeout=longest_s)

    def flush(self, timeout_s: float) -> bool:
        """Wait until the thread has done what was there before; False after the timeout."""
        if not self.is_started:
            return True
        done = self._signals.unreleased()
        self._flushes.append(done)
        self.wake()
        return self._join(timeout_s) if self.has_ended else bool(done.acquire(timeout=timeout_s))

    @property
    def flushes(self) -> int:
        """Number of flushes that wait."""
        return len(self._flushes)

    def flushed(self, count: int) -> None:
        """Let the first flushes return. Called on the thread."""
        for _ in range(count):
            self._flushes.popleft().release()

    def end(self) -> None:
        """Say that nothing is done after one more look into the queue. Called on the thread."""
        self.has_ended = True

    def close(self, timeout_s: float) -> None:
        """End the thread; wait for it at most so long. One that has not started never does."""
        self.is_closing = True
        with suppress(IndexError):
            self._claims.pop()
            self.has_ended = True
            _release(self._signals.over)
        self.wake()
        self._join(timeout_s)

    def _join(self, timeout_s: float) -> bool:
        over = self._signals.over
        is_over = bool(over.acquire(timeout=timeout_s))
        if is_over:
            _release(over)
        return is_over


def _release(lock: Any) -> None:
    with suppress(RuntimeError):  # released already
        lock.release()
