"""
The current transaction of this thread, task or greenlet: `current()`.

The transaction is its own first execution context. Another thread or task that works for it has a `Branch`, so that
calls that run at the same time never count as nested in each other.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, TypeAlias

from walltime.core.after_response import record_after_response
from walltime.core.transaction import outside

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextvars import Token
    from typing import Any

    from walltime.core.call import Line
    from walltime.core.transaction import Comment, Transaction


class _Beside:
    """An execution context beside the transaction, which is its own first one."""

    __slots__ = ("nested_ns", "open_components", "owner", "statement", "transaction")

    def __init__(self, of: ExecutionContext, owner: int = 0) -> None:
        self.nested_ns = 0
        self.open_components: int = of.open_components
        self.statement: str | bytes | None = None
        self.owner = owner
        self.transaction: Transaction = of.transaction

    @property
    def sql_comment(self) -> Comment | None:
        return self.transaction.sql_comment


class Branch(_Beside):
    """The execution context of another thread or task that works for the transaction."""

    __slots__ = ()

    def __init__(self, of: ExecutionContext, owner: int = 0) -> None:
        super().__init__(of, owner)
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
        own_ns = elapsed_ns - (self.nested_ns - outer_ns)
        calls = transaction.calls
        calls.append((line, subject, started_ns, ended_ns, own_ns, failure, requested, matched))
        self.nested_ns += own_ns
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
current = running.get
"""The execution context of the running transaction, or None; 10 ns."""


def enter(new: ExecutionContext | None) -> Token[ExecutionContext | None]:
    """
    Make it the current execution context; `running.reset` undoes it.

    Use this instead of `running.set` where no value may be set yet. There, the reset would delete the value; when a
    garbage collection runs during that and calls `current()`, CPython before 3.12 keeps returning the deleted value.
    """
    if running.get(_NOTHING) is _NOTHING:
        running.set(None)
    return running.set(new)


_NOTHING: Final = object()


class inside:  # noqa: N801  # used as a context manager
    """Calls in this block are part of the call around it: `with inside(execution): …`."""

    __slots__ = ("_of", "_token")

    def __init__(self, of: ExecutionContext) -> None:
        self._of = of

    def __enter__(self) -> None:
        self._token: Token[ExecutionContext | None] = running.set(Inside(self._of, self._of.owner))

    def __exit__(self, *_error: object) -> None:
        running.reset(self._token)


def branch(of: ExecutionContext) -> Branch | Inside:
    """Return an execution context for another thread or greenlet that works for the same transaction."""
    return Inside(of, of.owner) if type(of) is Inside else Branch(of)


_current_task: Callable[[], Any] | None = None


def task_execution() -> ExecutionContext | None:
    """
    Return the execution context of the running asyncio task. Coroutines use this instead of `current()`.

    A task inherits the execution context of the task that created it; here it gets its own.
    """
    global _current_task  # noqa: PLW0603  # importing asyncio takes 30 ms; a caller has done so already
    inherited = current()
    if inherited is None:
        return None
    if _current_task is None:
        import asyncio

        _current_task = asyncio.current_task
    try:
        owner = id(_current_task())
    except RuntimeError:  # no asyncio event loop, for example under Trio
        return inherited
    if inherited.owner == owner:
        return inherited
    if not inherited.owner:
        inherited.owner = owner
        return inherited
    own = (Inside if type(inherited) is Inside else Branch)(inherited, owner)
    running.set(own)
    return own
