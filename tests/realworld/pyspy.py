"""What py-spy sees of a server while it is visited, in the terms of a bill: lines outside of measured calls."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from walltime.core import caller

RATE_HZ = 100
_FRAME = re.compile(r".* \((?P<path>.*):(?P<line>\d+)\)")
_OURS = "/sdk/src/walltime/"
_ENTRY = f"{_OURS}servers/gateways/wsgi.py"
_MEASURES = tuple(_OURS + name for name in ("clients/", "instrumentation/measure.py", "instrumentation/timed.py"))


class Recording:
    """The stacks of one process, from `start` until it ends."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def start(self, pid: int) -> None:
        """Begin to record; needs the right to trace the process."""
        command = [Path(sys.executable).with_name("py-spy"), "record", "--idle", "--full-filenames", "--format", "raw",
                   "--rate", RATE_HZ, "--duration", "unlimited", "--pid", pid, "--output", self._file]  # fmt: skip
        self._process = subprocess.Popen(
            [*map(str, command)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )

    def lines(self) -> Counter[str]:
        """Samples of the threads that serve a request outside of measured calls, by the line that a bill names."""
        _, log = self._process.communicate(timeout=60)
        assert self._file.exists(), log
        found: Counter[str] = Counter()
        for text in self._file.read_text("utf-8").splitlines():
            stack, _, count = text.rpartition(" ")
            frames = list(_frames(stack))[::-1]  # innermost first
            served = next((at for at, (path, _) in enumerate(frames) if path.endswith(_ENTRY)), None)
            if served is not None and not any(part in path for path, _ in frames[:served] for part in _MEASURES):
                found[_named(frames[:served])] += int(count)
        return found


def _named(frames: list[tuple[str, int]]) -> str:
    """Return the innermost line of the application, or else of the innermost package (`sampling.stacks.where`)."""
    theirs = [(caller.category_of(path), path, line) for path, line in frames if _OURS not in path]
    for category in (caller.APPLICATION, caller.LIBRARY):
        for of, path, line in theirs:
            if of == category:
                return short(f"{path}:{line}")
    return ""


def short(line: str) -> str:
    """Return a line with its path from the package on."""
    return line.rpartition("/site-packages/")[2]


def _frames(stack: str) -> Iterator[tuple[str, int]]:
    for text in stack.split(";"):
        frame = _FRAME.fullmatch(text)
        if frame is not None:
            yield frame["path"], int(frame["line"])
