"""ThreadPoolExecutor, asyncio's `to_thread`, `run_in_executor`: a job works for the transaction that submitted it."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from contextvars import Context
from functools import partial
from types import BuiltinMethodType
from typing import TYPE_CHECKING, Any

from walltime import handoff as context
from walltime.core.execution import current, running
from walltime.errors import contain
from walltime.instrumentation.patching import Patch

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

REQUIRES = "Python 3.10–3.14"


def _submit(original: Callable[..., Future[Any]]) -> Callable[..., Future[Any]]:
    def submit(self: ThreadPoolExecutor, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        if current() is None:
            return original(self, fn, *args, **kwargs)
        entered = None
        try:
            if type(fn) is partial and _runs_a_context(fn.func):  # asyncio.to_thread
                fn = partial(fn.func, context.on_a_branch, *fn.args, **fn.keywords)
            elif _runs_a_context(fn):
                args = (context.on_a_branch, *args)
            elif not _is_isolated(self):
                fn = context.carried(fn)
            entered = running.set(None)  # a worker thread that is started for this job goes on to others
        except Exception as ours:
            contain("context", ours)
        try:
            return original(self, fn, *args, **kwargs)
        finally:
            if entered is not None:
                running.reset(entered)

    return submit


def _runs_a_context(fn: Callable[..., Any]) -> bool:
    """Say whether it is `Context.run`, which brings an execution context: the branch is made of that one."""
    return type(fn) is BuiltinMethodType and type(fn.__self__) is Context


def _is_isolated(executor: ThreadPoolExecutor) -> bool:
    """Python 3.14's pool of interpreters is a pool of threads whose jobs are pickled: they go as they are."""
    interpreters = sys.modules.get("concurrent.futures.interpreter")
    return interpreters is not None and isinstance(executor, interpreters.InterpreterPoolExecutor)


def patches() -> list[Patch]:
    return [Patch(ThreadPoolExecutor, "submit", _submit)]
