"""
The current transaction of this thread, task or greenlet: `current()`.

The transaction is its own first execution context. Another thread or task that works for it has a `Branch`, so that
calls that run at the same time never count as nested in each other.

A context variable holds it (`inherited`), so whatever copies a context copies it too: tasks, callbacks, libraries. Two
rules apply wherever it is looked up: one thread or task at a time is in an execution context, another one gets a branch
of its own; and after the end of its transaction it is outside of any. `elsewhere` has both.
"""

from __future__ import annotations

import sys
from contextvars import ContextVar, Token
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from weakref import ref

from walltime import native
from walltime.core.after_response import record_after_response
from walltime.core.call import CONTINUED, SKIPPED
from walltime.core.cpu import greenlet_here
from walltime.core.transaction import Transaction, outside
from walltime.errors import contain

if TYPE_CHECKING:
    from collections.abc import Callable

    from walltime.core.call import Line
    from walltime.core.transaction import Comment


def unpatched(module: str, name: str) -> Any:
    """Return a function of the standard library as it is without gevent's monkey patches."""
    monkey = sys.modules.get("gevent.monkey")
    return getattr(import_module(module), name) if monkey is None else monkey.get_original(module, name)


get_ident: Callable[[], int] = unpatched("_thread", "get_ident")


def here() -> int:
    """Return the greenlet that runs here, by `id`, else the thread: the `home` of what it is in; 0.1 µs."""
    greenlet = greenlet_here()
    return get_ident() if greenlet is None else id(greenlet)


class _Beside:
    """An execution context beside the transaction, which is its own first one."""

    __slots__ = ("__weakref__", "home", "nested_ns", "open_components", "owner", "statement", "thread", "transaction")
    in_call = False

    def __init__(self, of: ExecutionContext, home: int = 0, owner: int = 0) -> None:
        """`home` (`here()`) and `owner`: the thread and the task that it is for; who uses it first if `home` is 0."""
        self.nested_ns = 0
        self.open_components: int = of.open_components
        self.statement: str | bytes | None = None
        self.home = home
        self.owner = owner
        self.thread = 0 if owner else home
        self.transaction: Transaction = of.transaction
        hand_out(self.transaction, self)

    @property
    def sql_comment(self) -> Comment | None:
        return self.transaction.sql_comment

    def end(self) -> None:
        """End it with its transaction: `elsewhere` decides from now on."""
        self.thread = self.owner = 0


class Branch(_Beside):
    """The execution context of another thread or task that works for the transaction."""

    __slots__ = ()

    def __init__(self, of: ExecutionContext, home: int = 0, owner: int = 0) -> None:
        super().__init__(of, home, owner)
        if not of.transaction.duration_ns:
            of.transaction.has_branches = True

    def record(
        self, line: Line, subject: object, started_ns: int, ended_ns: int, outer_ns: int, failure: str | None = None,
        requested: int = 0, matched: int = 0,
    ) -> None:  # fmt: skip
        """Like `Transaction.record`, with the nesting of this execution context."""
        transaction = self.transaction
        if transaction.duration_ns:
            if not record_after_response(
                self, line, subject, started_ns, ended_ns, outer_ns, failure, requested, matched
            ):
                outside("late")
            return
        elapsed_ns = ended_ns - started_ns
        nested_ns = outer_ns + elapsed_ns
        own_ns = nested_ns - self.nested_ns
        calls = transaction.calls
        calls.append((line, subject, started_ns, ended_ns, own_ns, failure, requested, matched))
        self.nested_ns = nested_ns
        if failure is not None or elapsed_ns >= transaction.locate_ns:
            transaction.locate(line, started_ns)
        if len(calls) >= transaction.look_at:
            transaction.make_room()


class Inside(_Beside):
    """
    The execution context inside a call that already counts as a whole, such as the `SET NAMES` of a connect.

    Calls made here are part of that call: they are not recorded, but their SQL carries the transaction's comment.
    """

    __slots__ = ()

    def record(self, *_call: object, **_more: object) -> None:
        """Record nothing: the outer call is on the bill."""


ExecutionContext: TypeAlias = "Transaction | Branch | Inside"
"""Where a wrapped client records its calls."""

running: ContextVar[ExecutionContext | None] = ContextVar("walltime_execution", default=None)
native.bind(Transaction, running, SKIPPED, CONTINUED)
inherited = running.get
"""
What this context has, perhaps of another thread or of an ended transaction; 10 ns. Hot wrappers use it, and then

    if execution is not None and execution.thread != get_ident():
        execution = elsewhere(execution)
"""


def current() -> ExecutionContext | None:
    """Return the execution context of the running transaction, or None; 50 ns."""
    execution = inherited()
    if execution is None or execution.thread == get_ident():
        return execution
    return elsewhere(execution)


def task_execution() -> ExecutionContext | None:
    """Return the execution context of the running task, or None. Coroutines use this instead of `current()`."""
    execution = inherited()
    if execution is None:
        return None
    task = running_task()
    if execution.owner == task and (task or execution.thread == get_ident()):
        return execution
    return elsewhere(execution)


