"""
A program that makes a thousand transactions and compares the state of its interpreter with what it was before.

    python -m tests.safety.host_state → one JSON line: what differs, name → before and after
"""

from __future__ import annotations

import atexit
import decimal
import faulthandler
import gc
import json
import locale
import logging
import os
import random
import resource
import signal
import socket
import sys
import tempfile
import threading
import time
import warnings
from typing import Any

try:
    import numpy as np
except ImportError:
    np = None  # type: ignore[assignment]

SIGNALS = sorted(signal.valid_signals())


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def state() -> dict[str, object]:
    context = decimal.getcontext()
    loggers = {name: logging.getLogger(name) for name in (None, "theirs", "asyncio", "urllib3", "opentelemetry")}
    return {
        "random": random.getstate(),
        "numpy.random": None if np is None else repr(np.random.get_state()),
        "locale": [locale.setlocale(each) for each in (locale.LC_CTYPE, locale.LC_NUMERIC, locale.LC_TIME)],
        "signal handlers": {each: signal.getsignal(each) for each in SIGNALS},
        "blocked signals": signal.pthread_sigmask(signal.SIG_BLOCK, ()),
        "timers": [signal.getitimer(each) for each in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)],
        "wakeup descriptor": _wakeup(),
        "switch interval": sys.getswitchinterval(),
        "recursion limit": sys.getrecursionlimit(),
        "warnings": (list(warnings.filters), warnings.showwarning, warnings.formatwarning),
        "hooks": (sys.excepthook, sys.unraisablehook, sys.displayhook, threading.excepthook, sys.breakpointhook),
        "profilers": (sys.gettrace(), sys.getprofile(), threading._trace_hook, threading._profile_hook),  # type: ignore[attr-defined]
        "coroutines": (sys.get_coroutine_origin_tracking_depth(), sys.get_asyncgen_hooks()),
        "collector": (gc.isenabled(), gc.get_threshold(), gc.get_debug(), gc.get_freeze_count(), list(gc.callbacks)),
        "logging": [(each.level, each.disabled, each.propagate, list(each.handlers), list(each.filters))
                    for each in loggers.values()]
        + [logging.getLoggerClass(), logging.getLogRecordFactory(), logging.root.manager.disable],
        "environment": dict(os.environ),
        "import path": (list(sys.path), list(sys.meta_path), list(sys.path_hooks)),
        "arguments": list(sys.argv),
        "umask": _umask(),
        "working directory": os.getcwd(),  # noqa: PTH109
        "socket timeout": socket.getdefaulttimeout(),
        "decimal": (context.prec, context.rounding, dict(context.traps), dict(context.flags)),
        "streams": (sys.stdin, sys.stdout, sys.stderr),
        "limits": [resource.getrlimit(each) for each in (resource.RLIMIT_NOFILE, resource.RLIMIT_CORE)],
        "stack size of threads": threading.stack_size(),
        "temporary folder": tempfile.tempdir,
        "fault handler": faulthandler.is_enabled(),
        "time zone": time.tzname,
        "priority": os.getpriority(os.PRIO_PROCESS, 0),
    }  # fmt: skip


def _wakeup() -> int:
    descriptor = signal.set_wakeup_fd(-1)
    signal.set_wakeup_fd(descriptor)
    return descriptor


def differences(before: dict[str, object], after: dict[str, object]) -> dict[str, list[str]]:
    return {name: [repr(before[name]), repr(after[name])] for name in before if before[name] != after[name]}


def main() -> None:
    random.seed(42)
    if np is not None:
        np.random.seed(42)
    sys.setswitchinterval(0.004)
    decimal.getcontext().prec = 20
    socket.setdefaulttimeout(17)
    before = state()
    import walltime  # what its import changes counts too

    found: dict[str, Any] = {"by the import": differences(before, state())}
    walltime.configure(summary=True, metrics=True, json_lines=os.devnull, sample_hz=1000, sample_probability=1.0)
    instrumented = "instrument" in sys.argv
    if instrumented:
        walltime.instrument()
    expected = state()
    found["by configure"] = {} if instrumented else differences(before, expected)
    counted = 0
    for n in range(1000):
        with walltime.transaction(f"work {n % 7}"), walltime.component("step"):
            until_ns = time.thread_time_ns() + (3_000_000 if n % 100 == 0 else 0)
            while time.thread_time_ns() < until_ns:
                sum(range(50))
            latest_s = time.monotonic() + 20  # on a busy machine the sampler comes late
            while n == 999 and not walltime.counters().get("samples") and time.monotonic() < latest_s:
                sum(range(50))
        counted += sys.getswitchinterval() != 0.004
    found["after the transactions"] = differences(expected, state())
    found["transactions with another switch interval after them"] = counted
    assert walltime.flush(60)
    assert walltime.counters().get("samples"), "it was sampled"
    found["failures"] = [name for name in walltime.counters() if name.startswith("failed")]
    if instrumented:
        walltime.uninstrument()
    walltime.shutdown()
    found["after the end"] = differences(before, state())
    atexit.register(print, json.dumps({where: what for where, what in found.items() if what}))


if __name__ == "__main__":
    main()
