"""The `walltime` command as a process, with and without a terminal."""

from __future__ import annotations

import atexit
import fcntl
import functools
import json
import os
import pty
import select
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import NamedTemporaryFile

ROOT = Path(__file__).parents[3]
WALLTIME = Path(sys.executable).with_name("walltime")


def run(*arguments: str, environment: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own."""
    clean = {
        name: value for name, value in os.environ.items() if not name.startswith(("WALLTIME_", "COLUMNS", "NO_COLOR"))
    }
    clean |= {"PYTHONWARNINGS": "error", **(environment or {})}
    if "PYTHONIOENCODING" in clean:  # the interpreter reads it when it starts
        return subprocess.run(
            [WALLTIME, *arguments], env=clean, capture_output=True, text=True, timeout=60, check=False
        )
    with NamedTemporaryFile() as out, NamedTemporaryFile() as err:
        ended = _fork(arguments, clean, os.devnull, out.name, err.name)
        return subprocess.CompletedProcess(arguments, ended(), out.read().decode(), err.read().decode())


def _fork(arguments: Sequence[str], environment: Mapping[str, str], *streams: str) -> Callable[[], int]:
    """Start the command with these paths as stdin, stdout and stderr; the returned function waits for its status."""
    forking = _forking()
    assert forking.stdin is not None
    assert forking.stdout is not None
    directory = os.getcwd()  # noqa: PTH109
    command = {"arguments": arguments, "environment": environment, "directory": directory, "streams": streams}
    forking.stdin.write(f"{json.dumps(command)}\n")
    forking.stdin.flush()
    answers = forking.stdout
    return lambda: int(answers.readline())


@functools.cache
def _forking() -> subprocess.Popen[str]:
    command = [sys.executable, "-W", "error", "-m", "tests.collector.cli.forked"]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def end() -> None:
        with process:  # it ends when its input does
            pass

    atexit.register(end)
    return process


def on_a_terminal(
    columns: int, *arguments: str, is_piped: bool = False, environment: Mapping[str, str] | None = None
) -> str:
    """What a person with a terminal of so many columns sees, or with `is_piped` the program behind the pipe."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    unset = ("COLUMNS", "LINES", "NO_COLOR", "WALLTIME_URL")
    clean = {name: value for name, value in os.environ.items() if name not in unset}
    clean |= {"TERM": "xterm-256color", "COLORTERM": "truecolor", **(environment or {})}
    try:
        if is_piped:
            piped = subprocess.run(
                [WALLTIME, *arguments], env=clean, stdin=theirs, stdout=-1, stderr=theirs, check=True
            )
            return piped.stdout.decode()
        terminal = os.ttyname(theirs)
        ended = _fork(arguments, clean, terminal, terminal, terminal)
        seen, status = b"", ThreadPoolExecutor(1).submit(ended)
        while not status.done() or select.select([ours], [], [], 0)[0]:
            if select.select([ours], [], [], 0.01)[0]:
                seen += os.read(ours, 65_536)
        assert status.result() == 0
        return seen.decode()
    finally:
        os.close(theirs)
        os.close(ours)


def assert_one_sentence(done: subprocess.CompletedProcess[str], code: int, expected: str) -> None:
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("walltime: ")
    assert done.stderr.count("\n") == 1
    assert done.stderr.endswith("\n")
    assert expected in done.stderr
    assert "Traceback" not in done.stderr
