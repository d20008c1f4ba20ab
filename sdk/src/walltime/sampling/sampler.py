"""
The sampler's thread: it looks, about every 10 ms, at what each open transaction does.

It only reads, waits for nothing but time and the GIL, and sleeps while no transaction is open.
"""

from __future__ import annotations

import atexit
import random
import sys
import time
from types import BuiltinFunctionType
from typing import Final

from walltime.core.transaction import clock
from walltime.errors import contain
from walltime.sampling import serving
from walltime.sampling.tick import Ticks

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

_sleep: Final = serving.unpatched("time", "sleep")
_start_new_thread: Final = serving.unpatched("_thread", "start_new_thread")

_host_switch_s = 0.0
"""The application's switch interval while ours is set; otherwise 0."""


def _set_switch_interval(*, is_short: bool) -> None:
    """Shorten the switch interval, or restore it. One that the application has set in the meantime stays."""
    global _host_switch_s  # noqa: PLW0603
    now_s = sys.getswitchinterval()
    if is_short and now_s > 2 * SWITCH_INTERVAL_S:
        _host_switch_s = now_s
        sys.setswitchinterval(SWITCH_INTERVAL_S)
    elif not is_short and _host_switch_s:
        if now_s < 2 * SWITCH_INTERVAL_S:
            sys.setswitchinterval(_host_switch_s)
        _host_switch_s = 0.0


def install(hz: float, *, is_forked: bool = False) -> None:
    """Sample from the next transaction on, in a thread that starts with it; 0 stops the sampler."""
    serving.reset((lambda: _start(hz)) if hz else None, is_forked=is_forked)
    _set_switch_interval(is_short=False)


def stop() -> None:
    """End the thread; waits for it at most a tenth of a second."""
    parking = serving.parking
    install(0)
    parking.join(0.1)


def _start(hz: float) -> None:
    if isinstance(_start_new_thread, BuiltinFunctionType):  # otherwise it would be a greenlet among the others
        serving.parking.runs.acquire()
        _start_new_thread(_run, (hz,))
        atexit.unregister(stop)
        atexit.register(stop)


def _run(hz: float) -> None:
    parking = serving.parking
    try:
        _sample(round(1e9 / hz), parking)
    except Exception as ours:
        contain("sampler", ours)
    finally:
        _set_switch_interval(is_short=False)
        parking.runs.release()


def _sample(interval_ns: int, parking: serving.Parking) -> None:
    """Tick until another parking is in force."""
    ticks = Ticks()
    parking.on_wake = lambda: _set_switch_interval(is_short=not ticks.is_contended)
    cost_ns, planned_ns = 0.0, interval_ns
    used_ns = open_ns = 0
    parking.on_wake()
    due_ns = _after_a_pause(ticks, interval_ns, parking.woken_ns)
    while parking is serving.parking:
        try:
            if ticks.tick(due_ns):
                open_ns = ticks.at_ns
                _set_switch_interval(is_short=not ticks.is_contended)
            elif ticks.at_ns - open_ns > PARK_AFTER_NS:
                _set_switch_interval(is_short=False)
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
