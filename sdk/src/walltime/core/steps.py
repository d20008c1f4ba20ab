"""Drive a transaction's coroutine as `await` does, and time each step on the event loop (core/event_loop.py)."""

from __future__ import annotations

import sys
import types
from typing import TYPE_CHECKING, Any

from walltime.core.event_loop import LoopTimes
from walltime.core.execution import current
from walltime.errors import contain

if TYPE_CHECKING:
    from collections.abc import Coroutine, Generator

    from walltime.core.transaction import Transaction


def timed(transaction: Transaction, application: Any, *, has_beat: bool = True) -> Any:
    """
    Return what to await in place of an application's coroutine. Never raises.

    Args:
        has_beat: False for transactions that may be open for hours without doing anything.
    """
    try:
        if type(application) is types.CoroutineType and transaction.settings.loop_times:
            asyncio = sys.modules.get("asyncio")  # importing it takes 30 ms
            loop = None if asyncio is None else asyncio._get_running_loop()
            if loop is not None:
                times = LoopTimes(loop, transaction.owner, transaction.started_ns, has_beat=has_beat)
                transaction.loop = times
                return steps(application, times)
    except Exception as ours:
        contain("event_loop", ours)
    return application


def timed_here(application: Any, task: int) -> Any:
    """
    Return what to await in place of a part of the running transaction, which may be in a task of its own: some
    middleware puts it there. Never raises.
    """
    try:
        execution = current()
        times = None if execution is None else execution.transaction.loop
        if times is not None and times.task != task and type(application) is types.CoroutineType:
            return steps(application, times)
    except Exception as ours:
        contain("event_loop", ours)
    return application


@types.coroutine
def steps(coro: Coroutine[Any, Any, Any], times: LoopTimes) -> Generator[Any, Any, Any]:
    """Drive the coroutine as `await` does, and time each of its steps."""
    value: Any = None
    error: BaseException | None = None
    while True:
        try:
            is_timed = times.begin_step()
        except Exception as ours:
            is_timed = False
            contain("event_loop", ours)
        try:
            waits_for = coro.send(value) if error is None else coro.throw(error)
        except StopIteration as end:
            return end.value
        finally:
            error = None  # its traceback has this frame
            if is_timed:
                try:
                    times.end_step()
                except Exception as ours:
                    contain("event_loop", ours)
        try:
            value = yield waits_for
        except GeneratorExit:
            coro.close()
            raise
        except BaseException as thrown:
            error = thrown
