"""Takes secrets out of the environment once they are read: /proc/PID/environ and children do not have them."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterable
from contextlib import suppress


def forget(names: Iterable[str]) -> None:
    """
    Remove these variables, and overwrite where the kernel keeps what the process was started with.

    Linux shows the memory the process got at its start, whatever is unset later; elsewhere they are only removed.
    """
    present = [name for name in names if name in os.environ]
    if sys.platform == "linux":
        wanted = tuple(os.fsencode(name) + b"=" for name in present)
        with suppress(OSError, ValueError):  # a C library without that symbol: then they are only removed
            for address, entry in _entries():
                if entry.startswith(wanted):
                    at = entry.index(b"=") + 1
                    ctypes.memset(address + at, ord("*"), len(entry) - at)
    for name in present:
        del os.environ[name]


def _entries() -> Iterable[tuple[int, bytes]]:
    """Address and content of each entry of the C library's environment, which at the start are the kernel's own."""
    block = ctypes.POINTER(ctypes.c_void_p).in_dll(ctypes.CDLL(None), "environ")
    found = []
    at = 0
    while block and block[at]:
        found.append((int(block[at]), ctypes.string_at(block[at])))
        at += 1
    return found
