"""`@walltime.transaction` and `@walltime.component` measure all that a function does, of whatever kind it is."""

from __future__ import annotations

import asyncio
import builtins
import functools
import inspect
import sys
import threading
import time
import types
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterator
from contextlib import suppress
from typing import Any

import pytest
import walltime
from walltime.core.execution import current

from tests.sdk.sink import Received, Sink

STEP_S = 0.002


def generator() -> Generator[int, str, str]:
    for number in range(3):
        time.sleep(STEP_S)
        with walltime.component("inner"):
            time.sleep(STEP_S)
        yield number
    return "end"


async def async_generator() -> AsyncIterator[int]:
    for number in generator():
        await asyncio.sleep(0)
        yield number


async def coroutine() -> int:
    await asyncio.sleep(STEP_S)
    return sum([number async for number in async_generator()])


@types.coroutine
def old_coroutine() -> Any:
    yield
    return sum(generator())


class Called:
    async def __call__(self) -> int:
        return await coroutine()


class Made:
    def __call__(self) -> Iterator[int]:
        yield from generator()


def returns(of: Callable[[], Any]) -> Callable[[], Any]:
    return lambda: of()  # noqa: PLW0108  # its kind is hidden


def consume(made: Any) -> int:
    """Do all of it, as its reader; the sum of its items."""

    async def all_of() -> int:
        return int(await made) if inspect.isawaitable(made) else sum([number async for number in made])

    if isinstance(made, int):
        return made
    return sum(made) if hasattr(made, "__iter__") and not inspect.isawaitable(made) else asyncio.run(all_of())


KINDS: dict[str, Any] = {
    "generator": generator,
    "async generator": async_generator,
    "coroutine": coroutine,
    "old coroutine": old_coroutine,
    "object that is called": Called(),
    "object that makes": Made(),
    "partial of a coroutine": functools.partial(coroutine),
    "partial of a generator": functools.partial(generator),
    "returns a coroutine": returns(coroutine),
    "returns a generator": returns(generator),
    "returns an async generator": returns(async_generator),
    "bound method": Called().__call__,
}
kinds = pytest.mark.parametrize("kind", KINDS)


def own_ns(found: Received, name: str) -> int:
    return found.times_ns()[name]


@kinds
def test_a_component_is_one_call_with_the_time_of_all_it_does(recorded: Sink, kind: str) -> None:
    decorated = walltime.component("part")(KINDS[kind])
    with walltime.transaction("job"):
        assert consume(decorated()) == 3
    found = recorded.transaction()
    assert found.cell("part") == {"calls": 1}
    assert found.cell("inner") == {"calls": 3}
    assert own_ns(found, "part") >= 3 * STEP_S * 1e9


@kinds
def test_a_transaction_lasts_until_the_end_and_has_what_is_inside(recorded: Sink, kind: str) -> None:
    decorated = walltime.transaction("job")(KINDS[kind])
    assert consume(decorated()) == 3
    assert current() is None
    found = recorded.transaction()
    assert found.cell("inner") == {"calls": 3}
    assert found.duration_ns >= 6 * STEP_S * 1e9


@pytest.mark.parametrize("kind", ["generator", "async generator", "coroutine"])
@pytest.mark.parametrize("measure", [walltime.transaction, walltime.component])
def test_a_decorated_function_stays_of_its_kind(kind: str, measure: Any) -> None:
    decorated = measure("x")(KINDS[kind])
    for of_kind in (inspect.isgeneratorfunction, inspect.isasyncgenfunction, inspect.iscoroutinefunction):
        assert of_kind(decorated) == of_kind(KINDS[kind])
    assert decorated.__name__ == KINDS[kind].__name__


