"""
Starts Walltime in many threads at once, beside forks, re-configures, flushes, signals, destructors and a stop.

    python -m tests.safety.starts FOLDER FIRST ROUNDS → one JSON line: what went wrong, by round

Each round is a fork in which nothing is configured yet. It has hung when it does not end: nothing here waits for long.
"""

from __future__ import annotations

import faulthandler
import gc
import itertools
import json
import os
import random
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path

import walltime
from walltime import errors, runtime
from walltime.core.execution import current
from walltime.core.transaction import clock

from tests.slowness import HANGS_AFTER_S

THREADS, EACH = 8, 5
made = itertools.count()


def transact(n: int = 0) -> None:
    if n % 2:
        next(made)
        opened = runtime.Open("held", "internal", None, clock())
        opened.enter()
        opened.end_response()
        opened.finish()
    else:
        around = current()
        if around is None or around.transaction.duration_ns:  # else it is a component of that one
            next(made)
        with walltime.transaction("plain"), walltime.component("step"):
            pass


class Garbage:
    """Its destructor runs wherever Python collects garbage."""

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        if sys.version_info >= (3, 12):
            transact()
        else:  # there, Python may crash when a destructor sets a context variable
            walltime.counters()
            walltime.flush(0)


def fork() -> None:
    pid = os.fork()
    if not pid:
        status = 3
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(HANGS_AFTER_S // 2)  # not faulthandler: its own thread is the parent's
            with walltime.transaction("child"):
                pass
            counts = walltime.counters() if walltime.flush(HANGS_AFTER_S) else {}
            kept = counts.get("file_written", 0) + counts.get("lost_queue_full", 0)
            status = 0 if kept >= 1 and not errors.contained else 4
        finally:
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert status == 0, f"a child ended with {status}"


def play(file: Path, chance: random.Random) -> None:
    """One round, in a process of its own."""
    faulthandler.dump_traceback_later(HANGS_AFTER_S, exit=True)
    sys.setswitchinterval(1e-5)
    gc.set_threshold(chance.choice([20, 700]))
    os.environ.update(OTEL_TRACES_EXPORTER="none", WALLTIME_JSON_LINES=str(file), WALLTIME_SAMPLE_HZ="1000")
    os.environ["WALLTIME_EXIT_TIMEOUT"] = str(HANGS_AFTER_S)
    troubles: list[str] = []
    barrier = threading.Barrier(THREADS + 4)
    stops = chance.random() < 0.3
    signals = chance.random() < 0.5
    garbage = not signals or sys.version_info >= (3, 12)  # as the signal may come in a destructor

    def beside(act: Callable[[], object]) -> threading.Thread:
        def run() -> None:
            try:
                barrier.wait()
                act()
            except Exception:  # noqa: BLE001
                troubles.append(traceback.format_exc())

        thread = threading.Thread(target=run)
        thread.start()
        return thread

    def work() -> None:
        for n in range(EACH):
            transact(n)
            if garbage:
                Garbage()

    def configure() -> None:
        for _ in range(chance.randrange(4)):
            walltime.configure(sample_hz=chance.choice([0, 1000]))

    def flush() -> None:
        for _ in range(3):
            assert walltime.flush(HANGS_AFTER_S)
            walltime.counters()

    def handle(*_: object) -> None:
        transact()
        walltime.flush(0)

    if signals:
        signal.signal(signal.SIGALRM, handle)
        signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
    threads = [beside(work) for _ in range(THREADS)]
    threads += [beside(fork), beside(flush), beside(configure)]
    threads += [beside(walltime.shutdown if stops else configure)]
    for thread in threads:
        thread.join()
    signal.setitimer(signal.ITIMER_REAL, 0)
    gc.collect()
    assert walltime.flush(HANGS_AFTER_S)
    walltime.shutdown()
    counts = walltime.counters()
    bills = [json.loads(line) for line in file.read_text().splitlines()]
    own = sum(bill["resource"]["process.pid"] == os.getpid() for bill in bills)  # the others are of a child
    total = next(made)
    assert not troubles, troubles
    assert not errors.contained, errors.contained
    assert counts.get("file_written", 0) == own, (counts, own)
    assert counts["file_written"] + counts["lost_queue_full"] == total, (counts, total)
    assert stops or not counts["lost_queue_full"], counts


def main() -> None:
    folder, first, rounds = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    wrong = {}
    for number in range(first, first + rounds):
        pid = os.fork()
        if not pid:
            try:
                play(folder / f"{number}.json", random.Random(number))
                os._exit(0)
            except BaseException:  # noqa: BLE001
                traceback.print_exc()
            finally:
                os._exit(1)
        if status := os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]):
            wrong[number] = status
    print(json.dumps(wrong))


if __name__ == "__main__":
    main()
