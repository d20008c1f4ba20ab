"""Real servers for the tests of the collector; those of the shop are in examples/shop/services.py."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar

import httpx
from walltime_collector.clickhouse.embedded.engine import EmbeddedEngine
from walltime_collector.errors import EngineUnavailable

from tests.forked import Forked

FREE_PORTS = ("--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0", "--web", "127.0.0.1:0")
PROTOBUF = {"content-type": "application/x-protobuf"}


class Collector:
    """
    `walltime serve` as a process of its own, on free ports, with its data in `directory`; ready when constructed.

    Args:
        settings: WALLTIME_… variables, by the lower-case rest of their names. What is sent is loaded soon by default.
    """

    options: ClassVar[Sequence[str]] = ()
    """More of the command line."""
    is_first_start: ClassVar[bool] = False
    """Make the tables in the start; otherwise a new directory has them already (`with_tables`)."""
    launcher: ClassVar[Sequence[str]] = ()
    """A program that sets something up and then becomes the collector."""
    is_forked: ClassVar[bool] = False
    """A fork of a process that has imported it, as in most tests; /proc has that process's command and environment."""

    def __init__(self, directory: Path, **settings: str | int | float) -> None:
        self.directory = directory
        if not (self.is_first_start or directory.exists() or "clickhouse" in settings):
            with_tables(directory / "chdb")
        environment = {name: value for name, value in os.environ.items() if not name.startswith("WALLTIME_")}
        settings = {"segment_age_s": 0.5, **settings}  # the first is loaded at once; an INSERT takes 0.2 s of CPU
        environment |= {f"WALLTIME_{name.upper()}": str(value) for name, value in settings.items()}
        walltime = Path(sys.executable).with_name("walltime")
        self._log_path = directory.with_name(directory.name + ".log")
        self._log_file = self._log_path.open("a", encoding="utf-8")
        start = Forked if self.is_forked and not self.launcher else subprocess.Popen
        self.process: subprocess.Popen[str] = start(
            [*self.launcher, walltime, "serve", "--data", directory, *FREE_PORTS, *self.options],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._log_file,
            text=True,
        )
        assert self.process.stdout is not None
        self.ready = self.process.stdout.readline().strip()
        if not self.ready:
            self._ended()
            raise CollectorDied(self.process.returncode, self.log())
        addresses = dict(part.split("=", 1) for part in self.ready.removeprefix("ready ").split())
        self.grpc = addresses["grpc"]
        self.otlp_url = f"http://{addresses['http']}/v1/traces"
        self.web_url = f"http://{addresses['web']}"

    def __enter__(self) -> Collector:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    def send(self, body: bytes, **headers: str) -> httpx.Response:
        """POST to /v1/traces."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return over_http("POST", self.otlp_url, content=body, headers={**PROTOBUF, **named})

    def health(self) -> Any:
        """What /healthz says."""
        return over_http("GET", f"{self.web_url}/healthz").json()

    def wait_until_loaded(self, spans: int, timeout_s: float = 60) -> None:
        """Until so many spans are in the database."""
        eventually(lambda: self.health()["spans"]["stored"] >= spans, timeout_s)

    def stop(self) -> int:
        """SIGTERM; returns the exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self._ended()

    def kill(self) -> None:
        """kill -9."""
        self.process.kill()
        self._ended()

    def log(self) -> str:
        """All that was ever written to stderr with this directory."""
        return self._log_path.read_text(encoding="utf-8")

    def _ended(self) -> int:
        try:
            return self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise
        finally:
            self._log_file.close()
            if self.process.stdout is not None:
                self.process.stdout.close()


class Program(Collector):
    """Started as a user starts it."""

    is_forked = False


class CollectorDied(Exception):
    """It ended before it was ready."""

    def __init__(self, status: int, log: str) -> None:
        super().__init__(f"walltime serve ended with {status}: {log}")
        self.status, self.log = status, log


def with_tables(directory: Path) -> Path:
    """The directory with the database of a first start in it: a copy takes 0.05 s of CPU, making the tables 0.6 s."""
    shutil.copytree(_tables(), directory, symlinks=True, dirs_exist_ok=True, ignore=shutil.ignore_patterns("lock"))
    return directory


@functools.cache
def _tables() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="walltime-tables-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    engine = EmbeddedEngine(folder / "chdb", "walltime")
    eventually(lambda: _is_migrated(engine), 120)
    engine.close()
    return folder / "chdb"


def _is_migrated(engine: EmbeddedEngine) -> bool:
    try:
        engine.migrate()
    except EngineUnavailable:  # a busy machine takes longer to start it than a question waits
        return False
    return True


def over_http(method: str, url: str, *, timeout_s: float = 30, **options: Any) -> httpx.Response:
    """A request over plain HTTP. By default httpx would read the authorities of TLS first: 37 ms of CPU a request."""
    return httpx.request(method, url, verify=False, timeout=timeout_s, **options)  # noqa: S501  no TLS, nothing to verify


def eventually(claim: Callable[[], object], timeout_s: float = 60) -> None:
    """Wait until the claim holds; fail when it does not in time. The longer it takes, the longer the pauses between."""
    deadline_s = time.monotonic() + timeout_s
    pause_s = 0.02
    while not claim():
        assert time.monotonic() < deadline_s, f"not so within {timeout_s} s"
        time.sleep(pause_s)
        pause_s = min(pause_s * 1.2, 0.2)
