"""Keeps the embedded engine's process running: spawned, never forked; started again when it ends or hangs."""

from __future__ import annotations

import contextlib
import logging
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ...errors import EngineEnded, EngineHung, EngineUnavailable
from ..engine import Piece
from .channel import CLOSE, CONNECTION, KEPT_MEMORY, WRITE_FAILED, receive, send
from .memory import ENVIRONMENT

log = logging.getLogger(__name__)

READY_WAIT_S = 20.0
"""How long a caller waits for the process to be ready."""

_POLL_S = 0.25  # how often a waiting caller looks whether its time limit has become shorter
_CLOSE_S = 3.0
_WELL_S = 30.0  # a process that has run this long was well: the next restart is fast again
_PATIENCE_S = 1.0  # while the wait before a restart is shorter than this, callers wait for the restart
_FIRST_RETRY_S = 0.2
_LAST_RETRY_S = 15.0

# The variables that the process inherits: none that could be a secret, because it runs SQL from outside.
_ENVIRONMENT = {
    *("PATH", "HOME", "TMPDIR", "TZ", "LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH", "LD_PRELOAD"),
    *("PYTHONHOME", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV", "FAKETIME"),
}


class Child:
    """
    The engine's process (process.py), started again whenever it ends, until `close`.

    Args:
        name: Of the database, for messages.
        inherited: File descriptors that the process holds as long as it runs.
        count: Called with `engine_restarts` at each restart.
    """

    def __init__(
        self, name: str, arguments: Sequence[str], inherited: Sequence[int], count: Callable[[str], object]
    ) -> None:
        self._name, self._arguments, self._inherited, self._count = name, arguments, inherited, count
        self._changed = threading.Condition()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._idle: list[_Connection] = []
        self._named: dict[str, _Connection] = {}
        self._killed: subprocess.Popen[bytes] | None = None
        self._failure = ""
        self._status = 0
        self._is_closing = False
        # one thread starts all processes: the kernel ends a child with the thread that started it
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)
        self._thread.start()

    def request(
        self, header: dict[str, Any], content: Iterable[Piece] = (), *, within_s: float, name: str = ""
    ) -> tuple[dict[str, Any], bytes]:
        """
        Send one request; wait for its response, which has an `error` when it failed, and for its result.

        Args:
            name: For `shorten_time_limit`; no other running request has it.

        Raises:
            EngineUnavailable: The process is not there, it ended during the request (EngineEnded), or it did not answer
                within `within_s` (EngineHung). A process that hangs is killed: nothing else ends such a statement.
        """
        connection = self._send(header, list(content), within_s)
        try:
            self._wait(connection, name)
            response, result = receive(connection.socket)
        except TimeoutError as error:
            raise self._kill(connection, f"{header['verb']} {name}".strip()) from error
        except (EOFError, OSError) as error:
            connection.socket.close()
            self._wait_for_the_end(connection.process, _CLOSE_S)  # the next request must not meet what is left of it
            raise EngineEnded(
                f"{self._name} ended before it answered; it is started again",
                was_killed=connection.process is self._killed,
            ) from error
        except BaseException:
            connection.socket.close()  # its response must not be taken for the next one's
            raise
        with self._changed:
            if connection.process is self._process and not self._is_closing:
                self._idle.append(connection)
            else:
                connection.socket.close()
        return response, result

    def shorten_time_limit(self, name: str, within_s: float) -> None:
        """Wait at most that long from now for the request of that name; do nothing if there is none."""
        with self._changed:
            if connection := self._named.get(name):
                connection.shorten(within_s)

    def close(self) -> None:
        """End the process, orderly if possible, and wait until it has ended; a second call is harmless."""
        with self._changed:
            self._is_closing = True
            self._changed.notify_all()
            process, control = self._process, self._control
            if control is not None:
                with contextlib.suppress(OSError):
                    control.send(CLOSE)
        if process is not None:
            try:
                process.wait(_CLOSE_S if control is not None else 0)
            except subprocess.TimeoutExpired:
                process.kill()
        self._thread.join()

    def _send(self, header: dict[str, Any], content: Sequence[Piece], within_s: float) -> _Connection:
        while True:
            connection = self._take()
            try:
                connection.begin(within_s)
                send(connection.socket, header, content)
            except TimeoutError as error:
                raise self._kill(connection, header["verb"]) from error
            except OSError:  # it has ended before it had the whole request, so the next process may run it
                connection.socket.close()
                self._wait_for_the_end(connection.process)
            except BaseException:
                connection.socket.close()
                raise
            else:
                return connection

    def _wait(self, connection: _Connection, name: str) -> None:
        """Return when there is something to read; raise TimeoutError after the time limit, which may become shorter."""
        if name:
            with self._changed:
                self._named[name] = connection
        try:
            poll = select.poll()
            poll.register(connection.socket, select.POLLIN)
            while not poll.poll(1000 * min(max(connection.left_s(), 0), _POLL_S)):
                if connection.left_s() <= 0:
                    raise TimeoutError
        finally:
            with self._changed:
                self._named.pop(name, None)

    def _wait_for_the_end(self, process: subprocess.Popen[bytes], within_s: float = READY_WAIT_S) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._process is not process, within_s)

    def _kill(self, connection: _Connection, what: str) -> EngineHung:
        connection.socket.close()
        waited = f"did not answer within {connection.limit_s:g} s"
        with self._changed:
            is_first = connection.process is self._process and self._killed is not connection.process
            self._killed = connection.process
        if is_first:
            log.warning("%s %s and is killed: a %s does not end otherwise", self._name, waited, what)
        connection.process.kill()
        return EngineHung(f"{self._name} {waited}; it is started again")

    def _take(self) -> _Connection:
        with self._changed:
            self._changed.wait_for(lambda: self._control or self._failure or self._is_closing, READY_WAIT_S)
            if self._control is None or self._process is None or self._is_closing:
                raise EngineUnavailable(f"{self._name} {self._failure or 'is not ready'}; try again")
            if self._idle:
                return self._idle.pop()
            process = self._process
            try:
                return _Connection(self._control, process)
            except (BrokenPipeError, ConnectionError):  # it is ending now
                if self._changed.wait_for(lambda: self._process is not process, _CLOSE_S):
                    return self._take()
                raise EngineUnavailable(f"{self._name} is ending; try again") from None
            except OSError as error:
                raise EngineUnavailable(f"{self._name} takes no connection now: {error.strerror}; try again") from error

    def _run(self) -> None:
        retry_s = _FIRST_RETRY_S
        is_logged = False
        while True:
            started_s = time.monotonic()
            try:
                failure = self._live()
            except OSError as error:  # no memory, no file descriptors, no program: this thread must go on
                failure = f"cannot be started: {error}"
            with self._changed:
                self._process = None
                if self._is_closing:
                    return
                if time.monotonic() - started_s > _WELL_S:
                    retry_s, is_logged = _FIRST_RETRY_S, False
                if retry_s > _PATIENCE_S or not failure.startswith("ended"):
                    self._failure = failure
                    self._changed.notify_all()
                self._count("engine_restarts")
                if not is_logged:
                    log.warning("%s %s; it is started again until it runs", self._name, failure)
                is_logged = True
                if self._changed.wait_for(lambda: self._is_closing, retry_s):
                    return
                self._failure = ""
            retry_s = min(retry_s * 2, _LAST_RETRY_S)

    def _live(self) -> str:
        """Start the process, wait until it ends, and return why it ended."""
        ours, its = socket.socketpair()
        with ours:
            with its:
                process = self._start(its)
            try:
                message, _ = receive(ours)
            except (EOFError, OSError):
                message = {}
            if "ready" in message:
                with self._changed:
                    self._control = ours
                    if self._is_closing:
                        process.kill()
                    self._changed.notify_all()
            self._status = status = process.wait()
            with self._changed:
                self._control = self._process = None
                self._changed.notify_all()
                while self._idle:
                    self._idle.pop().socket.close()
        if "failed" in message:
            return f"does not open: {message['failed']}"
        if status == WRITE_FAILED:
            return "ended itself because a file could not be written: see to its disk"
        if status == KEPT_MEMORY:
            return "ended because it kept too much memory"
        return f"ended ({signal.Signals(-status).name if status < 0 else f'status {status}'})"

    def _start(self, control: socket.socket) -> subprocess.Popen[bytes]:
        with self._changed:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    f"{__package__}.process",
                    str(control.fileno()),
                    str(self._status),
                    *self._arguments,
                ],
                pass_fds=(control.fileno(), *self._inherited),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env={name: value for name, value in os.environ.items() if name in _ENVIRONMENT} | ENVIRONMENT,
                cwd="/",  # Python looks for modules here first, and nobody but root can put one here
            )
            return self._process


class _Connection:
    def __init__(self, control: socket.socket, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.limit_s = self._began_s = 0.0
        self.socket, its = socket.socketpair()
        with its:
            try:
                socket.send_fds(control, [CONNECTION], [its.fileno()])
            except OSError:
                self.socket.close()
                raise

    def begin(self, within_s: float) -> None:
        self._began_s, self.limit_s = time.monotonic(), within_s
        self.socket.settimeout(within_s)

    def shorten(self, within_s: float) -> None:
        """Let the request take that many seconds from now, but never more than it had."""
        self.limit_s = round(min(self.limit_s, time.monotonic() - self._began_s + within_s), 2)

    def left_s(self) -> float:
        return self._began_s + self.limit_s - time.monotonic()
