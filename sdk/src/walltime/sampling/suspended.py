"""Where a suspended asyncio task or greenlet waits, and for what."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from walltime.core.caller import MAX_FRAMES
from walltime.core.execution import running
from walltime.core.steps import steps
from walltime.sampling import frames, stacks, states

if TYPE_CHECKING:
    from types import CodeType, FrameType

    from walltime.core.transaction import Transaction
    from walltime.sampling.stacks import Frames

MAX_TASKS: Final = 8
"""Tasks that wait for one another, in one chain."""

_BY_FUNCTION: Final = {("tasks.py", "sleep"): "sleep", ("hub.py", "sleep"): "sleep", ("_asyncio.py", "sleep"): "sleep"}
_BY_FILE: Final = {
    "locks.py": "lock", "queues.py": "lock", "_semaphore.py": "lock", "lock.py": "lock", "event.py": "lock",
    "queue.py": "lock", "thread.py": "lock", "threading.py": "lock", "_synchronization.py": "lock",
    "streams.py": "socket", "selector_events.py": "socket", "sslproto.py": "socket", "flow_control.py": "socket",
    "_socket3.py": "socket", "_socketcommon.py": "socket", "_hub_primitives.py": "socket", "_sockets.py": "socket",
    "base_subprocess.py": "process", "subprocess.py": "process",
}  # fmt: skip
"""Files of asyncio, anyio and gevent in which one waits."""
_LOOKED_AT: Final = 5
"""Innermost frames that may say what is waited for."""


def of(server: Any) -> tuple[Frames | None, str]:
    """Return the stack, innermost first, and the state; no stack inside a measured call."""
    if hasattr(server, "get_coro"):
        return _of_task(server)
    stack = stacks.frames_of(server.gr_frame)
    return stack, "" if stack is None else _state(stack)


def is_over(server: Any) -> bool:
    """Say whether the task or greenlet has ended."""
    return bool(server.done() if hasattr(server, "get_coro") else server.dead)


def _of_task(task: Any) -> tuple[Frames | None, str]:
    awaits: list[CodeType | int] = []
    waiter: Any = task
    for _ in range(MAX_TASKS):
        for frame in frames.of(_awaited(waiter.get_coro())):
            if frame is None:
                break
            code = frame.f_code
            if not stacks.is_ours(code.co_filename):
                awaits += (frame.f_lasti, code)
            elif stacks.is_in_a_call(code):
                return None, ""
        future = getattr(waiter, "_fut_waiter", None)
        if future is None or future.done():
            return tuple(awaits[::-1]), "loop"
        children = getattr(future, "_children", None)  # gather
        if children:
            future = next((child for child in children if not child.done()), future)
        if not hasattr(future, "get_coro"):
            break
        waiter = future
    stack = tuple(awaits[::-1])
    return stack, _state(stack)


def _awaited(coroutine: Any) -> list[tuple[Any, str]]:
    """Return the coroutine, what it awaits, and so on, each with the name of the attribute that has its frame."""
    found: list[tuple[Any, str]] = []
    while len(found) < MAX_FRAMES:
        for frame, awaits in _NAMES:
            if hasattr(coroutine, awaits):
                found.append((coroutine, frame))
                if getattr(coroutine, "gi_code", None) is steps.__code__:
                    (of_steps,) = frames.of(found[-1:])
                    coroutine = None if of_steps is None else frames.local(of_steps, "coro")
                else:
                    coroutine = getattr(coroutine, awaits)
                break
        else:
            break
    return found


_NAMES: Final = (("cr_frame", "cr_await"), ("gi_frame", "gi_yieldfrom"), ("ag_frame", "ag_await"))


def _state(stack: Frames) -> str:
    if not stack:
        return "waiting"
    for code in stack[: 2 * _LOOKED_AT : 2]:
        file = code.co_filename.rpartition("/")[2]  # type: ignore[union-attr]  # every other one is a code object
        state = _BY_FUNCTION.get((file, code.co_name)) or _BY_FILE.get(file)  # type: ignore[union-attr]
        if state:
            return state
    return states.waits_for(stack)[0] or "waiting"


def runs(server: Any, transaction: Transaction, frame: FrameType) -> bool:
    """
    Say whether the task or greenlet runs on its thread now, or a task that works for the same transaction does.

    Args:
        frame: the innermost of the thread.
    """
    if not hasattr(server, "get_loop"):
        return server.gr_frame is None and not server.dead
    task = sys.modules["asyncio"].current_task(server.get_loop())
    if task is None or task is server:
        return task is not None
    execution = _context_of(task, frame).get(running)
    return execution is not None and execution.transaction is transaction


def _context_of(task: Any, frame: FrameType | None) -> Any:
    """Return the context of a running task; an empty dict where it cannot be found (uvloop before Python 3.12)."""
    if hasattr(task, "get_context"):  # Python 3.12
        return task.get_context()
    handle = sys.modules["asyncio.events"].Handle._run.__code__
    for each in frames.outward(frame):
        if each.f_code is handle:
            ran = frames.local(each, "self")  # at its end `Handle._run` sets it to None, to break a cycle
            return {} if ran is None else ran._context
    return {}