def test_between_two_items_the_reader_is_where_it_was(recorded: Sink) -> None:
    decorated = walltime.transaction("items")(generator)
    with walltime.component("outside"):
        for _ in decorated():
            assert current() is None
            assert walltime.current().request_id == ""
    with walltime.transaction("reader"):
        reader = current()
        for _ in decorated():
            assert current() is reader
            with walltime.component("of the reader"):
                time.sleep(STEP_S)
    items, reader_s = recorded.transactions()
    assert items.cell("of the reader") == {}
    assert reader_s.cell("items") == {"calls": 1}
    assert own_ns(reader_s, "items") + own_ns(reader_s, "of the reader") <= reader_s.duration_ns


def test_what_is_sent_thrown_and_returned_passes(recorded: Sink) -> None:
    seen: list[Any] = []

    def talks() -> Generator[int, Any, str]:
        seen.append((yield 1))
        try:
            yield 2
        except KeyError as error:
            seen.append(error)
        try:
            yield 3
        finally:
            seen.append("closed")
        return "never"

    error = KeyError("mine")
    for decorate in (walltime.component("x"), walltime.transaction("y")):
        seen.clear()
        talk = decorate(talks)()
        assert next(talk) == 1
        assert talk.send("hello") == 2
        assert talk.throw(error) == 3
        talk.close()
        assert seen == ["hello", error, "closed"]

        returned: list[str] = []

        def reads() -> Iterator[int]:
            returned.append((yield from decorate(generator)()))  # noqa: B023

        assert list(reads()) == [0, 1, 2]
        assert returned == ["end"]
    assert not any(found.attributes.get("error.type") for found in recorded.transactions())


def test_an_error_of_the_application_passes_as_the_same_object_and_counts(recorded: Sink) -> None:
    error = KeyError("mine")

    def fails() -> Iterator[int]:
        yield 1
        raise error

    async def fails_later() -> AsyncIterator[int]:
        yield 1
        raise error

    for function in (fails, fails_later):
        with pytest.raises(KeyError) as raised:
            consume(walltime.transaction("job")(walltime.component("part")(function))())
        assert raised.value is error
        assert error.__cause__ is error.__context__ is None
    for found in recorded.transactions():
        assert found.attributes["error.type"] == "KeyError"
        assert found.cell("part") == {"calls": 1, "errors": 1}


def test_methods_of_a_class_and_static_ones_are_measured_below_or_above_their_decorator(recorded: Sink) -> None:
    class Shop:
        @walltime.component("above")
        @classmethod
        def above(cls) -> type:
            return cls

        @classmethod
        @walltime.component("below")
        def below(cls) -> type:
            return cls

        @walltime.component("static")
        @staticmethod
        def static() -> Iterator[int]:
            yield 1

    with walltime.transaction("job"):
        assert Shop.above() is Shop().above() is Shop.below() is Shop
        assert list(Shop.static()) == list(Shop().static()) == [1]
    found = recorded.transaction()
    assert (found.cell("above"), found.cell("below")) == ({"calls": 2}, {"calls": 1})
    assert found.cell("static") == {"calls": 2}


@pytest.mark.parametrize("measure", [walltime.transaction, walltime.component])
@pytest.mark.parametrize(
    ("what", "said"),
    [
        (Called, "the class Called"),
        (property(lambda self: 1), "a property"),
        (functools.cached_property(lambda self: 1), "a cached_property"),
        (17, "a int"),
    ],
)
def test_what_cannot_be_measured_is_refused_where_it_is_decorated(measure: Any, what: Any, said: str) -> None:
    with pytest.raises(TypeError, match=rf"walltime.{measure.__name__}\('x'\) cannot measure {said}: put it on"):
        measure("x")(what)


@pytest.mark.parametrize("measure", [walltime.transaction, walltime.component])
def test_a_decorator_without_a_name_is_refused(measure: Any) -> None:
    with pytest.raises(TypeError, match=rf"walltime.{measure.__name__} has no name"):
        measure(generator)


