"""An example as its reader runs it: the commands of its README, on the servers and ports of a test."""

from __future__ import annotations

import json
import os
import re
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from shop.process import LOOPBACK, Service, free_port

from tests.collector.cli import command
from tests.servers import eventually

EXAMPLES = Path(__file__).parents[2] / "examples"
_INSTALLS = ("pip ", "npm ", "sudo ")
_PORT = re.compile(r"(?<=[: ])80\d\d\b")


def commands(readme: Path) -> list[str]:
    """Its indented lines, without comments; a line that ends in a backslash goes on in the next."""
    indented = re.findall(r"^    (.*)$", readme.read_text(), re.MULTILINE)
    whole = re.sub(r"\\\n\s*", "", "\n".join(indented))
    return [line.partition("  # ")[0] for line in whole.splitlines()]


class _Server(Service):
    """A command that a README starts in the background; it answers when it listens."""

    stops_within_s = 60  # a child of Celery's worker may wait 30 s for its parent

    def __init__(self, folder: Path, line: str, environment: Mapping[str, str]) -> None:
        super().__init__(re.sub(r"\W+", "-", line)[:60], folder, environment)
        self.line = line
        listens = re.search(r"(?:--bind 127\.0\.0\.1:|--port |LISTEN=127\.0\.0\.1:)(\d+)", line)
        self.port = int(listens[1]) if listens else 0

    def command(self) -> Sequence[str]:
        return ["sh", "-c", f"exec env {self.line}"]

    def answers(self) -> bool:
        if self.port:
            socket.create_connection((LOOPBACK, self.port), timeout=5).close()
        return True


class Example:
    """
    One example: `with` runs all commands of its README in their order, but those that install, and those of `walltime`.

    Args:
        folder: A copy, where it runs.
        environment: Addresses of the servers and of the collector.
    """

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.folder = folder
        of_tests = ("OTEL_", "WALLTIME_", "COLUMNS")  # xdist sets COLUMNS
        clean = {name: value for name, value in os.environ.items() if not name.startswith(of_tests)}
        path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
        self.environment = {**clean, **environment, "PATH": path}
        self.commands = commands(folder / "README.md")
        self.running = ExitStack()

    def __enter__(self) -> Example:
        ports: dict[str, str] = {}
        with ExitStack() as started:
            for line in self.commands:
                if line.startswith((*_INSTALLS, "walltime ")):
                    continue
                here = _PORT.sub(lambda port: ports.setdefault(port[0], str(free_port())), line)
                here = here.replace("http://127.0.0.1:4318", self.environment["OTEL_EXPORTER_OTLP_ENDPOINT"])
                if here.endswith(" &"):
                    started.enter_context(_Server(self.folder, here.removesuffix(" &"), self.environment))
                else:
                    self.run(here)
            self.running = started.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self.running.close()

    def run(self, line: str) -> str:
        done = subprocess.run(
            ["sh", "-c", line],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        return done.stdout

    def ask(self, start: str, *more: str, trace_id: str = "") -> str:
        """The output of the command of the README that begins so, with more options."""
        (line,) = (each for each in self.commands if each.startswith(start))
        done = command.run(*shlex.split(line.replace("TRACE_ID", trace_id))[1:], *more, environment=self.environment)
        assert done.returncode == 0, f"{line}\n{done.stderr}"
        return done.stdout

    def found(self, count: int, start: str = "walltime find") -> list[Found]:
        """What this command finds, as soon as it is so many transactions; the oldest first."""
        matches: list[dict[str, Any]] = []

        def is_complete() -> bool:
            time.sleep(0.5)
            matches[:] = json.loads(self.ask(start, "--json", "--limit", "200"))["matches"]
            return len(matches) >= count

        eventually(is_complete, 90)
        assert len(matches) == count
        return [Found(each) for each in reversed(matches)]


class Found:
    """One transaction as `walltime find --json` writes it."""

    def __init__(self, match: Mapping[str, Any]) -> None:
        self.match = match
        self.name: str = match["name"]
        self.trace_id: str = match["trace_id"]
        self.kept: str = match["kept"]

    def of(self, component: str, column: str = "calls") -> int:
        return sum(each[column] for each in self.match["components"] if each["name"] == component)


def total(found: Sequence[Found], component: str, column: str = "calls") -> int:
    return sum(each.of(component, column) for each in found)
