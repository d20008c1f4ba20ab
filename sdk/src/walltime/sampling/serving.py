"""
Which threads, tasks and greenlets serve a transaction now; a request's only work for the sampler.

A sampler could find the frames of our entry points on each stack, but not the `with walltime.transaction(…)` of an
application, nor a transaction whose task is suspended; and it would walk the stacks of threads that serve nothing.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from contextlib import suppress
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Final
from weakref import ref

from walltime.core.cpu import greenlet_here
from walltime.core.execution import get_ident, unpatched
from walltime.errors import contain
from walltime.sampling import frames

if TYPE_CHECKING:
    from collections.abc import Callable

    from walltime.core.execution import ExecutionContext
    from walltime.core.transaction import Transaction

MAX_ARRIVALS: Final = 10_000
"""Tasks and greenlets between two ticks; the oldest ones are not sampled."""


allocate_lock: Final = unpatched("_thread", "allocate_lock")
_get_native_id: Final = unpatched("_thread", "get_native_id")
start_new_thread: Final = unpatched("_thread", "start_new_thread")
_local: Any = unpatched("_thread", "_local")()


class Thread:
    """A native thread that has served a transaction, and what the sampler knows of it."""

    __slots__ = (
        "_clock", "clock_ns", "delay_share", "delays", "execution", "has_run", "ident", "native_id", "observed_ns",
        "seen", "seen_ns", "share", "used_ns",
    )  # fmt: skip

    def __init__(self) -> None:
        self.execution: ExecutionContext | None = None
        """What it serves; None while it serves tasks or greenlets."""
        self.ident = get_ident()
        self.native_id: int = _get_native_id()
        # Made on the thread itself: pthread_getcpuclockid of an ended thread ends the process.
        self._clock = time.pthread_getcpuclockid(self.ident) if hasattr(time, "pthread_getcpuclockid") else None
        self.observed_ns = self.clock_ns = self.seen_ns = 0
        """Its CPU clock in this tick and when it was looked at before, and when that was."""
        self.used_ns, self.has_run = 0, False
        self.share = 0.0
        """Of a CPU that it used in between."""
        self.delays = 0, 0, 0
        """When the kernel's numbers for it were last read, and those: time on a CPU, and runnable without one."""
        self.delay_share = 0.0
        """Of the time in which it did not run: runnable, without a CPU."""
        self.seen: Any = None
        """What was seen last, for a thread that has not run since."""

    def cpu_ns(self) -> int:
        """Return its CPU clock; 0 where the system has none, or when it has ended."""
        try:
            return 0 if self._clock is None else time.clock_gettime_ns(self._clock)
        except OSError:
            return 0


threads: dict[int, Thread] = {}
"""By thread identifier."""
arrivals: deque[tuple[ref[Any], Transaction, Thread]] = deque(maxlen=MAX_ARRIVALS)
"""Transactions that a task or a greenlet began to serve since the last tick, and its thread."""


class Parking:
    """
    Where the sampler waits while no transaction runs, using no CPU. Each sampler thread has its own.

    Many threads may come to `wake` at the same time, also a signal handler inside of it: none of them waits.
    """

    def __init__(self, run: Callable[[Parking], None] | None) -> None:
        """
        Args:
            run: what the thread does, which starts with the next transaction; None for no sampler.
        """
        self.is_parked = run is not None
        self.woken_ns = 0
        """When the transaction began for which the sampler woke up."""
        self.on_wake: Callable[[], None] = lambda: None
        """Called on the request's thread when no other is open: the sampler has no GIL yet."""
        self._claims = [] if run is None else [run]
        """Who takes it starts the thread, or makes sure that none starts."""
        self._wake = allocate_lock()
        self._wake.acquire()
        self.runs = allocate_lock()
        """Held while the thread runs."""

    def wake(self) -> None:
        """Wake the sampler; the first time, start it."""
        self.is_parked = False
        self.woken_ns = perf_counter_ns()
        try:
            run = self._claims.pop()
        except IndexError:
            self.on_wake()
            self._release()
        else:
            self.runs.acquire(False)
            start_new_thread(run, (self,))

    def _release(self) -> None:
        with suppress(RuntimeError):  # another thread was faster
            self._wake.release()

    def wait(self, is_idle: Callable[[], bool]) -> bool:
        """Wait until the next transaction begins; False when one has begun already."""
        self.is_parked = True
        if is_idle():
            self._wake.acquire()
            return True
        self.is_parked = False
        return False

    def end(self) -> None:
        """Let the thread end, or not start; a thread that starts at this moment ends by itself."""
        self._claims.clear()
        self._release()

    def join(self, timeout_s: float) -> None:
        """Wait for the end of the thread."""
        if self.runs.acquire(timeout=timeout_s):
            self.runs.release()


parking = Parking(None)


def forget_ended() -> None:
    """Forget threads that have ended."""
    with suppress(frames.NotReadableError):
        for ident in threads.copy().keys() - frames.of_threads().keys():
            threads.pop(ident, None)


def is_idle() -> bool:
    """Say whether no transaction has begun since the last tick; only true when the last tick found none."""
    return not arrivals and all(
        each.execution is None or each.execution.transaction.duration_ns for each in threads.copy().values()
    )


def _this_thread() -> Thread:
    here = _local.thread = threads[get_ident()] = Thread()
    return here


def begin(transaction: Transaction, *, is_first: bool = False) -> None:
    """
    Register the transaction that this thread, task or greenlet serves, until its response ends; 0.2 µs.

    Args:
        is_first: it begins, and no other is open.
    """
    try:
        try:
            here: Thread = _local.thread
        except AttributeError:
            here = _this_thread()
        server: Any = None
        if transaction.owner:
            asyncio: Any = sys.modules.get("asyncio")
            if asyncio is not None and asyncio._get_running_loop() is not None:  # not under Trio
                server = asyncio.current_task()
        elif transaction.home != here.ident:  # else it has just begun, in a thread's main greenlet
            server = greenlet_here()
        if server is not None:
            arrivals.append((ref(server), transaction, here))
        elif not transaction.owner:
            here.execution = transaction
        if parking.is_parked:
            parking.wake()
        elif is_first:
            parking.on_wake()
    except Exception as ours:
        contain("sampler", ours)


def swap(execution: ExecutionContext | None) -> ExecutionContext | None:
    """Register what this thread works for from now on, and return what it was before; 0.2 µs. Never raises."""
    try:
        try:
            here: Thread = _local.thread
        except AttributeError:
            here = _this_thread()
        if greenlet_here() is not None:  # others run on this thread in between
            return None
        before, here.execution = here.execution, execution
    except Exception as ours:
        contain("sampler", ours)
        return None
    return before


def reset(run: Callable[[Parking], None] | None, *, is_forked: bool) -> None:
    """
    End the sampler's thread.

    Args:
        run: what another does, which starts when the next transaction begins; None for no sampler.
        is_forked: only this thread is left, and what it serves is the parent's.
    """
    global parking
    made = Parking(run)
    before, parking = parking, made  # at once: two threads that come here end two
    if is_forked:
        threads.clear()
        vars(_local).clear()
    else:
        before.end()
    arrivals.clear()
