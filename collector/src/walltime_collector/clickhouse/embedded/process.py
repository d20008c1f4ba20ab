"""
The embedded engine's own process: owns chDB, and answers the collector on lanes that it is handed.

    python -m walltime_collector.clickhouse.embedded.process CONTROL DIRECTORY DATABASE CRASHPOINT

CONTROL is the number of an inherited socket. On it comes `{"ready": true}` or `{"failed": "why"}`, once; then lanes go
in, as file descriptors. It closes with the collector, however that ended, and this process ends with it. CRASHPOINT is
empty but in tests.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import sys
import threading
from pathlib import Path
from typing import Any

from ... import crashpoint
from .channel import LANE, receive, send
from .database import Database, error_text

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Serve until the collector says CLOSE, or is gone."""
    number, directory, name, crashpoint.armed = sys.argv[1:]
    _outlive_nobody()
    control = socket.socket(fileno=int(number))
    os.chdir(directory)  # where chDB leaves what it has to leave somewhere
    try:
        database = Database(Path(directory) / "data", name)
    except RuntimeError as error:
        with contextlib.suppress(OSError):
            send(control, {"failed": str(error)})
        os._exit(1)
    try:
        send(control, {"ready": True})
        while _admit(control, database):
            pass
        database.close()
    except OSError:
        pass  # the collector is gone, and whatever runs here has nobody to answer to
    os._exit(0)


def _outlive_nobody() -> None:
    """End with the collector, not with what a terminal or a service manager sends to all of its processes."""
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)
    if sys.platform == "linux":
        # the socket's end says it too, but not to a process that is stopped
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        with contextlib.suppress(OSError):  # when memory runs out, the one to end is not the one that receives
            Path("/proc/self/oom_score_adj").write_text("500")


def _admit(control: socket.socket, database: Database) -> bool:
    said, lanes, _, _ = socket.recv_fds(control, 1, 1)
    for lane in lanes:
        threading.Thread(target=_answer, args=(socket.socket(fileno=lane), database), daemon=True).start()
    if not said:
        raise ConnectionError
    return said == LANE


def _answer(lane: socket.socket, database: Database) -> None:
    """One question after the other, until the lane is closed."""
    with lane, contextlib.suppress(EOFError, OSError):
        while True:
            said, content = receive(lane)
            answer, result = _done(said, content, database)
            del content
            send(lane, answer, [result])


def _done(said: dict[str, Any], content: bytes, database: Database) -> tuple[dict[str, Any], bytes]:
    try:
        verb = said.pop("verb")
        crashpoint.reach_with("engine", content)
        if verb == "read":
            result, summary = database.read(**said)
            return {"summary": summary}, result
        done: bytes | None = getattr(database, verb)(**said, **({"content": content} if verb == "insert" else {}))
    except Exception as error:  # noqa: BLE001 whatever it is, the one who asked must hear of it
        return {"error": error_text(error)}, b""
    return {}, done or b""


if __name__ == "__main__":
    main()
