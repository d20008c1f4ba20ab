"""
One child process that serves: started until it answers, stopped by its own pid, gone with its parent.

services.py says what MariaDB, memcached and gunicorn are; this is what holds for all of them.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TypeVar

import pymysql

LOOPBACK = "127.0.0.1"
LEASH = Path(__file__).with_name("leash.py")
PORT_TAKEN = re.compile(r"address already in use|failed to listen", re.IGNORECASE)
SBIN = ("/usr/local/sbin", "/usr/sbin", "/sbin")  # where Debian keeps mariadbd, and not on everybody's PATH

ServiceT = TypeVar("ServiceT", bound="Service")


class ServiceError(Exception):
    """A server could not be started or stopped; the message ends with the tail of its log."""


class ProgramMissingError(ServiceError):
    """A server's program is not installed; the message says what to install."""


class Service:
    """
    One child process: `start` returns when it answers, `stop` ends it by its own pid.

    Output goes to `<folder>/<name>.log`. A service that was stopped or killed can be started again on the
    same port and, where it keeps data, with the same data.
    """

    starts_within_s = 30.0
    stops_within_s = 10.0

    def __init__(self, name: str, folder: Path, environment: Mapping[str, str] | None = None) -> None:
        self.name = name
        self.folder = folder
        self.environment = dict(environment or {})
        self.log = folder / f"{name}.log"
        self.port = 0
        self.process: subprocess.Popen[bytes] | None = None
        self.log_start = 0
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    # What a kind of server says about itself.

    def command(self) -> Sequence[str | Path]:
        """The program and its arguments; `port` and the folder are decided when this is called."""
        raise NotImplementedError

    def answers(self) -> bool:
        """Whether the server is ready to serve; called until it is, errors of connecting are taken as no."""
        raise NotImplementedError

    def prepare(self) -> None:
        """What has to be there before the process starts."""

    # What holds for all of them.

    @property
    def pid(self) -> int:
        if self.process is None:
            raise ServiceError(f"{self.name} has no pid: it is not running")
        return self.process.pid

    @property
    def address(self) -> str:
        return f"{LOOPBACK}:{self.port}"

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def start(self: ServiceT) -> ServiceT:
        """
        Start the process and wait until it answers.

        Raises:
            ProgramMissingError: The program is not installed.
            ServiceError: It ended, or did not answer in time. Nothing is left running.
        """
        self.prepare()
        may_move = self.port == 0
        for attempts_left in (2, 1, 0):
            try:
                self._launch()
                self._wait_until_it_answers()
            except BaseException as problem:
                self.kill()
                lost_the_race = isinstance(problem, ServiceError) and PORT_TAKEN.search(self.output())
                if not (lost_the_race and may_move and attempts_left):
                    raise
                self.port = 0  # somebody took the port between our look and the server's bind
            else:
                break
        return self

    def stop(self) -> None:
        """
        Ask the process to end and wait for it; harmless when it is not running.

        Raises:
            ServiceError: It took longer than `stops_within_s` and was killed.
        """
        if self.process is None:
            return
        if self.is_running:
            self.process.terminate()
            try:
                self.process.wait(self.stops_within_s)
            except subprocess.TimeoutExpired:
                self.kill()
                late = f"{self.name} did not stop within {self.stops_within_s:.0f} s and was killed."
                raise ServiceError(late + self.log_tail()) from None
        self.kill()

    def kill(self) -> None:
        """SIGKILL to the process and to what it started; harmless when it is gone."""
        if self.process is None:
            return
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):  # nobody of that group left
            if self.is_running:
                self.process.kill()
        self.process.wait()
        self.process = None

    def output(self) -> str:
        """What the process has said since its last start."""
        if not self.log.exists():
            return ""
        with self.log.open("rb") as log:
            log.seek(self.log_start)
            return log.read().decode(errors="replace")

    def log_tail(self, lines: int = 15) -> str:
        tail = self.output().splitlines()[-lines:]
        return "\n".join([f" The end of {self.log}:", *(f"    {line}" for line in tail)]) if tail else ""

    def _launch(self) -> None:
        self.log_start = self.log.stat().st_size if self.log.exists() else 0
        command = [sys.executable, "-I", "-S", LEASH, str(os.getpid()), *self.command()]
        descriptor = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            self.process = subprocess.Popen(
                command,
                cwd=self.folder,
                env={**os.environ, **self.environment},
                stdin=subprocess.DEVNULL,
                stdout=descriptor,
                stderr=subprocess.STDOUT,
            )
        finally:
            os.close(descriptor)

    def _wait_until_it_answers(self) -> None:
        deadline = time.monotonic() + self.starts_within_s
        while self.process is not None and time.monotonic() < deadline:
            if (status := self.process.poll()) is not None:
                raise ServiceError(f"{self.name} ended with status {status} at its start.{self.log_tail()}")
            try:
                if self.answers():
                    return
            except (OSError, pymysql.Error):
                pass
            time.sleep(0.02)
        raise ServiceError(f"{self.name} did not answer within {self.starts_within_s:.0f} s.{self.log_tail()}")

    def __enter__(self: ServiceT) -> ServiceT:
        return self if self.is_running else self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.stop()


class Program(Service):
    """Any program that says on its output when it is ready; `ready` holds the match of that line."""

    def __init__(
        self,
        name: str,
        folder: Path,
        command: Sequence[str | Path],
        ready: str,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(name, folder, environment)
        self.arguments = list(command)
        self.ready_line = re.compile(ready)
        self.ready: re.Match[str] | None = None

    def command(self) -> Sequence[str | Path]:
        return self.arguments

    def answers(self) -> bool:
        self.ready = self.ready_line.search(self.output())
        return self.ready is not None


def program(name: str, package: str) -> str:
    """The path of an installed program, or ProgramMissingError with the package that brings it."""
    path = shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), *SBIN]))
    if path is None:
        raise ProgramMissingError(f"{name} is not installed. Install it, for example: sudo apt-get install {package}")
    return path


def free_port() -> int:
    """A loopback port nobody listens on now; somebody may still be faster, so `Service.start` tries again."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])
