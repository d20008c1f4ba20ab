"""
The measuring gate: clock, nesting and containment of every measured call, whether it is called, awaited or iterated.

To add a client, for example psycopg:

1. Write `clients/sql/psycopg.py` with `REQUIRES`, the versions it is tested with, and `patches()`, what it wraps.
2. For each method that waits for the server, write `describe(connection, args, result, error)`. It returns a
   `Described` tuple, or None when there is nothing to record. Sync and async methods share it.
3. Wrap: `Patch(Connection, "execute", Measure("psycopg", describe).call)`; `.awaited` for coroutine methods,
   `.iterated` and `.iterated_async` for what returns an iterator. For a call without counts, `timed.timed` is enough.
4. Add it to the tables in `instrumentation/libraries.py`, and to `docs/instrumentation.md`.
5. Test against the real server in `tests/sdk/clients/sql/test_psycopg.py`: the counts equal the server's, results and
   exceptions pass unchanged, and a failure in each `describe` is contained (`tests/safety` raises in every function).

A wrapper is one plain function: without a transaction it calls straight through; otherwise clock, call, clock, record.
It never changes the call's result or exception. All come from one template (`instrumentation/template.py`). For a
method that a profile proves hot, the measure describes the common case `inline`, with the reason.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from inspect import CO_VARARGS, CO_VARKEYWORDS, signature
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from walltime import native
from walltime.core.execution import current
from walltime.core.transaction import outside
from walltime.errors import contain
from walltime.instrumentation.template import DESCRIBED, ENDED, FAILED, Inline, wrapper

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

    from walltime.core.call import Line
    from walltime.core.execution import ExecutionContext

    Wrap: TypeAlias = "Callable[[Callable[..., Any]], Callable[..., Any]]"

Described: TypeAlias = "tuple[Line, object, str | None, int, int]"
"""
What a call was: (line, subject, failure, requested, matched), as in `core.call.Call`. The failure is that of a call
that returned, such as an HTTP status; the failure of one that raised is `Measure.failure`.

