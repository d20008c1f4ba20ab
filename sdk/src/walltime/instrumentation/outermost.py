"""
The measuring gate of the components of frameworks (`core/components.py`): of nested calls of a component, only the
outermost is recorded. A call costs 0.6 µs, a nested one 0.1 µs.

The sampler reads the local variable `component` of a wrapper's frame: all wrappers here have it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from walltime.core.call import Piece
from walltime.core.components import BITS, CONTAINERS, LINES
from walltime.core.execution import current, elsewhere, get_ident, inherited, task_execution
from walltime.core.transaction import clock
from walltime.errors import contain
from walltime.instrumentation.expected import failure_of
from walltime.instrumentation.measure import Around

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

    from walltime.core.execution import ExecutionContext


@dataclass(frozen=True)
class Outermost:
    """How the calls of a function of a framework are measured."""

    component: str
    applies: Callable[..., bool] | None = None
    """Takes the call's arguments. Returns whether this call is one of the component; None: all are."""

    def call(self, original: Callable[..., Any]) -> Callable[..., Any]:
        component, applies, bit = self.component, self.applies, BITS[self.component]

        def call(*args: Any, **kwargs: Any) -> Any:
            execution = inherited()
            if execution is not None and execution.thread != get_ident():
                execution = elsewhere(execution)
            if execution is None or execution.open_components & bit:
                return original(*args, **kwargs)
            if applies is not None and not _applies(applies, component, args):
                return original(*args, **kwargs)
            outer_ns = execution.nested_ns
            execution.open_components |= bit
            started_ns = clock()
            try:
                result = original(*args, **kwargs)
            except BaseException as error:
                _end(execution, component, started_ns, clock(), outer_ns, error)
                raise
            _end(execution, component, started_ns, clock(), outer_ns, None)
            return result

        return call

    def awaited(self, original: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        component, applies, bit = self.component, self.applies, BITS[self.component]

        async def call(*args: Any, **kwargs: Any) -> Any:
            execution = task_execution()
            if execution is None or execution.open_components & bit:
                return await original(*args, **kwargs)
            if applies is not None and not _applies(applies, component, args):
                return await original(*args, **kwargs)
            outer_ns = execution.nested_ns
            execution.open_components |= bit
            started_ns = clock()
            try:
                result = await original(*args, **kwargs)
            except BaseException as error:
                _end(execution, component, started_ns, clock(), outer_ns, error)
                raise
            _end(execution, component, started_ns, clock(), outer_ns, None)
            return result

        return call

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

    def __next__(self) -> Any:
        original, component, execution = self._next, self._component, current()
        if execution is None or execution.open_components & self._bit:
            return original()
        outer_ns = execution.nested_ns
        execution.open_components |= self._bit
        started_ns = clock()
        try:
            item = original()
        except BaseException as error:
            _end(execution, component, started_ns, clock(), outer_ns, error, self._record_as(execution))
            raise
        _end(execution, component, started_ns, clock(), outer_ns, None, self._record_as(execution))
        return item

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

    async def __anext__(self) -> Any:
        original, component, execution = self._next, self._component, task_execution()
        if execution is None or execution.open_components & self._bit:
            return await original()
        outer_ns = execution.nested_ns
        execution.open_components |= self._bit
        started_ns = clock()
        try:
            item = await original()
        except BaseException as error:
            _end(execution, component, started_ns, clock(), outer_ns, error, self._record_as(execution))
            raise
        _end(execution, component, started_ns, clock(), outer_ns, None, self._record_as(execution))
        return item
