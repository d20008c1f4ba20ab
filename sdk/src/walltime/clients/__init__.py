"""
The table of wrapped libraries.

Each module here has the same shape: `REQUIRES`, the versions it is tested with, and `patches()`, the methods it
replaces. A wrapper is one plain function with the host's signature: no transaction, straight through; otherwise clock,
call, clock, record. It never changes the call's result or exception.
"""

from __future__ import annotations

import importlib
import importlib.util
import threading
from typing import TYPE_CHECKING, Final

from walltime import patching
from walltime.errors import PatchError, SettingsError, contain, warn

if TYPE_CHECKING:
    from walltime.patching import Applied

LIBRARIES: Final = ("pymysql", "pymemcache", "urllib3")
"""What `instrument()` wraps when it is installed; requests and botocore are seen through urllib3."""

_applied: dict[str, list[Applied]] = {}
_lock = threading.Lock()


def instrument(*libraries: str) -> list[str]:
    """
    Wrap the given client libraries, or all that are installed and known; return those that are wrapped now.

    Calling it again changes nothing. A library that does not look as we know it stays as it is, with a warning.

    Raises:
        SettingsError: a name that is not in `LIBRARIES`.
    """
    if unknown := [name for name in libraries if name not in LIBRARIES]:
        raise SettingsError(f"cannot instrument {unknown[0]!r}; there are {', '.join(LIBRARIES)}")
    with _lock:
        for name in libraries or LIBRARIES:
            if name in _applied or importlib.util.find_spec(name) is None:
                continue
            try:
                wrapped = importlib.import_module(f"walltime.clients.{name}")
                _applied[name] = patching.apply(wrapped.patches())
            except PatchError as error:
                warn(
                    name,
                    "walltime: %s is not instrumented: %s (tested with %s)",
                    name,
                    error,
                    wrapped.REQUIRES,
                )
            except Exception as error:  # a library we cannot wrap is no reason for the host to stop
                contain(f"instrument {name}", error)
        return sorted(_applied)


def uninstrument(*libraries: str) -> None:
    """Put the original methods of the given libraries back, or of all."""
    with _lock:
        for name in libraries or tuple(_applied):
            patching.undo(_applied.pop(name, []))