requested and matched are counts: keys and hits of a cache, the connection's id and the rows of MySQL, earlier attempts
and the status of HTTP.
"""

_ENDS: Final = (StopIteration, StopAsyncIteration)


def class_name(error: BaseException) -> str:
    return type(error).__name__


def first(args: Any) -> Any:
    """Return the first argument of a call, whether it was passed by position or by name."""
    return args[0] if type(args) is tuple else next(iter(args.values()))


@dataclass(frozen=True)
class Measure:
    """How the calls of a method are measured."""

    library: str
    """Our failures and the calls outside of any transaction are counted under this name."""
    describe: Callable[[Any, Any, Any, BaseException | None], Any]
    """
    Takes the method's object, its arguments, its result (None after an error) and its error, after the call. Returns a
    `Described`, or what `record` takes; None when there is nothing to record.

    The arguments are the tuple of those by position, or the dict of those by name where there are none (`first`).
    """
    begin: Callable[[Any, Any], Any] | None = None
    """Takes the method's object and its arguments before the call. Returns what `describe` takes in place
    of the object; None when this call is not to be measured."""
    record: Callable[[ExecutionContext, Any, str | None, int, int, int], None] | None = None
    """Takes the execution context, what `describe` returned, the failure, and started_ns, ended_ns and outer_ns as
    `Transaction.record` does. None records one call."""
    failure: Callable[[BaseException], str | None] = class_name
    """Returns the failure of a call that raised this."""
    counts_outside: bool = True
    """Whether calls outside of any transaction are counted. False for steps of a call that is counted already."""
    shortest_ns: int = 0
    """Successful calls that are shorter leave no record."""
    inline: Inline | None = None
    """The signature and the common case of a method that a profile proves hot."""

    def call(self, original: Callable[..., Any]) -> Callable[..., Any]:
        return self._wrapper(original, is_async=False)

    def awaited(self, original: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        return self._wrapper(original, is_async=True)

    def _wrapper(self, original: Callable[..., Any], *, is_async: bool) -> Callable[..., Any]:
        inline = self.inline or (_NOTHING_GIVEN if not is_async and _takes_only_self(original) else _ANY)
        file = self.describe.__code__.co_filename if self.inline else __file__
        names = {"original": original, "library": self.library, "begin": self.begin, "describe": self.describe}
        made = wrapper(
            inline, file, DESCRIBED if self.record is None and not self.shortest_ns else ENDED, is_async=is_async,
            has_begin=self.begin is not None, counts_outside=self.counts_outside, names={**names, "end": self.end},
        )  # fmt: skip
        if inline.native is None:
            return made
        more = {"library": self.library, "end": self.end, "contain": contain, "most": inline.most}
        return native.wrapper(inline.native, made, original, **more)  # type: ignore[no-any-return]

    def iterated(self, original: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
        """Wrap a method that returns an iterator: each item is described, without arguments; the end as None."""
        return self._iterated(original, _Items)

    def iterated_async(self, original: Callable[..., AsyncIterator[Any]]) -> Callable[..., AsyncIterator[Any]]:
        return self._iterated(original, _AsyncItems)

    def _iterated(self, original: Callable[..., Any], measured: Callable[..., Any]) -> Callable[..., Any]:
        def iterate(of: Any, *args: Any, **kwargs: Any) -> Any:
            items = original(of, *args, **kwargs)
            try:
                if current() is not None:
                    about = of if self.begin is None else self.begin(of, args if args or not kwargs else kwargs)
                    return items if about is None else measured(items, about, self.end)
                if self.counts_outside:
                    outside(self.library)
            except Exception as ours:
                contain(self.library, ours)
            return items

        return iterate

    @cached_property
    def end(self) -> Callable[..., None]:
        """
        The function that puts a call on the bill, without an attribute to look up. It never raises; after a failure
        before the record, the time is the call's around it.
        """
        library, describe, record, failure_of = self.library, self.describe, self.record, self.failure
        shortest_ns = self.shortest_ns

        def end(
            execution: ExecutionContext, started_ns: int, ended_ns: int, outer_ns: int,
            of: Any, args: Any, result: Any, error: BaseException | None,
        ) -> None:  # fmt: skip
            try:
                if shortest_ns and error is None and ended_ns - started_ns < shortest_ns:
                    return
                described = describe(of, args, result, error)
                if described is None:
                    return
                if record is not None:
                    failure = None if error is None else failure_of(error)
                    record(execution, described, failure, started_ns, ended_ns, outer_ns)
                    return
                line, subject, failure, requested, matched = described
                if error is not None:
                    failure = failure_of(error)
                execution.record(line, subject, started_ns, ended_ns, outer_ns, failure, requested, matched)
            except Exception as ours:
                contain(library, ours)

        return end


_ANY: Final = Inline(
    "call(self, *args, **kwargs)", "given", before="given = args if args or not kwargs else kwargs",
    call="original(self, *args, **kwargs) if kwargs else original(self, *args)",
)  # fmt: skip
_NOTHING_GIVEN: Final = Inline("call(self)")


def _takes_only_self(method: Callable[..., Any]) -> bool:
    try:
        return len(signature(method).parameters) == 1 and not method.__code__.co_flags & (CO_VARARGS | CO_VARKEYWORDS)
    except (AttributeError, TypeError, ValueError):  # a function of C
        return False


class Around:
    """What wraps an iterator has its attributes. It is no generator: closing the iterator stays what it is."""

    next_method = "__next__"

    def __init__(self, items: Any) -> None:
        self._items = items
        self._next = getattr(items, self.next_method)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._items, name)


_ITEM: Final = Inline("__next__(self)", setup="original, end = self._next, self._end", call="original()")
_ITEM_FAILED: Final = FAILED.replace("error)", "None if isinstance(error, ENDS) else error)")


class _Items(Around):
    """An iterator whose items are measured one by one."""

    def __init__(self, items: Any, of: Any, end: Callable[..., None]) -> None:
        super().__init__(items)
        self._of, self._end = of, end

    def __iter__(self) -> Iterator[Any]:
        return self

    __next__ = wrapper(_ITEM, __file__, failed=_ITEM_FAILED, of="self._of", names={"ENDS": _ENDS})


class _AsyncItems(_Items):
    """`_Items` of an asynchronous iterator."""

    next_method = "__anext__"

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    __anext__ = wrapper(
        replace(_ITEM, signature="__anext__(self)"), __file__, failed=_ITEM_FAILED, is_async=True, of="self._of",
        names={"ENDS": _ENDS},
    )  # fmt: skip
