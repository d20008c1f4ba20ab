"""
Decorate a function of any kind so that all it does is measured, also what a coroutine or a generator does later.

A generator is measured in steps: the time between two items is its reader's.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator, Coroutine, Generator
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from walltime.core.call import Piece, line
from walltime.core.execution import task_execution
from walltime.core.transaction import clock
from walltime.errors import contain
from walltime.instrumentation.expected import failure_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from walltime.core.execution import ExecutionContext

    Function: TypeAlias = "Callable[..., Any]"


class Part(Protocol):
    """What one run is measured as. No method raises."""

    def begin(self) -> None:
        """Begin it, or go on after `pause`."""

    def pause(self) -> None: ...
    def end(self, error: BaseException | None) -> None: ...


class Component:
    """One use of a component: a call, in pieces when it pauses (core/pieces.py)."""

    __slots__ = ("_name", "_outer_ns", "_started_ns", "_subject", "execution")

    def __init__(self, name: str) -> None:
        self._name = name
        self._subject: tuple[object, ...] | None = None
        self.execution: ExecutionContext | None = None

    def begin(self) -> None:
        try:
            self.execution = execution = task_execution()
            if execution is not None:
                self._outer_ns = execution.nested_ns
                self._started_ns = clock()
        except Exception as ours:
            contain("component", ours)

    def pause(self) -> None:
        before, self._subject = self._subject, self._subject or (self._name,)  # compared by identity
        self._record(self._subject if before is None else Piece(before), None)

    def end(self, error: BaseException | None) -> None:
        self._record(None if self._subject is None else Piece(self._subject), error)

    def _record(self, subject: object, error: BaseException | None) -> None:
        execution = self.execution
        if execution is not None:
            try:
                ended_ns = clock()
                if subject is not None:
                    execution.transaction.has_pieces = True
                failure = None if error is None else failure_of(error)
                execution.record(line(self._name), subject, self._started_ns, ended_ns, self._outer_ns, failure)
            except Exception as ours:
                contain("component", ours)


def decorated(function: Any, part: Callable[[], Part], who: str) -> Any:
    """
    Return the function, measured; it stays a coroutine function, generator function, classmethod or staticmethod.

    Raises:
        TypeError: it is a class, or nothing that can be called.
    """
    if isinstance(function, (classmethod, staticmethod)):
        return type(function)(decorated(function.__func__, part, who))
    if isinstance(function, type) or not callable(function):
        kind = f"the class {function.__name__}" if isinstance(function, type) else f"a {type(function).__name__}"
        raise TypeError(f"{who} cannot measure {kind}: put it on the functions themselves, below other decorators")
    called = type(function).__call__
    for is_kind, wrap in _KINDS:
        if is_kind(function) or is_kind(called):
            return functools.wraps(function)(wrap(function, part))
    return functools.wraps(function)(_plain(function, part))


def _plain(function: Function, make: Callable[[], Part]) -> Function:
    def call(*args: Any, **kwargs: Any) -> Any:
        part = make()
        part.begin()
        try:
            result = function(*args, **kwargs)
        except BaseException as error:
            part.end(error)
            raise
        wrap = _wrap_of(type(result))  # type: ignore[arg-type]  # mypy takes a class for unhashable
        if wrap is None:
            part.end(None)
            return result
        part.pause()
        return wrap(lambda: result, lambda: part)()

    return call


def _coroutine(function: Function, make: Callable[[], Part]) -> Function:
    async def call(*args: Any, **kwargs: Any) -> Any:
        part = make()
        part.begin()
        try:
            result = await function(*args, **kwargs)
        except BaseException as error:
            part.end(error)
            raise
        part.end(None)
        return result

    return call


def _generator(function: Function, make: Callable[[], Part]) -> Function:
    def call(*args: Any, **kwargs: Any) -> Any:
        items, part = function(*args, **kwargs), make()
        value: Any = None
        thrown: BaseException | None = None
        while True:
            part.begin()
            try:
                item = items.send(value) if thrown is None else items.throw(thrown)
            except StopIteration as end:
                part.end(None)
                return end.value
            except BaseException as error:
                part.end(error)
                raise
            finally:
                thrown = None  # its traceback has this frame
            part.pause()
            try:
                value = yield item
            except BaseException as error:  # also GeneratorExit: the reader wants no more
                thrown = error

    return call


def _async_generator(function: Function, make: Callable[[], Part]) -> Function:
    async def call(*args: Any, **kwargs: Any) -> Any:
        items, part = function(*args, **kwargs), make()
        value: Any = None
        thrown: BaseException | None = None
        while True:
            part.begin()
            try:
                item = await (items.asend(value) if thrown is None else items.athrow(thrown))
            except StopAsyncIteration:
                part.end(None)
                return
            except BaseException as error:
                part.end(error)
                raise
            finally:
                thrown = None
            part.pause()
            try:
                value = yield item
            except BaseException as error:  # also GeneratorExit: the reader wants no more
                thrown = error

    return call


def _flags(function: Any) -> int:
    return getattr(getattr(function, "__code__", None), "co_flags", 0)


_KINDS: Any = (
    (inspect.iscoroutinefunction, _coroutine),
    (lambda function: _flags(function) & inspect.CO_ITERABLE_COROUTINE, _coroutine),  # of `types.coroutine`
    (inspect.isasyncgenfunction, _async_generator),
    (inspect.isgeneratorfunction, _generator),
)


@functools.lru_cache(maxsize=256)
def _wrap_of(result: type) -> Any:
    """
    Return what measures the rest of a plain function's run, by the class of its result; None when it is over.

    Not of a library's own coroutines: they may be more, as those of aiohttp and aiomysql for `async with`.
    """
    for kind, wrap in ((Coroutine, _coroutine), (AsyncGenerator, _async_generator), (Generator, _generator)):
        if issubclass(result, kind) and result.__name__ in _BUILT_IN:
            return wrap
    return None


_BUILT_IN: Final = frozenset({"coroutine", "async_generator", "generator"})
"""By name: Cython has its own."""
