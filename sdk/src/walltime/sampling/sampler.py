"""
The sampler's thread: it looks, about every 10 ms, at what each open transaction does.

It only reads, waits for nothing but time and the GIL, and sleeps while no transaction is open.
"""

from __future__ import annotations

import sys
import time
from functools import partial
from types import BuiltinFunctionType
from typing import Final

from walltime.core.execution import unpatched
from walltime.core.ids import generator
from walltime.core.transaction import clock
from walltime.errors import contain, warn
from walltime.sampling import serving
from walltime.sampling.frames import can_be_read
from walltime.sampling.tick import Ticks, counts

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
_sleep: Final = unpatched("time", "sleep")

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


def install(hz: float, *, is_forked: bool = False) -> None:
    """Sample from the next transaction on, in a thread that starts with it; 0 stops the sampler."""
    # where gevent has replaced the starting of threads for good, it would be a greenlet among the others
    is_possible = hz and isinstance(serving.start_new_thread, BuiltinFunctionType)
    serving.reset(partial(_run, hz) if is_possible else None, is_forked=is_forked)
    if is_forked:
        counts.update(dict.fromkeys(counts, 0))
    _restore_switch_interval()


def stop() -> None:
    """End the thread; waits for it at most a tenth of a second."""
    parking = serving.parking
    install(0)
    parking.join(0.1)


def _run(hz: float, parking: serving.Parking) -> None:
    try:
        _sample(round(1e9 / hz), parking)
        if not can_be_read():
            warn("audit", "walltime: under Python 3.11 a process with audit hooks is not sampled (docs/sampling.md)")
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
    while parking is serving.parking and can_be_read():
        try:
            if not ticks.is_contended:
                _shorten_switch_interval(HOLD_S)  # at once: before the other thread begins to wait for the GIL
            is_open = ticks.tick(due_ns)
            if ticks.is_contended:
                _restore_switch_interval()
            else:
                _shorten_switch_interval(SWITCH_INTERVAL_S)
            if is_open:
                open_ns = ticks.at_ns
            elif ticks.at_ns - open_ns > PARK_AFTER_NS:
                _restore_switch_interval()
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
        pause_ns = round(planned_ns * (0.5 + generator.random()))  # not in step with what repeats
        due_ns = clock() + pause_ns
        _sleep(pause_ns / 1e9)


def _after_a_pause(ticks: Ticks, interval_ns: int, woken_ns: int) -> int:
    """
    Wait until the first tick after a pause, at a random moment of the first interval, and return when it was due.

    The transaction that ended the pause is looked at with the same probability as any other.
    """
    due_ns = woken_ns + round(generator.random() * interval_ns)
    ticks.at_ns = due_ns - interval_ns
    _sleep(max(0, due_ns - clock()) / 1e9)
    return due_ns
