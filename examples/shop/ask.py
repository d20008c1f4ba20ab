"""Asks a running collector with the commands that anybody would type, and shows or reads what they say."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from rich.console import Console

from shop.services import ServiceError

WALLTIME = Path(sys.executable).with_name("walltime")
VISIBLE_WITHIN_S = 20.0


class Asker:
    """
    Runs `walltime …` against one collector.

    Args:
        url: The collector's web port, `http://host:port`.
    """

    def __init__(self, url: str, console: Console | None = None) -> None:
        self.environment = {**os.environ, "WALLTIME_URL": url}
        self._console = console or Console(highlight=False)

    def show(self, *arguments: str) -> None:
        """Print the command as it can be copied, and let it print."""
        self._console.print()
        line = shlex.join(["walltime", *arguments])
        prefix = f"WALLTIME_URL={self.environment['WALLTIME_URL']} "
        self._console.print(f"$ {prefix}{line}", style="bold", markup=False, soft_wrap=True)
        sys.stdout.flush()
        if status := subprocess.run([WALLTIME, *arguments], env=self.environment, check=False, timeout=60).returncode:
            raise ServiceError(f"`{line}` ended with status {status}")

    def read(self, *arguments: str) -> Any:
        """What the command says with --json; None when it has nothing (status 1)."""
        command = [str(WALLTIME), *arguments, "--json"]
        done = subprocess.run(command, env=self.environment, check=False, timeout=60, capture_output=True, text=True)
        if done.returncode == 1:
            return None
        if done.returncode:
            raise ServiceError(f"`{shlex.join(['walltime', *arguments])}` said: {done.stderr.strip()}")
        return json.loads(done.stdout)

    def read_when(self, holds: Callable[[Any], object], *arguments: str) -> Any:
        """
        What the command says as soon as that holds; what has just happened is visible a little later.

        Raises:
            ServiceError: It does not within VISIBLE_WITHIN_S.
        """
        deadline = time.monotonic() + VISIBLE_WITHIN_S
        while (said := self.read(*arguments)) is None or not holds(said):
            if time.monotonic() > deadline:
                line = shlex.join(["walltime", *arguments])
                raise ServiceError(f"`{line}` has not said what it should within {VISIBLE_WITHIN_S:.0f} s")
            time.sleep(0.2)
        return said


def iso(ns: int) -> str:
    """Unix nanoseconds as the commands take them, to the microsecond, or without a fraction where there is none."""
    at = datetime.fromtimestamp(ns // 1000 / 1e6, timezone.utc)
    return at.isoformat().replace("+00:00", "Z")
