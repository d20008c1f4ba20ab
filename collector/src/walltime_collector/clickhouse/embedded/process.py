"""
The embedded engine's own process: owns chDB, and serves the collector on the connections that it is handed.

    python -m walltime_collector.clickhouse.embedded.process CONTROL STATUS DIRECTORY DATABASE CRASHPOINT

CONTROL is the number of an inherited socket. The process sends `{"ready": true}` or `{"failed": "why"}` on it, once;
the collector then sends connections, as file descriptors. The socket closes when the collector ends, for whatever
reason, and this process ends with it. STATUS is that of the process before this one, or 0. CRASHPOINT is empty except
in tests.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

from ... import crashpoint
from .channel import CONNECTION, KEPT_MEMORY, WRITE_FAILED, receive, send
from .memory import limit_memory, wait_until_large

# chDB imports pyarrow where it can, for formats that are not used here: 0.15 s of CPU at each start, and 37 MB
sys.modules["pyarrow"] = None  # type: ignore[assignment]
from .database import Database, error_text  # noqa: E402

_PR_SET_PDEATHSIG = 1
_LOOK_EVERY_S = 5.0
_running: set[int] = set()
"""The threads in which a request runs."""


def main() -> None:
    """Serve until the collector sends CLOSE or ends."""
    number, status, directory, name, crashpoint.armed = sys.argv[1:]
    _end_only_with_the_collector()
    control = socket.socket(fileno=int(number))
    os.chdir(directory)  # chDB writes some files into the working directory
    try:
        database = Database(Path(directory) / "data", name, is_damaged=status == str(WRITE_FAILED))
    except (RuntimeError, OSError) as error:
        with contextlib.suppress(OSError):
            send(control, {"failed": str(error)})
        os._exit(1)
    _end_if_damaged(database)
    threading.Thread(target=_end_when_damaged, args=(database,), daemon=True).start()
    limit_memory()
    threading.Thread(target=_end_when_large, args=(database,), daemon=True).start()
    with contextlib.suppress(OSError):  # the collector has ended, and nobody waits for what runs here
        send(control, {"ready": True})
        while _accept(control, database):
            pass
        database.close()
    os._exit(0)


def _end_only_with_the_collector() -> None:
    """Ignore the signals that a terminal or a service manager sends to all processes of a group."""
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)
    if sys.platform == "linux":
        # the control socket closes too, but a process that is stopped does not notice
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        with contextlib.suppress(OSError):  # when memory runs out, the kernel ends this process, not the collector
            Path("/proc/self/oom_score_adj").write_text("500")


def _end_when_damaged(database: Database) -> None:
    """End this process soon after a merge could not write, while what it merged is still there: 8 minutes."""
    while True:
        time.sleep(_LOOK_EVERY_S)
        with contextlib.suppress(RuntimeError):
            database.check_writes()
        _end_if_damaged(database)


def _end_if_damaged(database: Database) -> None:
    if database.has_damage:
        os._exit(WRITE_FAILED)


def _end_when_large(database: Database) -> None:
    """End this process when it keeps much memory; the collector starts it again, and repeats what ran."""
    wait_until_large(database.release_memory, lambda: len(_running))
    os._exit(KEPT_MEMORY)


def _accept(control: socket.socket, database: Database) -> bool:
    """Take one message of the control socket; False for CLOSE."""
    message, connections, _, _ = socket.recv_fds(control, 1, 1)
    for each in connections:
        threading.Thread(target=_serve, args=(socket.socket(fileno=each), database), daemon=True).start()
    if not message:
        raise ConnectionError
    return message == CONNECTION


def _serve(connection: socket.socket, database: Database) -> None:
    """Answer one request after the other until the connection is closed."""
    with connection, contextlib.suppress(EOFError, OSError):
        while True:
            try:
                request, content = receive(connection)
            except MemoryError:  # a process that lives on without reading it would be asked again and again
                os._exit(KEPT_MEMORY)
            _running.add(threading.get_ident())
            try:
                response, result = _run(request, content, database)
            finally:
                _running.discard(threading.get_ident())
            del content
            send(connection, response, [result])
            _end_if_damaged(database)


def _run(request: dict[str, Any], content: bytes, database: Database) -> tuple[dict[str, Any], bytes]:
    try:
        verb = request.pop("verb")
        crashpoint.reach_with("engine", content)
        if verb == "read":
            result, summary = database.read(**request)
            return {"summary": summary}, result
        done: bytes | None = getattr(database, verb)(**request, **({"content": content} if verb == "insert" else {}))
    except Exception as error:  # noqa: BLE001 the collector must receive every error
        return {"error": error_text(error)}, b""
    return {}, done or b""


if __name__ == "__main__":
    main()
