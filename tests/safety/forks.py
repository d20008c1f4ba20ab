"""
Forks many times while threads of the parent handle requests; each child handles one.

    python -m tests.safety.forks ENDPOINT FORKS → one JSON line
"""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
import threading

import walltime

from tests.slowness import HANGS_AFTER_S

THREADS = 8


def work(name: str) -> None:
    with walltime.transaction(name), walltime.component("step"):
        pass


def main() -> None:
    endpoint, forks = sys.argv[1], int(sys.argv[2])
    walltime.configure(endpoint=endpoint, service_name="forks", export_delay_s=0.01, max_queue=1_000_000)
    over = threading.Event()
    worked = [0] * THREADS

    def storm(n: int) -> None:
        while not over.is_set():
            for _ in range(20):
                work("parent")
                worked[n] += 1
                logging.getLogger("storm").debug("a lock that is often held")
            over.wait(0.005)

    threads = [threading.Thread(target=storm, args=(n,)) for n in range(THREADS)]
    for thread in threads:
        thread.start()
    children = [fork(n) for n in range(forks)]
    over.set()
    for thread in threads:
        thread.join()
    flushed = walltime.flush(60)
    bad = [status for status in children if status != 0]
    print(json.dumps({"bad": bad, "worked": sum(worked), "flushed": flushed, "counters": walltime.counters()}))


def fork(n: int) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            signal.alarm(HANGS_AFTER_S)
            work(f"child {n}")
            os._exit(0 if walltime.flush(HANGS_AFTER_S) else 3)
        finally:
            os._exit(4)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


if __name__ == "__main__":
    main()
