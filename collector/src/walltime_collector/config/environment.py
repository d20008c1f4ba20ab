"""Removes secrets from the environment after they are read: neither /proc/PID/environ nor child processes have them."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

_ENV_START, _ENV_END = 47, 48
"""Fields of /proc/PID/stat after the name of the program: where the kernel keeps the initial environment."""


def forget(names: Iterable[str]) -> None:
    """Remove these variables; on Linux also from the memory that /proc/PID/environ shows, which unsetting leaves."""
    present = [name for name in names if name in os.environ]
    if present and sys.platform == "linux":
        with suppress(OSError, ValueError):  # a system that does not permit it
            _overwrite([os.fsencode(name) for name in present])
    for name in present:
        del os.environ[name]


def _overwrite(names: list[bytes]) -> None:
    fields = Path("/proc/self/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    start, end = int(fields[_ENV_START]), int(fields[_ENV_END])
    with Path("/proc/self/mem").open("r+b", buffering=0) as memory:
        memory.seek(start)
        block = memory.read(end - start)
        for match in re.finditer(rb"(?:^|\0)(?:%s)=([^\0]+)" % b"|".join(map(re.escape, names)), block):
            memory.seek(start + match.start(1))
            memory.write(b"*" * len(match[1]))
