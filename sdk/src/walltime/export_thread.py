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
        self._thread: threading.Thread | None = None
        self._alarm: Any = None
        """A lock that the thread waits for, and anybody releases."""
        self._make_lock: Any = None
        """`threading.Lock` when the thread starts: gevent may have patched it by then, and may do so later."""
        self._flushes: deque[Any] = deque()
        """A lock of each `flush` that waits."""
        self.is_closing = False
        self.has_ended = False
        """The thread looks into the queue once more after it has set this. Who adds later has to look as well."""

    @property
    def is_started(self) -> bool:
        return not self._claims

    @property
    def is_over(self) -> bool:
        """Whether the thread does nothing any more."""
        return self.has_ended and (self._thread is None or not self._thread.is_alive())

    def start(self) -> None:
        """
        Start it, unless another thread does or has. Never waits for that one.

        Raises:
            RuntimeError: the system or the interpreter, at its exit, starts no thread. The next call tries again.
        """
        try:
            self._claims.pop()
        except IndexError:
            return
        try:
            self._make_lock = threading.Lock
            self._alarm = self._locked()
            thread = threading.Thread(target=self._run, name="walltime-export", daemon=True)
            Context().run(thread.start)  # without the context of the current transaction
        except BaseException:
            self._claims.append(None)
            raise
        self._thread = thread
        process = sys.modules.get("multiprocessing.process")
        if process is not None and process.parent_process() is not None:
            from multiprocessing.util import Finalize

            Finalize(None, self._at_exit, exitpriority=-1000)  # after the application's: they may make transactions

    def _locked(self) -> Any:
        lock = (self._make_lock or threading.Lock)()
        lock.acquire()
        return lock

    def _run(self) -> None:
        try:
            self._work()
        except Exception as error:  # a bug of ours; the next transaction starts a new thread
            contain("export thread", error)
            if not self.has_ended:
                self._claims.append(None)

    def wake(self) -> None:
        with suppress(RuntimeError, AttributeError):  # it is awake, or has not begun to wait
            self._alarm.release()

    def wait(self, longest_s: float) -> None:
        """Wait for `wake`. Called on the thread."""
        self._alarm.acquire(timeout=longest_s)

    def flush(self, timeout_s: float) -> bool:
        """Wait until the thread has done what was there before; False after the timeout."""
        if not self.is_started:
            return True
        done = self._locked()
        self._flushes.append(done)
        self.wake()
        return self.has_ended or bool(done.acquire(timeout=timeout_s))

    @property
    def flushes(self) -> int:
        """Number of flushes that wait."""
        return len(self._flushes)

    def flushed(self, count: int) -> None:
        """Let the first flushes return. Called on the thread."""
        for _ in range(count):
            self._flushes.popleft().release()

    def end(self) -> None:
        """Say that nothing is done after one more look into the queue. Called on the thread, or when none can start."""
        self.has_ended = True

    def close(self, timeout_s: float) -> None:
        """End the thread; wait for it at most so long. One that has not started never does."""
        self.is_closing = True
        with suppress(IndexError):
            self._claims.pop()
            self.end()
        self.wake()
        if self._thread is not None:
            self._thread.join(timeout_s)
