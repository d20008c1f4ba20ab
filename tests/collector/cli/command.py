"""The `walltime` command as a process, with and without a terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Mapping
from pathlib import Path

WALLTIME = Path(sys.executable).with_name("walltime")


def run(*arguments: str, environment: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    clean = {
        name: value for name, value in os.environ.items() if not name.startswith(("WALLTIME_", "COLUMNS", "NO_COLOR"))
    }
    return subprocess.run(
        [WALLTIME, *arguments],
        env={**clean, "PYTHONWARNINGS": "error", **(environment or {})},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def on_a_terminal(
    columns: int, *arguments: str, is_piped: bool = False, environment: Mapping[str, str] | None = None
) -> str:
    """What a person with a terminal of so many columns sees, or with `is_piped` the program behind the pipe."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    unset = ("COLUMNS", "LINES", "NO_COLOR", "WALLTIME_URL")
    clean = {name: value for name, value in os.environ.items() if name not in unset}
    clean |= {"TERM": "xterm-256color", "COLORTERM": "truecolor", **(environment or {})}
    out = subprocess.PIPE if is_piped else theirs
    with subprocess.Popen([WALLTIME, *arguments], env=clean, stdin=theirs, stdout=out, stderr=theirs) as process:
        os.close(theirs)
        seen = b""
        try:
            source = process.stdout.fileno() if process.stdout else ours
            while block := os.read(source, 65_536):
                seen += block
        except OSError:  # the other end of a terminal hangs up like this
            pass
        finally:
            os.close(ours)
    assert process.returncode == 0
    return seen.decode()


def assert_one_sentence(done: subprocess.CompletedProcess[str], code: int, expected: str) -> None:
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("walltime: ")
    assert done.stderr.count("\n") == 1
    assert done.stderr.endswith("\n")
    assert expected in done.stderr
    assert "Traceback" not in done.stderr
