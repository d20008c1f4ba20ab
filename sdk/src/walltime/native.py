"""
Which form of the hot path runs: Python, or the core in C (the distribution `walltime-native`), where it is installed.

The core replaces single functions and keeps the Python form of each for everything but the plain case. On any doubt it
is not used: another interface or interpreter, no GIL, a wrong answer of the self-test. `WALLTIME_NATIVE=0` switches it
off.
"""

from __future__ import annotations

import functools
import importlib
import logging
import os
import sys
import time
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    Function = TypeVar("Function", bound=Callable[..., Any])

logger = logging.getLogger("walltime")
INTERFACE: Final = 2
"""Of the core; a core with another number is not used."""
RECORD, SCOPE, STATEMENT, LOOKUP, TAG = range(5)
"""Kinds of functions that the core can stand for (callable.c)."""


class _NotUsable(Exception):
    """Why the core is not used."""


def _load() -> tuple[Any, str]:
    """Return the core, or None and the reason. Never raises."""
    if os.environ.get("WALLTIME_NATIVE", "").strip().lower() in {"0", "false", "no", "off"}:
        return None, "switched off by WALLTIME_NATIVE"
    try:
        found = importlib.import_module("walltime_native")
        _check(found)
    except ModuleNotFoundError:
        return None, "walltime-native is not installed"
    except RuntimeError as error:  # a subinterpreter: by rule, not in doubt
        return None, str(error)
    except Exception as error:
        logger.warning("walltime: the core in C is not used, Python is: %s", error)
        return None, str(error)
    return found, ""


def _check(core: Any) -> None:
    if sys.implementation.name != "cpython" or not getattr(sys, "_is_gil_enabled", lambda: True)():
        raise _NotUsable("it needs CPython with the GIL")
    if core.INTERFACE != INTERFACE:
        raise _NotUsable(f"its interface is {core.INTERFACE}, not {INTERFACE}")
    before_ns = time.perf_counter_ns()
    now_ns = core.clock()
    if not before_ns <= now_ns <= time.perf_counter_ns():
        raise _NotUsable("its clock is not that of Python")
    call = (1, "SELECT 1", 5, 9, 4, None, 7, 2)
    answers = (
        core.by_line([call]), core.sums([call, call]), core.times_by_text([call]),
        core.count("a", 300), core.counts("a", [1, 300]), core.child(b"x", 1, 2, 3, b"y"),
    )  # fmt: skip
    if answers != _ANSWERS:
        raise _NotUsable("its self-test failed")


_ANSWERS: Final[tuple[Any, ...]] = (
    [(1, [(1, "SELECT 1", 5, 9, 4, None, 7, 2)])],
    (8, 4, 14, 4, 0, 0, 0, 0, ()),
    ({"SELECT 1": [4]}, {}),
    b"\x4a\x08\x0a\x01a\x12\x03\x18\xac\x02",
    b"\x4a\x10\x0a\x01a\x12\x0b\x2a\x09\x0a\x02\x18\x01\x0a\x03\x18\xac\x02",
    b"\x12\x1cx\0\0\0\0\0\0\0\x01\x39\x02\0\0\0\0\0\0\0\x41\x03\0\0\0\0\0\0\0y",
)
core, reason = _load()
python: Final[dict[str, Any]] = {}
"""The Python forms of what the core does, by name."""


def is_used() -> bool:
    """Return whether the core runs in this process; `reason` says why not."""
    return core is not None


def faster(function: Function) -> Function:
    """Return the core's function of this name, or the function itself."""
    python[function.__name__] = function
    made: Any = function if core is None else core.faster(function)
    return made  # type: ignore[no-any-return]


def method(function: Function) -> Function:
    """Return what records in the place of `Transaction.record`, or the function itself."""
    python[function.__name__] = function
    made: Any = function if core is None else functools.wraps(function)(core.Callable(RECORD, function))
    return made  # type: ignore[no-any-return]


def wrapper(kind: int, python: Any, original: Any, **more: Any) -> Any:
    """
    Return the core's wrapper of a host's method, or `python`.

    Args:
        more: `library`, `end`, `contain`; `most`, the characters of a plain statement.
    """
    return python if core is None else core.Callable(kind, python, original, **more)


def tagging(python: Any, original: Any, command: int, safe: tuple[bytes, bytes]) -> Any:
    """
    Return the core's wrapper of a method that sends a command and its text, or `python`.

    Args:
        command: the one that has a statement.
        safe: which of 256 characters may be the last and the second of a statement that is tagged at its end.
    """
    return wrapper(TAG, python, original, most=command, ends=safe[0], seconds=safe[1])


def bind(transaction: type, running: Any, skipped: str, continued: str) -> None:
    """Show the core what it works with. Before this, it calls the Python forms."""
    if core is not None:
        core.bind(transaction, running, skipped, continued)
