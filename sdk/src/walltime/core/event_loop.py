"""
Event-loop time of an asyncio transaction: running, and ready but waiting for the loop.

The coroutine runs in steps, from one suspension to the next (core/steps.py): their time is exact.

A step that waits for a socket is ready as soon as the data has arrived, but a loop sees that only when it polls, and no
hook of asyncio knows the time in between. It is estimated by a timer while a transaction is open, due every BEAT_NS
after something held the loop up, otherwise more rarely: when the timer is late, the loop was held up since it was due,
and a suspended step that runs at once after that waited since then. Waits under LEAST_LATE_NS are not seen.
"""

from __future__ import annotations

import threading
from time import perf_counter_ns as clock
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from walltime.core.cpu import of_thread, split, thread_clock, waited_ns
from walltime.errors import contain

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Callable

BEAT_NS: Final = 10_000_000
LONGEST_BEAT_NS: Final = 40_000_000
"""Of a loop that nothing holds up: each timer in time doubles the next. It costs a busy loop 50 to 90 µs a time."""
LEAST_LATE_NS: Final = 2_000_000
"""Timers of the loops are up to 1 ms late by themselves."""
AT_ONCE_NS: Final = 1_000_000
"""A step that begins so soon after other work on the loop was ready before the end of that work."""
CPU_NS: Final = 1_000_000
"""
A shorter step counts as CPU time as a whole. For a longer one the thread's CPU clock is read at its end, and compared
with a reading that is at most so old at its start: its CPU time is at most this much too large.
"""
LONG_NS: Final = 50_000_000
"""A step or callback that lasts longer holds the loop up."""


class Loop:
    """One running event loop. Everything but `look` is called on its thread."""

    __slots__ = (
        "beat_ns", "cpu_at_ns", "cpu_ns", "due_ns", "held_line", "held_since_ns", "is_beating", "looked_ns", "open",
        "thread", "worked_until_ns",
    )  # fmt: skip

    def __init__(self) -> None:
        self.thread = 0
        self.open = 0
        """Transactions for which the timer runs."""
        self.is_beating = False
        self.beat_ns = BEAT_NS
        self.due_ns = 0
        self.held_since_ns = 0
        """When the timer was due that was late last; 0 when the loop has been idle since."""
        self.worked_until_ns = 0
        """The latest end of a step, or of a wait for the timer."""
        self.held_line = ""
        """The application's line that `look` found last, while something held the loop up, and when."""
        self.looked_ns = 0
        self.cpu_at_ns = self.cpu_ns = 0

    def arm(self, loop: AbstractEventLoop) -> None:
        self.is_beating = True
        self.due_ns = clock() + self.beat_ns
        loop.call_later(self.beat_ns / 1e9, self._beat, loop)

    def _beat(self, loop: AbstractEventLoop) -> None:
        try:
            self.worked_until_ns = now_ns = clock()
            is_late = now_ns - self.due_ns >= LEAST_LATE_NS
            self.held_since_ns = self.due_ns if is_late else 0
            self.beat_ns = BEAT_NS if is_late else min(2 * self.beat_ns, LONGEST_BEAT_NS)
            self.is_beating = False
            if self.open:
                self.arm(loop)
        except Exception as ours:
            contain("event_loop", ours)

    def wait_ns(self, started_ns: int, suspended_ns: int) -> int:
        """Return for how long a step that starts now, after this suspension, was ready."""
        if self.is_beating and started_ns - self.due_ns >= LEAST_LATE_NS:
            self.held_since_ns = self.due_ns  # the timer waits behind this step
        elif self.held_since_ns and started_ns - self.worked_until_ns > AT_ONCE_NS:
            self.held_since_ns = 0
        return min(suspended_ns, started_ns - self.held_since_ns) if self.held_since_ns else 0


_loops: WeakKeyDictionary[AbstractEventLoop, Loop] = WeakKeyDictionary()


