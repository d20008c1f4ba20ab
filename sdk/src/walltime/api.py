"""What applications call: transactions and components of their own, and the current transaction."""

from __future__ import annotations

from types import FunctionType
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar, cast

from walltime import runtime
from walltime.core import execution as executions
from walltime.core.call import line
from walltime.core.execution import inherited, running_task, task_execution
from walltime.core.transaction import clock
from walltime.errors import contain
from walltime.instrumentation.decorated import Component, Part, decorated
from walltime.instrumentation.expected import failure_of, is_broken_off
from walltime.redaction.sanitize import text
from walltime.sampling import serving
from walltime.servers.request.request import incomplete
from walltime.servers.request.route import named

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from walltime.core.transaction import Transaction

F = TypeVar("F", bound="Callable[..., Any]")

MAX_NAME_CHARS: Final = 200
"""Maximum length of a component's name, which becomes part of attribute names."""


class _Measured:
    """A context manager and decorator. One object may be in use several times at once, in threads, tasks and calls."""

    __slots__ = ("_uses", "name")

    name: str
    _uses: list[Any]
    """One tuple for each `with` that it is in: the execution context, and what it is there."""

    def _text(self, name: str) -> str:
        if isinstance(name, FunctionType):
            word = type(self).__name__
            raise TypeError(f'walltime.{word} has no name: decorate with @walltime.{word}("…")')
        return text(name)

    def _part(self) -> Part:
        raise NotImplementedError

    def __call__(self, func: F) -> F:
        return cast("F", decorated(func, self._part, f"walltime.{type(self).__name__}({self.name!r})"))

    def _ended_here(self) -> Any:
        """Take the use that began last in this execution context; when that has ended, the last that has."""
        uses, here = self._uses, inherited()
        use = uses[-1]
        if use[0] is not here:
            begun = uses[::-1]
            ended = [each for each in begun if each[0] is None or each[0].transaction.is_over]
            use = next((each for each in begun if each[0] is here), (ended or begun)[0])
        uses.remove(use)
        return use


class transaction(_Measured):  # noqa: N801  # used as a context manager and as a decorator
    """
    A transaction that is not a web request: a job, a script.

        with walltime.transaction("nightly import"):
            ...

        @walltime.transaction("send newsletter", kind="consumer")
        def send(): ...

    Use kind `consumer` for a job from a queue, and `internal` for work without a request. Inside another transaction it
    is a component of that one, under the same name. A decorated coroutine function or generator is measured until it
    ends.

    Raises:
        TypeError: it has no name, or decorates a class or something that cannot be called.
    """

    __slots__ = ("kind",)

    def __init__(self, name: str, *, kind: Literal["internal", "consumer", "server"] = "internal") -> None:
        self.name = named(self._text(name))
        self.kind = kind
        self._uses = []

    def _part(self) -> Part:
        return _Opened(self.name, self.kind)

    def __enter__(self) -> CurrentTransaction:
        try:
            part = _Opened(self.name, self.kind)
            part.begin()
            here = inherited()
            self._uses.append((here, part))
            if here is not None and not here.transaction.is_over:
                return CurrentTransaction(here.transaction)
        except Exception as ours:
            contain("transaction", ours)
        return _OUTSIDE

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            self._ended_here()[1].end(error)
        except Exception as ours:
            contain("transaction", ours)


