"""The plainest wrappers: a method of which each call is one call of a component, whatever it takes and returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from walltime.core.call import lines
from walltime.core.execution import current, task_execution
from walltime.core.transaction import clock, outside
from walltime.errors import contain

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from walltime.core.call import Target
    from walltime.core.execution import ExecutionContext

    Wrap: TypeAlias = "Callable[[Callable[..., Any]], Callable[..., Any]]"


def class_name(error: BaseException) -> str:
    return type(error).__name__


def timed(
    library: str,
    component: str,
    server: Callable[[Any], Target | None],
    subject: object = None,
    failure: Callable[[BaseException], str] = class_name,
) -> Wrap:
    """
    Return what wraps such a method.

    Args:
        library: what calls outside of any transaction are counted under.
        server: says which server the object of the method talks to.
        subject: what every call asks for, such as the one statement the method sends.
        failure: says in a word what went wrong.
    """
    return wrap(Ended(library, component, lambda of: (server(of), 0), subject, failure))


def timed_async(
    library: str,
    component: str,
    server: Callable[[Any], Target | None],
    subject: object = None,
    failure: Callable[[BaseException], str] = class_name,
) -> Wrap:
    """Return what wraps a coroutine method as `timed` wraps a plain one."""
    return wrap_async(Ended(library, component, lambda of: (server(of), 0), subject, failure))


class Ended:
    """What there is to do when such a call has ended, whether it was awaited or not."""

    def __init__(
        self,
        library: str,
        component: str,
        about: Callable[[Any], tuple[Target | None, int]],
        subject: object,
        failure: Callable[[BaseException], str],
    ) -> None:
        """`about` says of the method's object which server it talks to, and what the calls have asked (`call.Call`)."""
        self.library = library
        self._at = lines(component)
        self._about = about
        self._subject = subject
        self._failure = failure

    def record(
        self,
        execution: ExecutionContext,
        of: Any,
        started_ns: int,
        ended_ns: int,
        outer_ns: int,
        error: BaseException | None = None,
    ) -> None:
        """Put the call on the bill. Never raises."""
        try:
            target, asked = self._about(of)
            failure = None if error is None else self._failure(error)
            execution.record(self._at[target], self._subject, started_ns, ended_ns, outer_ns, failure, asked)
        except Exception as ours:
            contain(self.library, ours)


def wrap(ended: Ended) -> Wrap:
    """Return what wraps a plain method."""

    def wrapping(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            execution = current()
            if execution is None:
                outside(ended.library)
                return original(self, *args, **kwargs)
            outer_ns = execution.nested_ns
            started_ns = clock()
            try:
                value = original(self, *args, **kwargs)
            except BaseException as error:
                ended.record(execution, self, started_ns, clock(), outer_ns, error)
                raise
            ended.record(execution, self, started_ns, clock(), outer_ns)
            return value

        return call

    return wrapping


def wrap_async(ended: Ended) -> Wrap:
    """Return what wraps a coroutine method."""

    def wrapping(original: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            execution = task_execution()
            if execution is None:
                outside(ended.library)
                return await original(self, *args, **kwargs)
            outer_ns = execution.nested_ns
            started_ns = clock()
            try:
                value = await original(self, *args, **kwargs)
            except BaseException as error:
                ended.record(execution, self, started_ns, clock(), outer_ns, error)
                raise
            ended.record(execution, self, started_ns, clock(), outer_ns)
            return value

        return call

    return wrapping
