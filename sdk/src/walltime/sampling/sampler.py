"""
The sampler's thread: it looks, about every 10 ms, at what each open transaction does.

It only reads, waits for nothing but time and the GIL, and sleeps while no transaction is open.
"""

from __future__ import annotations

import time
from functools import partial
from types import BuiltinFunctionType
from typing import Final

from walltime.core.execution import unpatched
from walltime.core.ids import generator
from walltime.core.transaction import clock
from walltime.errors import contain, warn
from walltime.sampling import serving, switch_interval
from walltime.sampling.frames import can_be_read
from walltime.sampling.switch_interval import HOLD_S, SHORT_S, shorten
from walltime.sampling.tick import Ticks, counts

MAX_CPU_SHARE: Final = 0.0045
"""Of one CPU. Ticks that cost more come more rarely, and each sample then stands for more time."""
PARK_AFTER_NS: Final = 200_000_000
"""Without an open transaction for this long, the thread waits until one begins."""
_sleep: Final = unpatched("time", "sleep")


def install(hz: float, *, is_forked: bool = False) -> None:
    """Sample from the next transaction on, in a thread that starts with it; 0 stops the sampler."""
    # where gevent has replaced the starting of threads for good, it would be a greenlet among the others
    is_possible = hz and isinstance(serving.start_new_thread, BuiltinFunctionType)
    serving.reset(partial(_run, hz) if is_possible else None, is_forked=is_forked)
    if is_forked:
        counts.update(dict.fromkeys(counts, 0))
        switch_interval.forget()
    switch_interval.restore()


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
        switch_interval.restore()
        parking.runs.release()


def _sample(interval_ns: int, parking: serving.Parking) -> None:
    """Tick until another parking is in force."""
    ticks = Ticks()
    parking.on_wake = lambda: None if ticks.is_contended else shorten(SHORT_S)
    cost_ns, planned_ns = 0.0, interval_ns
    used_ns = open_ns = 0
    parking.on_wake()
    due_ns = _after_a_pause(ticks, interval_ns, parking.woken_ns)
    while parking is serving.parking and can_be_read():
        try:
            if not ticks.is_contended:
                shorten(HOLD_S)  # at once: before the other thread begins to wait for the GIL
            is_open = ticks.tick(due_ns)
            if ticks.is_contended:
                switch_interval.restore()
            else:
                shorten(SHORT_S)
            if is_open:
                open_ns = ticks.at_ns
            elif ticks.at_ns - open_ns > PARK_AFTER_NS:
                switch_interval.restore()
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