class LoopTimes:
    """
    What one transaction did on its loop, in nanoseconds.

    The steps of its tasks never overlap, and each wait ends at a step and begins after the one before: `run_ns` and
    `wait_ns` are together at most its duration.
    """

    __slots__ = (
        "_has_beat", "_is_over", "_jobs", "_loop", "_started_ns", "_until_ns", "cpu_ns", "cpu_wait_ns", "held_line",
        "held_ns", "longest_line", "longest_ns", "run_ns", "task", "wait_ns",
    )  # fmt: skip

    def __init__(self, loop: AbstractEventLoop, task: int, started_ns: int, *, has_beat: bool) -> None:
        """
        Args:
            task: `id` of the transaction's own task.
            started_ns: of the transaction.
            has_beat: whether the timer runs for it.
        """
        of_loop = _loops.get(loop)
        if of_loop is None:
            of_loop = _loops[loop] = Loop()
        self._loop = of_loop
        self.task = task
        self.run_ns = self.wait_ns = self.cpu_ns = 0
        self.cpu_wait_ns: int | None = None
        """Of its jobs in other threads; None without any. Of the loop's thread it is unknown, and part of `run_ns`."""
        self._jobs: list[tuple[int, int]] = []
        """CPU time and time waiting for a CPU."""
        self.held_ns = 0
        """Its longest wait, and the application's line that held the loop up then."""
        self.held_line = ""
        self.longest_ns = 0
        """Its own longest step, from LONG_NS on, and a line in it."""
        self.longest_line = ""
        self._is_over = False
        self._until_ns = started_ns
        self._started_ns = 0
        """Start of the step in progress; 0 when there is none."""
        self._has_beat = has_beat
        of_loop.thread = threading.get_ident()
        if has_beat:
            of_loop.open += 1
            if not of_loop.is_beating:
                of_loop.arm(loop)

    def begin_step(self) -> bool:
        """Return False when the step is not to be timed: inside another one (an eager task), or after the response."""
        if self._started_ns or self._is_over:
            return False
        loop = self._loop
        self._started_ns = now_ns = clock()
        if now_ns - loop.cpu_at_ns > CPU_NS:
            loop.cpu_at_ns, loop.cpu_ns = now_ns, thread_clock()
        suspended_ns = now_ns - self._until_ns
        if suspended_ns >= LEAST_LATE_NS and (wait_ns := loop.wait_ns(now_ns, suspended_ns)):
            self.wait_ns += wait_ns
            if wait_ns > self.held_ns:
                self.held_ns = wait_ns
                self.held_line = loop.held_line if loop.looked_ns >= loop.held_since_ns else ""
        return True

    def end_step(self) -> None:
        started_ns = self._started_ns
        if not started_ns:  # the response ended in it
            return
        self._started_ns = 0
        loop = self._loop
        loop.worked_until_ns = self._until_ns = now_ns = clock()
        took_ns = now_ns - started_ns
        self.run_ns += took_ns
        if took_ns < CPU_NS:
            self.cpu_ns += took_ns
            return
        if took_ns >= LEAST_LATE_NS:
            loop.beat_ns = BEAT_NS
        before_ns = loop.cpu_ns
        loop.cpu_at_ns, loop.cpu_ns = now_ns, thread_clock()
        self.cpu_ns += min(took_ns, loop.cpu_ns - before_ns)
        if took_ns >= LONG_NS and took_ns > self.longest_ns:
            self.longest_ns = took_ns
            self.longest_line = loop.held_line if loop.looked_ns >= started_ns else ""

    def add_job(self, before: tuple[int, bytes]) -> None:
        """Add what a job in this other thread has used for the transaction since `cpu.of_thread`."""
        if not self._is_over:
            cpu_ns, schedstat = of_thread()
            self._jobs.append((cpu_ns - before[0], waited_ns((before[1], schedstat)) or 0))

    def stop(self) -> tuple[int, int]:
        """End the measuring, with the response; return user and system time."""
        if not self._is_over:
            if threading.get_ident() == self._loop.thread:
                self.end_step()
            self._is_over = True
            if self._has_beat:
                self._loop.open -= 1
            if self._jobs:
                self.cpu_ns += sum(cpu_ns for cpu_ns, _ in self._jobs)
                self.cpu_wait_ns = sum(wait_ns for _, wait_ns in self._jobs)
        return split(self.cpu_ns)


def look(now_ns: int, line_of: Callable[[int], str]) -> None:
    """
    Note the line of what holds a loop up. Called by the sampler.

    Args:
        line_of: finds the application's line that a thread executes.
    """
    try:
        loops = list(_loops.values())
    except RuntimeError:  # another thread has just added one
        return
    for loop in loops:
        if loop.is_beating and now_ns - max(loop.due_ns, loop.worked_until_ns) >= LONG_NS:
            loop.held_line = line_of(loop.thread)
            loop.looked_ns = now_ns
