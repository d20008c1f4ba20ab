"""
The sampler's thread: it looks, about every 10 ms, at what each open transaction does.

It only reads, waits for nothing but time and the GIL, and sleeps while no transaction is open.
"""

from __future__ import annotations

import atexit
import gc
import random
import sys
import time
from contextlib import contextmanager
from types import BuiltinFunctionType
from typing import TYPE_CHECKING, Final

from walltime.core.execution import unpatched
from walltime.core.transaction import clock
from walltime.errors import contain
from walltime.sampling import serving
from walltime.sampling.tick import Ticks

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_CPU_SHARE: Final = 0.0045
"""Of one CPU. Ticks that cost more come more rarely, and each sample then stands for more time."""
PARK_AFTER_NS: Final = 200_000_000
"""Without an open transaction for this long, the thread waits until one begins."""
SWITCH_INTERVAL_S: Final = 0.00005
"""
Python's switch interval while at most one thread computes.

A thread that computes gives the GIL up after this time, 5 ms by default. Most requests let go of it earlier, in their
next call, so a sampler that waits that long sees nearly all of them in a call (docs/decisions/040-sampler.md).
"""

HOLD_S: Final = 0.0005
"""
Python's switch interval during a tick, which takes about 0.1 ms: the thread that computes does not ask for the GIL.

Now and then it does, as it has begun to wait before the interval was set; then the sampler waits so long for the GIL.
"""
COLLECTS_IN_FRAMES: Final = sys.version_info[:2] == (3, 11)
"""
Whether Python may collect garbage in `sys._current_frames()` and `f_back`.

3.11 allocates a frame object when it is asked for, and collects in allocations. A destructor that releases the GIL
there lets the observed thread end that frame, and Python crashes, or deadlocks (python/cpython issue 106883).
Before 3.11 the objects existed; from 3.12 on, garbage is collected between instructions.
"""

_sleep: Final = unpatched("time", "sleep")
_start_new_thread: Final = unpatched("_thread", "start_new_thread")

_host_switch_s = 0.0
"""The application's switch interval while one of ours is set."""
_our_switch_s = 0.0
"""The one that we set last, as Python returns it."""


def _shorten_switch_interval(interval_s: float) -> None:
    """Set one of ours instead of the application's, unless that is as short."""
    global _host_switch_s, _our_switch_s  # noqa: PLW0603
    now_s = sys.getswitchinterval()
    if now_s != _our_switch_s:
        _host_switch_s = now_s
    if _host_switch_s > 2 * HOLD_S:
        sys.setswitchinterval(interval_s)
        _our_switch_s = sys.getswitchinterval()


def _restore_switch_interval() -> None:
    """Restore the application's. One that it has set in the meantime stays."""
    if sys.getswitchinterval() == _our_switch_s:
        sys.setswitchinterval(_host_switch_s)


@contextmanager
def _without_collection() -> Iterator[None]:
    """Switch the garbage collector off where it could make Python crash, if it is on; 1 µs."""
    is_on = COLLECTS_IN_FRAMES and gc.isenabled()
    if is_on:
        gc.disable()
    try:
        yield
    finally:
        if is_on:
            gc.enable()


def install(hz: float, *, is_forked: bool = False) -> None:
    """Sample from the next transaction on, in a thread that starts with it; 0 stops the sampler."""
    serving.reset((lambda: _start(hz)) if hz else None, is_forked=is_forked)
    _restore_switch_interval()


def stop() -> None:
    """End the thread; waits for it at most a tenth of a second."""
    parking = serving.parking
    install(0)
    parking.join(0.1)


def _start(hz: float) -> None:
    if isinstance(_start_new_thread, BuiltinFunctionType):  # otherwise it would be a greenlet among the others
        parking = serving.parking
        parking.runs.acquire()
        _start_new_thread(_run, (hz, parking))
        atexit.unregister(stop)
        atexit.register(stop)


def _run(hz: float, parking: serving.Parking) -> None:
    try:
        _sample(round(1e9 / hz), parking)
    except Exception as ours:
        contain("sampler", ours)
    finally:
        _restore_switch_interval()
        parking.runs.release()


def _sample(interval_ns: int, parking: serving.Parking) -> None:
    """Tick until another parking is in force."""
    ticks = Ticks()
    parking.on_wake = lambda: None if ticks.is_contended else _shorten_switch_interval(SWITCH_INTERVAL_S)
    cost_ns, planned_ns = 0.0, interval_ns
    used_ns = open_ns = 0
    parking.on_wake()
    due_ns = _after_a_pause(ticks, interval_ns, parking.woken_ns)
    while parking is serving.parking:
        try:
            if not ticks.is_contended:
                _shorten_switch_interval(HOLD_S)  # at once: before the other thread begins to wait for the GIL
            with _without_collection():
                is_open = ticks.tick(due_ns)
            if ticks.is_contended:
                _restore_switch_interval()
            else:
                _shorten_switch_interval(SWITCH_INTERVAL_S)
            if is_open:
                open_ns = ticks.at_ns
            elif ticks.at_ns - open_ns > PARK_AFTER_NS:
                _restore_switch_interval()
                with _without_collection():
                    serving.forget_ended()
                if parking.wait(serving.is_idle):
                    due_ns = _after_a_pause(ticks, interval_ns, parking.woken_ns)
                open_ns = clock()
                continue
        except Exception as ours:
            contain("sampler", ours)
        before_ns, used_ns = used_ns, time.thread_time_ns()
        cost_ns += (used_ns - before_ns - cost_ns) / 16
        planned_ns = max(interval_ns, round(cost_ns / MAX_CPU_SHARE))
        pause_ns = round(planned_ns * (0.5 + random.random()))  # not in step with what repeats
        due_ns = clock() + pause_ns
        _sleep(pause_ns / 1e9)


def _after_a_pause(ticks: Ticks, interval_ns: int, woken_ns: int) -> int:
    """
    Wait until the first tick after a pause, at a random moment of the first interval, and return when it was due.

    The transaction that ended the pause is looked at with the same probability as any other.
    """
    due_ns = woken_ns + round(random.random() * interval_ns)
    ticks.at_ns = due_ns - interval_ns
    _sleep(max(0, due_ns - clock()) / 1e9)
    return due_ns
