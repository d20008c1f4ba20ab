"""`python.gc`: the pauses of the garbage collector on the thread that works for a transaction."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from walltime.core.call import line
from walltime.core.execution import here, inherited
from walltime.core.transaction import clock
from walltime.errors import contain
from walltime.instrumentation.patching import Hook

if TYPE_CHECKING:
    from walltime.core.execution import ExecutionContext

REQUIRES = "Python 3.10–3.14"

SHORTEST_NS: Final = 100_000
"""Shorter pauses of the young generations leave no record: there are thousands, and together they take little."""
_OLDEST: Final = 2
_LINE: Final = line("python.gc")
_OURS: Final = str(Path(__file__).parents[1]) + os.sep
"""The folder of this package: our wrappers run from files in it."""

# The collection in progress; there is at most one, and it ends on the thread it began on.
_execution: ExecutionContext | None = None
_started_ns = 0
_outer_ns = 0


def _collecting(phase: str, info: dict[str, Any]) -> None:
    global _execution, _started_ns, _outer_ns  # noqa: PLW0603
    try:
        if phase == "start":
            execution = _here()
            if execution is not None and execution.transaction.settings.python_gc:
                _execution = execution
                _outer_ns = execution.nested_ns  # finalizers may make calls
                _started_ns = clock()
        elif _execution is not None:
            execution, _execution = _execution, None
            ended_ns = clock()
            if (ended_ns - _started_ns >= SHORTEST_NS or info["generation"] == _OLDEST) and _is_attributable(execution):
                execution.record(_LINE, None, _started_ns, ended_ns, _outer_ns)
    except Exception as ours:  # it would be written to stderr
        contain("gc", ours)


def _here() -> ExecutionContext | None:
    """
    Return the execution context of this thread; not `current`, which may set a context variable.

    Before Python 3.12 garbage is also collected while another one is set: what is set then is lost and freed too early.
    """
    execution = inherited()
    if execution is None or execution.home != here() or execution.transaction.is_over:
        return None
    return execution


def _is_attributable(execution: ExecutionContext) -> bool:
    """
    Return whether it is certain which call the pause was in.

    In a wrapper of ours the clock may have been read already, and the pause is then not in that call's time.
    """
    if execution.transaction.duration_ns:
        return False
    interrupted = sys._getframe(1).f_back  # none where a greenlet begins
    return interrupted is None or not interrupted.f_code.co_filename.startswith(_OURS)


def _remove() -> None:
    if _collecting in gc.callbacks:  # an application may have cleared the list
        gc.callbacks.remove(_collecting)


def patches() -> list[Hook]:
    return [Hook(lambda: gc.callbacks.append(_collecting), _remove)]