class component(_Measured):  # noqa: N801  # used as a context manager and as a decorator
    """
    A part of the application with its own line on the bill.

        with walltime.component("render"):
            ...

    Its time is exclusive: queries inside have their own line. Outside of a transaction it does nothing. A decorated
    generator is one call, whose time is that of making its items.

    Raises:
        TypeError: it has no name, or decorates a class or something that cannot be called.
    """

    __slots__ = ()

    def __init__(self, name: str) -> None:
        self.name = (text(name) if type(name) is str else self._text(name))[:MAX_NAME_CHARS]
        self._uses = []

    def _part(self) -> Part:
        return Component(self.name)

    def __enter__(self) -> component:
        try:
            execution = task_execution()
            self._uses.append((execution, 0 if execution is None else execution.nested_ns, clock()))
        except Exception as ours:
            contain("component", ours)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            uses = self._uses
            execution, outer_ns, started_ns = uses[0]
            if len(uses) == 1 and execution is inherited():
                del uses[0]
            else:
                execution, outer_ns, started_ns = self._ended_here()
            if execution is not None:
                failure = None if error is None else failure_of(error)
                execution.record(line(self.name), None, started_ns, clock(), outer_ns, failure)
        except Exception as ours:
            contain("component", ours)


class _Opened:
    """One use of `transaction`: a transaction, or a component of the one that runs."""

    __slots__ = ("_kind", "_name", "_opened")

    def __init__(self, name: str, kind: str) -> None:
        self._name = name
        self._kind = kind
        self._opened: runtime.Open | Component | None = None

    def begin(self) -> None:
        try:
            opened = self._opened
            if isinstance(opened, Component):
                opened.begin()
            elif opened is not None:
                opened.resume(running_task())
            elif (running := executions.current()) is not None and not running.transaction.duration_ns:
                part = Component(self._name)
                part.begin()
                self._opened = part
            elif runtime.settings().enabled:
                made = runtime.Open(self._name, self._kind, None, clock())
                made.enter(running_task())
                self._opened = made  # when entering fails, no empty bill is sent
        except Exception as ours:  # contained: the application goes on
            contain("transaction", ours)

    def pause(self) -> None:
        opened = self._opened
        if isinstance(opened, Component):
            opened.pause()
        elif opened is not None:
            opened.leave()
            serving.swap(None)

    def end(self, error: BaseException | None) -> None:
        try:
            opened = self._opened
            if isinstance(opened, Component):
                opened.end(error)
            elif opened is not None:
                if error is not None and is_broken_off(error):
                    incomplete(opened.transaction)
                elif error is not None and (failure := failure_of(error)):
                    opened.transaction.fail(failure)
                opened.finish()
        except Exception as ours:
            contain("transaction", ours)


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

    @property
    def _running(self) -> Transaction | None:
        return None if self._transaction is None or self._transaction.is_over else self._transaction

    def set_name(self, name: str) -> None:
        """
        Name it by its route, `GET /product/{id}`: few distinct names, no ids or user input in them.

        Parameters of a route become `{id}` in any notation: `<int:id>`, `:id`, `(?P<id>…)`, `{id:path}`, `*`.
        """
        if (running := self._running) is not None:
            running.set_name(named(text(name)))

    def set_user(self, user: str) -> None:
        """Set the user it is for. It is sent unchanged as `user.id`: give an id or a hash, not a person's name."""
        if (running := self._running) is not None:
            running.set_user(user)

    def set_session(self, session: str) -> None:
        """Set its session. It is sent as a keyed hash, `session.id`, unless the setting `raw_session_ids` is on."""
        if (running := self._running) is not None:
            running.set_session(session)

    def annotate(self, key: str, value: str | int | float | bool) -> None:
        """Attach a fact of the application, such as ("cart.items", 3): its last value, of at most 64 keys."""
        if (running := self._running) is not None:
            running.annotate(key, value)

    def fail(self, error_type: str) -> None:
        """Mark it as failed; `error_type` is a word such as an exception's class."""
        if (running := self._running) is not None:
            running.fail(error_type)

    def keep(self) -> None:
        """Keep its calls one by one, whatever the sample says, and mark the trace as sampled for its callees."""
        if (running := self._running) is not None:
            running.keep()


_OUTSIDE: Final = CurrentTransaction(None)


def current() -> CurrentTransaction:
    """Return the running transaction; outside of one, an object whose methods do nothing."""
    execution = executions.current()
    return _OUTSIDE if execution is None else CurrentTransaction(execution.transaction)