LENT: Final = -1
"""`home` of an execution context whose thread waits for a task: that works in it (`handoff.waiting`)."""


def elsewhere(execution: ExecutionContext) -> ExecutionContext | None:
    """Return the execution context of this thread or task, which may have inherited this one; None after its end."""
    try:
        task = running_task()
        if task and execution.owner == task:  # a synchronous call in it; no task owns it after its transaction
            return execution
        transaction = execution.transaction
        if transaction.is_over:
            return None
        home = here()
        if execution.home == home and execution.owner == task:
            return execution
        if execution.home == LENT and not task:
            return execution  # on the way to the task
        if execution.home <= 0 or (execution.home == home and not (execution.owner and task)):
            # Nobody has it now; or an event loop runs inside, or has ended: they wait for each other.
            execution.home, execution.owner = home, task
            execution.thread = 0 if task else get_ident()
            if transaction.is_over:  # meanwhile
                execution.thread = execution.owner = 0
            return execution
        own = (Inside if type(execution) is Inside else Branch)(execution, home, task)
        running.set(own)
    except Exception as ours:  # this thread or task goes on outside
        contain("context", ours)
        return None
    return own


def hand_out(transaction: Transaction, handed: Any) -> None:
    """Make it end with the transaction: its method `end` is called."""
    transaction.handed.add(ref(handed, transaction.handed.discard))
    if transaction.is_over:  # meanwhile
        handed.end()


def close(transaction: Transaction) -> None:
    """
    End the transaction for everybody who still has it: threads, tasks, greenlets and copied contexts that outlive it.

    From now on no lookup returns it, and nothing carries its ids.
    """
    transaction.is_over = True
    transaction.thread = transaction.owner = 0
    transaction.sql_comment = transaction.outgoing = transaction.outgoing_lines = transaction.outgoing_context = None
    lent, transaction.lent = transaction.lent, None
    if lent is not None:
        lent.end()
    for reference in transaction.handed.copy() if transaction.handed else ():
        handed = reference()
        if handed is not None:
            handed.end()


_loop_here: Callable[[], Any] | None = None
_task_of: Callable[[Any], Any]


def running_task() -> int:
    """Return the `id` of the asyncio or Trio task that runs here, 0 outside of both; 60 ns."""
    global _loop_here, _task_of  # noqa: PLW0603  # importing asyncio takes 30 ms; who has a task has done so
    if _loop_here is not None:
        loop = _loop_here()
        if loop is not None:
            return id(_task_of(loop))
    elif "asyncio" in _modules and hasattr(_modules["asyncio"], "current_task"):
        asyncio = _modules["asyncio"]
        # Before Python 3.12, `current_task` is written in Python.
        _task_of = asyncio.current_task if sys.version_info >= (3, 12) else asyncio.tasks._current_tasks.get
        _loop_here = asyncio._get_running_loop
        return running_task()
    trio = _modules.get("trio.lowlevel")
    try:
        return 0 if trio is None else id(trio.current_task())
    except Exception:  # none runs in this thread, or it is being imported
        return 0


_modules: Final = sys.modules


def enter(new: ExecutionContext | None, home: int = 0) -> Token[ExecutionContext | None]:
    """
    Make it the current execution context of this thread or task, which is `home`. `leave` or `running.reset` undoes it.

    Use this instead of `running.set` where no value may be set yet. There, the reset would delete the value; when a
    garbage collection runs during that and calls `current()`, CPython before 3.12 keeps returning the deleted value.
    """
    if running.get(_NOTHING) is _NOTHING:
        running.set(None)
    if new is not None:
        new.home = home or here()
        new.thread = 0 if new.owner else get_ident()
    return running.set(new)


_NOTHING: Final = object()


def leave(entered: ExecutionContext, token: Token[ExecutionContext | None]) -> bool:
    """
    Undo `enter`, wherever this runs: coroutines and generators are also closed from outside. Return whether it was in
    the context it was entered in. A copy of that context gets the same value; in any other nothing changes.
    """
    now = inherited()
    if now is not entered and (now is None or now.transaction is not entered.transaction):
        return False
    try:
        running.reset(token)
    except ValueError:
        if now is entered:
            running.set(None if token.old_value is Token.MISSING else token.old_value)
        return False
    return True


class inside:  # noqa: N801  # used as a context manager
    """Calls in this block are part of the call around it: `with inside(execution): …`."""

    __slots__ = ("_entered", "_of", "_token")

    def __init__(self, of: ExecutionContext) -> None:
        self._of = of

    def __enter__(self) -> None:
        self._entered = Inside(self._of, self._of.home, self._of.owner)
        self._token = running.set(self._entered)

    def __exit__(self, *_error: object) -> None:
        leave(self._entered, self._token)


def branch(of: ExecutionContext) -> Branch | Inside:
    """
    Return an execution context for another thread or greenlet that works for the same transaction.

    A greenlet may also bring a copy of this context. It is on the same thread, so from now on each lookup asks for it.
    """
    if of.thread and "gevent" in _modules:
        of.home, of.thread = here(), 0
    return Inside(of) if type(of) is Inside else Branch(of)
