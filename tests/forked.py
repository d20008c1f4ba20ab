"""
Starts `walltime serve` in forks of one process that has imported it: 0.3 s of CPU instead of 0.9.

    python -m tests.forked SOCKET

SOCKET is the number of an inherited one. A message has the arguments and the environment, and stdin, stdout and stderr
as file descriptors; the answer is the number of the new process.
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import gc
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_PR_SET_CHILD_SUBREAPER = 36
_lock = threading.Lock()


class Forked(subprocess.Popen[str]):
    """Like `Popen`: the process is a child of this one, by this one's adopting an orphan."""

    def _execute_child(self, args: Sequence[object], *rest: Any) -> None:
        """Instead of fork and exec. Of what Popen passes only the environment and the streams are used."""
        environment: Mapping[str, str] = rest[5]
        pipes = rest[9:15]  # each the child's and this process's end, of stdin, or the other way round
        request = json.dumps({"arguments": list(map(str, args)), "environment": dict(environment)})
        with _lock:
            control = _forking()
            ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
            try:
                socket.send_fds(control, [request.encode()], [pipes[0], pipes[3], pipes[5]])
                self.pid = int(control.recv(100))
            finally:
                ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 0)
        self._child_created = True
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]


@functools.cache
def _forking() -> socket.socket:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    command = [sys.executable, "-m", "tests.forked", str(theirs.fileno())]
    process = subprocess.Popen(command, cwd=Path(__file__).parents[1], pass_fds=[theirs.fileno()])
    theirs.close()

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


def main() -> None:
    """Fork until the socket is closed; in each fork, run the command."""
    # here, because tests import this module; a collector imports its web application at its start: 0.15 s of CPU
    from walltime_collector import cli, serve  # noqa: F401
    from walltime_collector.web import application, dead_letters  # noqa: F401

    control = socket.socket(fileno=int(sys.argv[1]))
    gc.freeze()
    while True:
        request, streams, _, _ = socket.recv_fds(control, 2**20, 3)
        if not request:
            return None
        if starter := os.fork():
            os.waitpid(starter, 0)
            for each in streams:
                os.close(each)
            continue
        starter = os.getpid()
        if os.fork():
            os._exit(0)
        while os.getppid() == starter:
            time.sleep(0.001)
        control.send(str(os.getpid()).encode())
        control.close()
        _become(streams, **json.loads(request))
        return cli.main()


def _become(streams: Sequence[int], arguments: Sequence[str], environment: Mapping[str, str]) -> None:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    # a stream knows from its beginning whether it can be sought in
    sys.stdout, sys.stderr = (os.fdopen(number, "w", 1, encoding="utf-8", closefd=False) for number in (1, 2))
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = list(arguments)


if __name__ == "__main__":
    main()
