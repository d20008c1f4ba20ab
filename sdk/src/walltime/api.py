"""What applications call: transactions and components of their own, and the current transaction."""

from __future__ import annotations

import functools
from contextlib import ContextDecorator
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar, cast

from walltime import runtime
from walltime.core import execution as executions
from walltime.core.call import line
from walltime.core.execution import ExecutionContext
from walltime.core.transaction import clock
from walltime.errors import contain
from walltime.redaction.sanitize import text
from walltime.servers.request.route import named

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from walltime.core.transaction import Transaction

F = TypeVar("F", bound="Callable[..., Any]")

MAX_NAME_CHARS: Final = 200
"""Maximum length of a component's name, which becomes part of attribute names."""


class _Decorator(ContextDecorator):
    """A context manager and decorator; for a coroutine function it measures the run of the coroutine."""

    def __call__(self, func: F) -> F:
        if not iscoroutinefunction(func):
            return super().__call__(func)

        @functools.wraps(func)
        async def call(*args: Any, **kwargs: Any) -> Any:
            with self._recreate_cm():  # type: ignore[attr-defined]  # typeshed leaves it out; contextlib calls it too
                return await func(*args, **kwargs)

        return cast("F", call)


class transaction(_Decorator):  # noqa: N801  # used as a context manager and as a decorator
    """
    A transaction that is not a web request: a job, a script.

        with walltime.transaction("nightly import"):
            ...

        @walltime.transaction("send newsletter", kind="consumer")
        def send(): ...

    Use kind `consumer` for a job from a queue, and `internal` for work without a request. Inside another transaction it
    is a component of that one, under the same name.
    """

    def __init__(self, name: str, *, kind: Literal["internal", "consumer", "server"] = "internal") -> None:
        self.name = named(text(name))
        self.kind = kind
        self._opened: list[runtime.Open | component | None] = []

    def _recreate_cm(self) -> transaction:
        return transaction(self.name, kind=self.kind)  # each call of a decorated function has its own object

    def __enter__(self) -> CurrentTransaction:
        opened: runtime.Open | component | None = None
        try:
            running = executions.current()
            if running is not None and not running.transaction.duration_ns:  # else it is left over in this thread
                opened = component(self.name)
                opened.__enter__()
            elif runtime.settings().enabled:
                made = runtime.Open(self.name, self.kind, None, clock())
                made.enter(executions.running_task())
                opened = made  # when entering fails, no empty bill is sent
        except Exception as ours:  # contained: the application goes on
            contain("transaction", ours)
        self._opened.append(opened)
        return current()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            opened = self._opened.pop()
            if isinstance(opened, component):
                opened.__exit__(kind, error, traceback)
            elif opened is not None:
                if kind is not None:
                    opened.transaction.fail(kind.__name__)
                opened.finish()
        except Exception as ours:
            contain("transaction", ours)


class component(_Decorator):  # noqa: N801  # used as a context manager and as a decorator
    """
    A part of the application with its own line on the bill.

        with walltime.component("render"):
            ...

    Its time is exclusive: queries inside have their own line. Outside of a transaction it does nothing.
    """

    __slots__ = ("_execution", "_outer_ns", "_started_ns", "name")

    def __init__(self, name: str) -> None:
        self.name = text(name)[:MAX_NAME_CHARS]
        self._execution: ExecutionContext | None = None

    def _recreate_cm(self) -> component:
        return component(self.name)

    def __enter__(self) -> component:
        try:
            self._execution = execution = executions.task_execution()
            if execution is not None:
                self._outer_ns = execution.nested_ns
                self._started_ns = clock()
        except Exception as ours:
            contain("component", ours)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        execution = self._execution
        if execution is not None:
            try:
                failure = None if kind is None else kind.__name__
                execution.record(line(self.name), None, self._started_ns, clock(), self._outer_ns, failure)
            except Exception as ours:
                contain("component", ours)


class CurrentTransaction:
    """
    The running transaction, as far as an application needs it; outside of one, every method does nothing.

    What it is given after the transaction has ended is ignored.
    """

    __slots__ = ("_transaction",)

    def __init__(self, transaction: Transaction | None) -> None:
        self._transaction = transaction

    @property
    def request_id(self) -> str:
        """The trace id: what the SQL comments carry and `walltime show` takes; '' outside of a transaction."""
        return "" if self._transaction is None else self._transaction.request_id

    @property
    def name(self) -> str:
        """Its name so far; '' outside of a transaction."""
        return "" if self._transaction is None else self._transaction.name

    def set_name(self, name: str) -> None:
        """
        Name it by its route, `GET /product/{id}`: few distinct names, no ids or user input in them.

        Parameters of a route become `{id}` in any notation: `<int:id>`, `:id`, `(?P<id>…)`, `{id:path}`, `*`.
        """
        if self._transaction is not None:
            self._transaction.set_name(named(text(name)))

    def set_user(self, user: str) -> None:
        """Set the user it is for. It is sent unchanged as `user.id`: give an id or a hash, not a person's name."""
        if self._transaction is not None:
            self._transaction.set_user(user)

    def set_session(self, session: str) -> None:
        """Set its session. It is sent as a keyed hash, `session.id`, unless the setting `raw_session_ids` is on."""
        if self._transaction is not None:
            self._transaction.set_session(session)

    def annotate(self, key: str, value: str | int | float | bool) -> None:
        """Attach a fact of the application, such as ("cart.items", 3): its last value, of at most 64 keys."""
        if self._transaction is not None:
            self._transaction.annotate(key, value)

    def fail(self, error_type: str) -> None:
        """Mark it as failed; `error_type` is a word such as an exception's class."""
        if self._transaction is not None:
            self._transaction.fail(error_type)

    def keep(self) -> None:
        """Keep its calls one by one, whatever the sample says, and mark the trace as sampled for its callees."""
        if self._transaction is not None:
            self._transaction.keep()


_OUTSIDE: Final = CurrentTransaction(None)


def current() -> CurrentTransaction:
    """Return the running transaction; outside of one, an object whose methods do nothing."""
    execution = executions.current()
    return _OUTSIDE if execution is None else CurrentTransaction(execution.transaction)
