"""
Run a command that ends when the process that started it ends, even by kill -9: `leash.py PARENT COMMAND…`.

A program of its own: what must happen between fork and exec is not safe in a parent with threads. Linux ties
the command to the *thread* that started it, so start services from a thread that lives as long as they do.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    parent, command = int(sys.argv[1]), sys.argv[2:]
    os.setpgid(0, 0)  # Ctrl-C reaches the one who started us, who then stops everybody in the right order
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:
        sys.exit("leash: the process that started this one is gone already")
    os.execvp(command[0], command)  # noqa: S606 - becoming the command is the point


if __name__ == "__main__":
    main()
