"""
Runs `walltime` in forks of one process that has imported it: 0.05 s of CPU a command instead of 0.3.

    python -m tests.collector.cli.forked

It reads one JSON document a line, {"arguments", "environment", "directory", "streams": paths of stdin, stdout and
stderr}, and writes the exit status.
"""

from __future__ import annotations

import json
import os
import pkgutil
import signal
import sys
from importlib import import_module

from walltime_collector import cli

_TIMEOUT_S = 60


def main() -> None:
    for each in pkgutil.walk_packages(cli.__path__, f"{cli.__name__}."):
        if ".mcp" not in each.name:
            import_module(each.name)
    for line in sys.stdin:
        pid = os.fork()
        if not pid:
            _become(**json.loads(line))
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


def _become(arguments: list[str], environment: dict[str, str], directory: str, streams: list[str]) -> None:
    """Run the command as a process of its own does, and end."""
    signal.alarm(_TIMEOUT_S)
    for number, path in enumerate(streams):
        os.dup2(os.open(path, (os.O_WRONLY if number else os.O_RDONLY) | os.O_NOCTTY), number)
    # a stream knows from its beginning whether it is a terminal or can be sought in
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", encoding="utf-8", closefd=False) for number in (1, 2))
    os.chdir(directory)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["walltime", *arguments]
    status = 1  # of a traceback
    try:
        cli.main()
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else 0
    except BaseException:  # noqa: BLE001  as the interpreter does
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    main()
