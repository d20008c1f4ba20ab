"""
`walltime-run gunicorn shop:app`: runs a program with its clients and servers instrumented, without code changes.

The program replaces this one, with `bootstrap/` first on PYTHONPATH: every Python it starts imports the
`sitecustomize` there before anything else. This is a package of its own, which needs nothing: whatever is wrong with
Walltime or what it depends on, the program starts.
"""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

BOOTSTRAP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bootstrap")  # noqa: PTH100, PTH118, PTH120
NOT_FOUND, NOT_EXECUTABLE = 127, 126
"""What a shell exits with in these cases."""

USAGE = """\
usage: walltime-run PROGRAM [ARGUMENT …]      (or: python -m walltime PROGRAM [ARGUMENT …])

Runs the program with every library instrumented that Walltime knows, as `walltime.instrument()` does.

  walltime-run gunicorn shop:app
  walltime-run python -m shop
  walltime-run manage.py runserver
  walltime-run --check [MODULE …]     what would be measured here, or once these modules are imported, what not and why

PROGRAM is looked for beside this Python and then on PATH. A .py file, -m MODULE and -c CODE run in this Python.
Settings come from the environment, such as OTEL_SERVICE_NAME and OTEL_EXPORTER_OTLP_ENDPOINT: docs/settings.md.

The exit status is the program's; 127 when it is not found, 126 when it cannot be run, 2 without a program. That of
--check is 1 when a library is not measured, or bills cannot arrive.
"""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Become the given program; exits with 126 or 127 when it cannot be run, as a shell does."""
    command = list(sys.argv[1:] if arguments is None else arguments)
    if not command or command[0] in {"-h", "--help"}:
        sys.stdout.write(USAGE)
        sys.exit(0 if command else 2)
    if command[0] == "--version":
        from walltime import __version__

        sys.stdout.write(f"walltime {__version__}\n")
        sys.exit(0)
    if command[0] == "--check":
        from walltime.self_check import main as check

        check(command[1:])
    if command[0] == "--":
        del command[0]
    if command[0] in {"-m", "-c"} or (command[0].endswith(".py") and os.path.isfile(command[0])):  # noqa: PTH113
        command.insert(0, sys.executable)
    program = find(command[0])
    if program is None:
        sys.stderr.write(f"walltime-run: no program {command[0]!r} beside {sys.executable} or on PATH\n")
        sys.exit(NOT_FOUND)
    os.environ["PYTHONPATH"] = with_bootstrap(os.environ.get("PYTHONPATH", ""))
    if os.name == "nt":  # exec leaves the caller's console there
        import subprocess

        sys.exit(subprocess.call([program, *command[1:]]))
    try:
        os.execv(program, [program, *command[1:]])  # noqa: S606  # that is what we are asked to do
    except OSError as error:
        sys.stderr.write(f"walltime-run: {program} cannot be run: {error.strerror}\n")
        sys.exit(NOT_EXECUTABLE)


def find(program: str) -> str | None:
    """Return the program's path: of this Python's own programs, for which Walltime is installed, else on PATH."""
    beside = os.path.dirname(sys.executable)  # noqa: PTH120
    return shutil.which(program, path=beside) or shutil.which(program)


def with_bootstrap(python_path: str) -> str:
    """Return the value of PYTHONPATH with our folder in front, once."""
    others = [path for path in python_path.split(os.pathsep) if path != BOOTSTRAP] if python_path else []
    return os.pathsep.join([BOOTSTRAP, *others])
