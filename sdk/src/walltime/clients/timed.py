"""The plainest wrapper: a method of which each call is one call of a component, whatever it takes and returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from walltime.hotpath import clock, current

if TYPE_CHECKING:
    from collections.abc import Callable

    from walltime.call import Target


def class_name(error: BaseException) -> str:
    return type(error).__name__


def timed(
    component: str,
    server: Callable[[Any], Target],
    subject: object = None,
    failure: Callable[[BaseException], str] = class_name,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """
    Return what wraps such a method.

    Args:
        server: says which server the object of the method talks to.
        subject: what every call asks for, such as the one statement the method sends.
        failure: says in a word what went wrong.
    """

    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            strand = current()
            if strand is None:
                return original(self, *args, **kwargs)
            outer_ns, strand.nested_ns = strand.nested_ns, 0
            failed = None
            started_ns = clock()
            try:
                return original(self, *args, **kwargs)
            except BaseException as error:
                failed = failure(error)
                raise
            finally:
                strand.record(component, server(self), subject, started_ns, clock(), outer_ns, failed)

        return call

    return wrap
