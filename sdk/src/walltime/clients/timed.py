"""The plainest wrappers: a method of which each call is one call of a component, whatever it takes and returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from walltime.call import lines
from walltime.errors import contain
from walltime.hotpath import clock, current, outside, task_strand

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from walltime.call import Target


def class_name(error: BaseException) -> str:
    return type(error).__name__


def timed(
    library: str,
    component: str,
    server: Callable[[Any], Target | None],
    subject: object = None,
    failure: Callable[[BaseException], str] = class_name,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """
    Return what wraps such a method.

    Args:
        library: what calls outside of any transaction are counted under.
        server: says which server the object of the method talks to.
        subject: what every call asks for, such as the one statement the method sends.
        failure: says in a word what went wrong.
    """

    at = lines(component)

    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            strand = current()
            if strand is None:
                outside(library)
                return original(self, *args, **kwargs)
            outer_ns, strand.nested_ns = strand.nested_ns, 0
            started_ns = clock()
            try:
                value = original(self, *args, **kwargs)
            except BaseException as error:
                try:
                    strand.record(at[server(self)], subject, started_ns, clock(), outer_ns, failure(error))
                except Exception as ours:
                    contain(library, ours)
                raise
            try:
                strand.record(at[server(self)], subject, started_ns, clock(), outer_ns)
            except Exception as ours:
                contain(library, ours)
            return value

        return call

    return wrap


def timed_async(
    library: str,
    component: str,
    server: Callable[[Any], Target | None],
    subject: object = None,
    failure: Callable[[BaseException], str] = class_name,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return what wraps a coroutine method as `timed` wraps a plain one."""
    at = lines(component)

    def wrap(original: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            strand = task_strand()
            if strand is None:
                outside(library)
                return await original(self, *args, **kwargs)
            outer_ns, strand.nested_ns = strand.nested_ns, 0
            started_ns = clock()
            try:
                value = await original(self, *args, **kwargs)
            except BaseException as error:
                try:
                    strand.record(at[server(self)], subject, started_ns, clock(), outer_ns, failure(error))
                except Exception as ours:
                    contain(library, ours)
                raise
            try:
                strand.record(at[server(self)], subject, started_ns, clock(), outer_ns)
            except Exception as ours:
                contain(library, ours)
            return value

        return call

    return wrap