@pytest.mark.parametrize("kind", ["component", "transaction"])
def test_one_object_in_two_threads_at_once_gives_each_its_own_time(recorded: Sink, kind: str) -> None:
    shared = getattr(walltime, kind)("shared")
    steps = {name: threading.Event() for name in ("a is in", "b is in", "a is out")}

    def first() -> None:
        with shared:
            walltime.current().annotate("who", "a")
            steps["a is in"].set()
            assert steps["b is in"].wait(10)
        steps["a is out"].set()

    def second() -> None:
        assert steps["a is in"].wait(10)
        with shared:
            walltime.current().annotate("who", "b")
            steps["b is in"].set()
            assert steps["a is out"].wait(10)
            time.sleep(0.02)

    def run(job: Callable[[], None]) -> None:
        if kind == "transaction":
            job()
        else:
            with walltime.transaction(job.__name__):
                job()

    threads = [threading.Thread(target=run, args=(job,)) for job in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = {each.attributes["who"]: each for each in recorded.transactions()}
    assert len(found) == 2
    if kind == "component":
        assert found["a"].cell("shared") == found["b"].cell("shared") == {"calls": 1}
    assert found["b"].duration_ns >= 20_000_000
    assert shared._uses == []


def test_one_object_within_itself_in_tasks_and_outside(recorded: Sink) -> None:
    shared = walltime.component("shared")

    async def part(depth: int) -> None:
        with shared:
            await asyncio.sleep(0)
            if depth:
                await part(depth - 1)

    async def main() -> None:
        with walltime.transaction("job"):
            await asyncio.gather(part(2), part(0), part(1))

    with shared:
        asyncio.run(main())
    (found,) = recorded.transactions()
    assert found.cell("shared") == {"calls": 6}
    assert shared._uses == []


@pytest.mark.parametrize(
    ("error", "is_error"),
    [
        (SystemExit(0), False), (SystemExit(None), False), (SystemExit(), False), (SystemExit(3), True),
        (SystemExit("no"), True), (GeneratorExit(), False), (asyncio.CancelledError(), False), (StopIteration(), False),
        (KeyboardInterrupt(), True), (ValueError("x"), True),
    ],
    ids=repr,
)  # fmt: skip
def test_ending_is_not_failing(recorded: Sink, error: BaseException, is_error: bool) -> None:
    def ends() -> None:
        raise error

    with suppress(type(error)), walltime.transaction("with"), walltime.component("part"):
        ends()
    with suppress(type(error)):
        walltime.transaction("decorated")(walltime.component("part")(ends))()
    for found in recorded.transactions():
        assert found.cell("part") == ({"calls": 1, "errors": 1} if is_error else {"calls": 1})
        assert found.attributes.get("error.type") == (type(error).__name__ if is_error else None)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="exception groups came with Python 3.11")
def test_groups_of_what_is_expected_are_expected(recorded: Sink) -> None:
    group: Any = getattr(builtins, "BaseExceptionGroup", None)
    for parts, is_error in (([asyncio.CancelledError()], False), ([asyncio.CancelledError(), ValueError()], True)):
        with suppress(group), walltime.transaction("job"), walltime.component("part"):
            raise group("of tasks", parts)
        assert (recorded.transactions()[-1].cell("part").get("errors", 0) == 1) is is_error


class Acquiring(Coroutine[Any, Any, int]):
    """Awaitable, and for `async with`: as aiohttp's requests and aiomysql's connections."""

    def __init__(self) -> None:
        self._made = coroutine()

    def send(self, value: Any) -> Any:
        return self._made.send(value)

    def throw(self, *error: Any) -> Any:
        return self._made.throw(*error)

    def close(self) -> None:
        self._made.close()

    def __await__(self) -> Generator[Any, None, int]:
        return self._made.__await__()

    async def __aenter__(self) -> int:
        return await self

    async def __aexit__(self, *_error: object) -> None: ...


@pytest.mark.parametrize("measure", [walltime.component("x"), walltime.transaction("x")])
def test_a_result_that_is_more_than_a_coroutine_stays_what_it_is(measure: Any) -> None:
    @measure  # type: ignore[untyped-decorator]
    def acquire() -> Acquiring:
        return Acquiring()

    async def use() -> tuple[int, int]:
        async with acquire() as entered:
            return entered, await acquire()

    assert asyncio.run(use()) == (3, 3)
