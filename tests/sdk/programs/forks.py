"""Forked and spawned children that make transactions and end at once, some inside a transaction of their parent."""

import multiprocessing
import os
import sys
from typing import Any

import walltime

METHOD, CHILDREN = sys.argv[1], int(sys.argv[2])


def child(n: int) -> None:
    with walltime.transaction("child"), walltime.component("step"):
        pass


def fork_in_c() -> int:
    """As uWSGI forks: Python, and what is registered with it, is not told."""
    import ctypes

    return ctypes.PyDLL(None).fork()  # type: ignore[no-any-return]


def fork(function: object) -> None:
    pids = []
    for n in range(CHILDREN):
        pid = function()  # type: ignore[operator]
        if pid == 0:
            child(n)
            os._exit(0 if walltime.flush(10) else 1)
        pids.append(pid)
    assert {os.waitpid(pid, 0)[1] for pid in pids} == {0}


if __name__ == "__main__":
    walltime.configure(sample_probability=1.0)
    if METHOD == "fork in C":  # as a server does it: before there is a request or a thread
        fork(fork_in_c)
    with walltime.transaction("parent"):
        pass
    with walltime.transaction("around"), walltime.component("children"):
        if METHOD == "os.fork":
            fork(os.fork)
        elif METHOD == "fork in C":
            pass
        elif METHOD == "pool":
            with multiprocessing.get_context("fork").Pool(2, maxtasksperchild=5) as pool:
                pool.map(child, range(CHILDREN))
                pool.close()
                pool.join()
        else:
            context: Any = multiprocessing.get_context(METHOD)
            processes = [context.Process(target=child, args=(n,)) for n in range(CHILDREN)]
            for process in processes:
                process.start()
            for process in processes:
                process.join()
                assert process.exitcode == 0
    if METHOD == "os.fork":  # one that leaves its parent's transaction in the child
        with walltime.transaction("left by two"):
            pid = os.fork()
        if pid == 0:
            child(-1)
            os._exit(0 if walltime.flush(10) else 1)
        os.waitpid(pid, 0)
