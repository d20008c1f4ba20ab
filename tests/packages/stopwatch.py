"""
How long the pages of "Getting started" take, each from nothing: a new virtual environment, the built wheels, the
commands as they are typed, until `walltime find` lists the first bill. Reading and typing are not counted.

    python -m tests.packages.stopwatch [PAGE …]       prints the table of docs/install.md
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from shop.process import free_port

from tests.docs.blocks import blocks
from tests.docs.site import ROOT
from tests.redis_server import RedisServer
from tests.servers import eventually

PAGES = sorted(path.stem for path in (ROOT / "docs" / "start").glob("*.md"))
ENVIRONMENT = "python3 -m venv .venv && . .venv/bin/activate"
_VISIBLE_WITHIN_S = 60.0


def build(dist: Path) -> None:
    for package in ("sdk", "collector"):
        command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(dist), str(ROOT / package)]
        subprocess.run(command, check=True, capture_output=True)


class Reader:
    """Somebody who follows one page in an empty home directory; `steps` are the commands with their seconds."""

    def __init__(self, page: str, home: Path, dist: Path, redis: str) -> None:
        ports = {name: f"127.0.0.1:{free_port()}" for name in ("grpc", "http", "web")}
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("WALLTIME_", "OTEL_", "PIP_"))
        }
        self._environment = {
            **kept,
            "HOME": str(home),
            "PATH": f"{home}/.venv/bin:{os.environ['PATH']}",
            "PIP_NO_CACHE_DIR": "1",
            "PIP_FIND_LINKS": str(dist),  # the packages are on no registry
            **{f"WALLTIME_{name.upper()}": address for name, address in ports.items()},
            "WALLTIME_URL": f"http://{ports['web']}",
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://{ports['http']}",
            "REDIS_URL": f"redis://{redis}",
        }
        self._home, self._port, self._web = home, free_port(), ports["web"]
        self._blocks = [each for each in blocks() if each.page == Path("docs", "start", f"{page}.md")]
        self.steps: list[tuple[str, float]] = []

    def follow(self) -> None:
        with ExitStack() as running:
            self._timed(ENVIRONMENT, lambda: self._run("python3 -m venv .venv"))
            for block in self._blocks:
                if block.title:
                    (self._home / block.title).write_text(block.text.replace("127.0.0.1:8464", self._web))
            for line in "\n".join(each.text for each in self._blocks if each.language == "shell").splitlines():
                here = line.replace("8000", str(self._port))
                if line.endswith(" &"):
                    self._timed(line, lambda here=here: running.enter_context(self._started(here.removesuffix(" &"))))
                elif line.startswith("walltime find"):
                    self._timed(
                        line, lambda here=here: eventually(lambda: " ms" in self._run(here, 1), _VISIBLE_WITHIN_S)
                    )
                    return
                elif line:
                    self._timed(line, lambda here=here: self._run(here))

    def _timed(self, line: str, step: object) -> None:
        assert callable(step)
        began_s = time.monotonic()
        step()
        self.steps.append((line, time.monotonic() - began_s))

    def _run(self, line: str, *also_fine: int) -> str:
        command = ["sh", "-c", line]
        done = subprocess.run(
            command, cwd=self._home, env=self._environment, capture_output=True, text=True, check=False, timeout=900
        )
        assert done.returncode in (0, *also_fine), f"{line}\n{done.stdout}{done.stderr}"
        return done.stdout

    @contextmanager
    def _started(self, line: str) -> Iterator[None]:
        """A server in the background; it is there when its port answers."""
        port = int(self._web.partition(":")[2]) if line.startswith("walltime serve") else self._port
        log = (self._home / "servers.log").open("a")
        command = ["sh", "-c", f"exec env {line}"]
        with log, subprocess.Popen(command, cwd=self._home, env=self._environment, stdout=log, stderr=log) as process:
            try:
                if str(port) in line or line.startswith("walltime serve"):
                    eventually(lambda: process.poll() is not None or _answers(port), 120)
                assert process.poll() is None, (self._home / "servers.log").read_text()
                yield
            finally:
                process.send_signal(signal.SIGTERM)


def _answers(port: int) -> bool:
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0


def measured(pages: list[str], folder: Path) -> dict[str, list[tuple[str, float]]]:
    """Page → its steps."""
    build(folder / "dist")
    (folder / "redis").mkdir()
    steps = {}
    with RedisServer(folder / "redis") as redis:
        for page in pages:
            home = folder / page
            home.mkdir()
            reader = Reader(page, home, folder / "dist", redis.address)
            reader.follow()
            steps[page] = reader.steps
    return steps


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for page, steps in measured(sys.argv[1:] or PAGES, Path(folder)).items():
            print(f"| [{page}](start/{page}.md) | **{sum(seconds for _, seconds in steps):.0f} s** | |")
            for line, seconds in steps:
                print(f"| | {seconds:.1f} s | `{re.sub(r'[|]', '¦', line)}` |")


if __name__ == "__main__":
    main()
