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
from .channel import CLOSE, LANE, receive, send

log = logging.getLogger(__name__)

WAIT_S = 20.0
"""So long a caller waits for the process to be ready."""

_LOOK_S = 0.25  # so often a waiting caller looks whether it is to wait less
_CLOSE_S = 3.0
_WELL_S = 30.0
_PATIENCE_S = 1.0
_FIRST_RETRY_S = 0.2
_LAST_RETRY_S = 15.0

# What the process gets of our environment: nothing that could be a secret, for it runs other people's SQL.
_ENVIRONMENT = {
    *("PATH", "HOME", "TMPDIR", "TZ", "LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH", "LD_PRELOAD"),
    *("PYTHONHOME", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV", "FAKETIME"),
}


class Child:
    """
    The process behind `arguments` (of process.py) for as long as this lives, whatever happens to it.

    Args:
        name: Of the database, for messages.
        inherited: File descriptors it holds as long as it lives.
        count: Called with `engine_restarts` when it had to be started again.
    """

    def __init__(
        self, name: str, arguments: Sequence[str], inherited: Sequence[int], count: Callable[[str], object]
    ) -> None:
        self._name, self._arguments, self._inherited, self._count = name, arguments, inherited, count
        self._changed = threading.Condition()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._lanes: list[_Lane] = []
        self._named: dict[str, _Lane] = {}
        self._killed: subprocess.Popen[bytes] | None = None
        self._failure = ""
        self._is_closing = False
        # one thread starts them all: the kernel ends a child with the thread that started it
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)
        self._thread.start()

    def ask(
        self, said: dict[str, Any], content: Iterable[Piece] = (), *, within_s: float, name: str = ""
    ) -> tuple[dict[str, Any], bytes]:
        """
        Send one question and wait for its answer: what it says, with an `error` when it failed, and the result.

        Args:
            name: For `hurry`; no other question that is on its way has it.

        Raises:
            EngineUnavailable: The process is not there, ended while it was asked (EngineEnded), or did not answer
                within `within_s` (EngineHung); then it is killed, because what hangs in it cannot be ended otherwise.
        """
        lane = self._asked(said, content, within_s)
        try:
            self._wait(lane, name)
            answer, result = receive(lane.socket)
        except TimeoutError as error:
            raise self._hanging(lane, f"{said['verb']} {name}".strip()) from error
        except (EOFError, OSError) as error:
            lane.socket.close()
            self._wait_for_the_end(lane.process, _CLOSE_S)  # whoever asks again must not meet what is left of it
            raise EngineEnded(
                f"{self._name} ended while it was asked; it is started again", was_killed=lane.process is self._killed
            ) from error
        except BaseException:
            lane.socket.close()  # its answer, when it comes, must not be the next one's
            raise
        with self._changed:
            if lane.process is self._process and not self._is_closing:
                self._lanes.append(lane)
            else:
                lane.socket.close()
        return answer, result

    def hurry(self, name: str, within_s: float) -> None:
        """Wait no longer than that for the answer to the question of that name; nothing if it is not on its way."""
        with self._changed:
            if lane := self._named.get(name):
                lane.give_s(within_s)

    def close(self) -> None:
        """End the process, in good order if it can, and wait until it has ended; again is harmless."""
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

    def _asked(self, said: dict[str, Any], content: Iterable[Piece], within_s: float) -> _Lane:
        pieces = list(content)
        while True:
            lane = self._take()
            try:
                lane.give_s(within_s, is_new=True)
                lane.socket.settimeout(within_s)
                send(lane.socket, said, pieces)
            except TimeoutError as error:
                raise self._hanging(lane, said["verb"]) from error
            except OSError:  # it has ended, and what was not sent whole is not done: the next one may do it
                lane.socket.close()
                self._wait_for_the_end(lane.process)
            except BaseException:
                lane.socket.close()
                raise
            else:
                return lane

    def _wait(self, lane: _Lane, name: str) -> None:
        """Return when there is something to read; TimeoutError when its time is over, which may get shorter."""
        if name:
            with self._changed:
                self._named[name] = lane
        try:
            coming = select.poll()
            coming.register(lane.socket, select.POLLIN)
            while not coming.poll(1000 * min(max(lane.left_s(), 0), _LOOK_S)):
                if lane.left_s() <= 0:
                    raise TimeoutError
        finally:
            with self._changed:
                self._named.pop(name, None)

    def _wait_for_the_end(self, process: subprocess.Popen[bytes], within_s: float = WAIT_S) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._process is not process, within_s)

    def _hanging(self, lane: _Lane, what: str) -> EngineHung:
        lane.socket.close()
        waited = f"did not answer within {lane.given_s:g} s"
        with self._changed:
            is_first = lane.process is self._process and self._killed is not lane.process
            self._killed = lane.process
        if is_first:
            log.warning("%s %s and is killed: a %s does not end otherwise", self._name, waited, what)
        lane.process.kill()
        return EngineHung(f"{self._name} {waited}; it is started again")

    def _take(self) -> _Lane:
        with self._changed:
            self._changed.wait_for(lambda: self._control or self._failure or self._is_closing, WAIT_S)
            if self._control is None or self._process is None or self._is_closing:
                raise EngineUnavailable(f"{self._name} {self._failure or 'is not ready'}; try again")
            if self._lanes:
                return self._lanes.pop()
            process = self._process
            try:
                return _Lane(_open_lane(self._control), process)
            except (BrokenPipeError, ConnectionError):  # it is ending now
                if self._changed.wait_for(lambda: self._process is not process, _CLOSE_S):
                    return self._take()
                raise EngineUnavailable(f"{self._name} is ending; try again") from None
            except OSError as error:
                raise EngineUnavailable(f"{self._name} cannot be asked now: {error.strerror}; try again") from error

    def _run(self) -> None:
        retry_s = _FIRST_RETRY_S
        is_known = False
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
                    retry_s, is_known = _FIRST_RETRY_S, False
                if retry_s > _PATIENCE_S or not failure.startswith("ended"):  # who asks now is told at once
                    self._failure = failure
                    self._changed.notify_all()
                self._count("engine_restarts")
                if not is_known:
                    log.warning("%s %s; starting it again, and again if need be", self._name, failure)
                is_known = True
                if self._changed.wait_for(lambda: self._is_closing, retry_s):
                    return
                self._failure = ""
            retry_s = min(retry_s * 2, _LAST_RETRY_S)

    def _live(self) -> str:
        """One life of the process, from its start until its end; returns what became of it."""
        ours, its = socket.socketpair()
        with ours:
            with its:
                process = self._start(its)
            try:
                said, _ = receive(ours)
            except (EOFError, OSError):
                said = {}
            if "ready" in said:
                self._open(process, ours)
            status = process.wait()
            self._shut()
        if "failed" in said:
            return f"does not open: {said['failed']}"
        return f"ended ({signal.Signals(-status).name if status < 0 else f'status {status}'})"

    def _start(self, control: socket.socket) -> subprocess.Popen[bytes]:
        inherited = (control.fileno(), *self._inherited)
        with self._changed:
            self._process = subprocess.Popen(
                [sys.executable, "-m", f"{__package__}.process", str(control.fileno()), *self._arguments],
                pass_fds=inherited,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env={name: value for name, value in os.environ.items() if name in _ENVIRONMENT},
                cwd="/",  # where Python looks for modules first: nobody but root can put one there
            )
            return self._process

    def _open(self, process: subprocess.Popen[bytes], control: socket.socket) -> None:
        with self._changed:
            self._control = control
            if self._is_closing:
                process.kill()
            self._changed.notify_all()

    def _shut(self) -> None:
        with self._changed:
            self._control = self._process = None
            self._changed.notify_all()
            for lane in self._lanes:
                lane.socket.close()
            self._lanes.clear()


class _Lane:
    def __init__(self, ours: socket.socket, process: subprocess.Popen[bytes]) -> None:
        self.socket, self.process = ours, process
        self.given_s = self._asked_s = 0.0

    def give_s(self, within_s: float, *, is_new: bool = False) -> None:
        """Let it answer within so many seconds from now; without `is_new`, never longer than it had."""
        now_s = time.monotonic()
        if is_new:
            self._asked_s, self.given_s = now_s, within_s
        self.given_s = round(min(self.given_s, now_s - self._asked_s + within_s), 2)

    def left_s(self) -> float:
        return self._asked_s + self.given_s - time.monotonic()


def _open_lane(control: socket.socket) -> socket.socket:
    ours, its = socket.socketpair()
    with its:
        try:
            socket.send_fds(control, [LANE], [its.fileno()])
        except OSError:
            ours.close()
            raise
    return ours
