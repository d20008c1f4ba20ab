"""
The measuring gate of the components of frameworks (`core/components.py`): of nested calls of a component, only the
outermost is recorded. A call costs 0.6 µs, a nested one 0.1 µs.

The sampler reads the local variable `component` of a wrapper's frame: all wrappers here have it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from walltime.core.call import Piece
from walltime.core.components import BITS, CONTAINERS, LINES
from walltime.core.execution import current
from walltime.errors import contain
from walltime.instrumentation.expected import failure_of
from walltime.instrumentation.measure import Around
from walltime.instrumentation.template import Inline, wrapper

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping

    from walltime.core.execution import ExecutionContext


@dataclass(frozen=True)
class Outermost:
    """How the calls of a function of a framework are measured."""

    component: str
    applies: Callable[..., bool] | None = None
    """Takes the call's arguments. Returns whether this call is one of the component; None: all are."""

    def call(self, original: Callable[..., Any]) -> Callable[..., Any]:
        return self._wrapper(original, is_async=False)

    def awaited(self, original: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        return self._wrapper(original, is_async=True)

    def _wrapper(self, original: Callable[..., Any], *, is_async: bool) -> Callable[..., Any]:
        names = {
            "original": original, "applies": self.applies, "COMPONENT": self.component, "BIT": BITS[self.component],
            "is_applied": _applies,
        }  # fmt: skip
        return _generated(_CALL if self.applies is None else _CALL_THAT_APPLIES, is_async=is_async, names=names)

    def iterated(self, original: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
        """Wrap a function that returns an iterator: making its items is one call, wherever they are taken."""

        def call(*args: Any, **kwargs: Any) -> Any:
            return measured(original(*args, **kwargs), self.component, Items)

        return call

    def iterated_async(self, original: Callable[..., AsyncIterator[Any]]) -> Callable[..., AsyncIterator[Any]]:
        def call(*args: Any, **kwargs: Any) -> Any:
            return measured(original(*args, **kwargs), self.component, AsyncItems)

        return call


def _applies(applies: Callable[..., bool], component: str, args: tuple[Any, ...]) -> bool:
    try:
        return applies(*args)
    except Exception as ours:
        contain(component, ours)
        return False


def _end(
    execution: ExecutionContext, component: str, started_ns: int, ended_ns: int, outer_ns: int,
    error: BaseException | None, subject: object = None,
) -> None:  # fmt: skip
    execution.open_components &= ~BITS[component]
    try:
        # Exceptions pass containers as the framework's way to answer 404, and as the transaction's own failure.
        failure = None if error is None or component in CONTAINERS else failure_of(error)
        execution.record(LINES[component], subject, started_ns, ended_ns, outer_ns, failure)
    except Exception as ours:
        contain(component, ours)


def measured(items: Any, component: str, kind: type[Items], subject: tuple[object, ...] | None = None) -> Any:
    """Return an iterator that makes these items in one call of the component: see `Items`."""
    try:
        return items if current() is None else kind(items, component, subject)
    except Exception as ours:
        contain(component, ours)
        return items


def _generated(
    inline: Inline, *, is_async: bool = False, subject: str = "", names: Mapping[str, Any] | None = None
) -> Callable[..., Any]:
    ended, failed = [
        f"ended(execution, component, started_ns, clock(), outer_ns, {error}{subject})" for error in ("None", "error")
    ]
    return wrapper(inline, __file__, ended, failed, is_async=is_async, names={**(names or {}), "ended": _end})


_CALL: Final = Inline(
    "call(*args, **kwargs)", setup="component = COMPONENT", aside="execution.open_components & BIT",
    before="execution.open_components |= BIT",
)  # fmt: skip
_CALL_THAT_APPLIES: Final = replace(_CALL, aside=f"{_CALL.aside} or not is_applied(applies, component, args)")
_ITEM: Final = Inline(
    "__next__(self)", setup="original, component = self._next, self._component", call="original()",
    aside="execution.open_components & self._bit", before="execution.open_components |= self._bit",
)  # fmt: skip


class Items(Around):
    """An iterator that makes its items in one call of a component. The time between two items is not the call's."""

    def __init__(self, items: Any, component: str, subject: tuple[object, ...] | None = None) -> None:
        """`subject`: that of a recorded call of which the items are a part; None when they are a call of their own."""
        super().__init__(items)
        self._component, self._bit = component, BITS[component]
        self.subject = subject or (component,)  # compared by identity
        self._piece = None if subject is None else Piece(self.subject)

    def __iter__(self) -> Iterator[Any]:
        return self

    __next__ = _generated(_ITEM, subject=", self._record_as(execution)")

    def _record_as(self, execution: ExecutionContext) -> object:
        """Return the subject of the next record: the call, then pieces of it."""
        try:
            piece, self._piece = self._piece, self._piece or Piece(self.subject)
            execution.transaction.has_pieces = True
        except Exception as ours:
            contain(self._component, ours)
            return None
        return piece or self.subject


class AsyncItems(Items):
    """`Items` of an asynchronous iterator."""

    next_method = "__anext__"

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    __anext__ = _generated(
        replace(_ITEM, signature="__anext__(self)"), is_async=True, subject=", self._record_as(execution)"
    )
