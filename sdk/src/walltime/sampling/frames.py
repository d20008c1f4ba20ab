"""
Frames of other threads and of suspended coroutines, read while nothing else can run.

Python 3.11 allocates a frame object when it is asked for, and collects garbage in allocations. A destructor that
releases the GIL there lets the observed thread end the frame that is being read, and Python crashes or deadlocks
(python/cpython issue 106883). Before 3.11 the objects existed; from 3.12 on, garbage is collected between instructions.

So on 3.11 one call of a function of C makes sure that no collection is due, and then reads: no other thread, signal
handler or destructor runs in it. When one is due, the sampler allocates until Python has collected, and tries again.
"""

from __future__ import annotations

import gc
import operator
import sys
from _thread import _count as count_threads
from collections import deque
from contextlib import suppress
from itertools import accumulate, chain, compress, repeat
from types import AsyncGeneratorType, CoroutineType, GeneratorType
from typing import TYPE_CHECKING, Any, Final, TypeVar

from walltime.core.caller import MAX_FRAMES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import FrameType

    T = TypeVar("T")

COLLECTS_IN_FRAMES: Final = sys.version_info[:2] == (3, 11)
"""Whether Python may collect garbage while it makes a frame object."""
PART: Final = 16
"""Frames that are read at once. An application's threshold of the garbage collector may be low."""
OTHER_THREADS: Final = 64
"""
Threads with frames that `_thread` does not count, at most: the main one, and threads of C that run Python code. With a
low threshold of the garbage collector, no more than a quarter of it.
"""
FEW: Final = 4
"""Allocations beside those that are counted."""
OWN: Final = 64
"""More than the objects that a check allocates, about 30."""
MAX_TRIES: Final = 3
_NOTHING: Final = object()
_first: Final = operator.itemgetter(0)
_attribute: Final[Callable[[Any, Any], Any]] = getattr
_audit: Final[Callable[[Any], None]] = sys.audit
"""Without hooks it does not look at its argument and returns None; with some, it is a TypeError before any of them."""
_OF_PYTHON: Final = frozenset({AsyncGeneratorType, CoroutineType, GeneratorType})


class NotReadableError(Exception):
    """Frames cannot be read now: the garbage collector's threshold is below what is read at once."""


def can_be_read() -> bool:
    """Say whether frames can be read in this process. On 3.11 not with audit hooks, which run where frames are read."""
    try:
        if COLLECTS_IN_FRAMES:
            _audit(None)
    except TypeError:
        return False
    return True


def of_threads() -> dict[int, FrameType]:
    """Return the innermost frame of each thread, by thread identifier."""
    # iter(…, None) calls a function without arguments, from C and in every version
    others = min(OTHER_THREADS, gc.get_threshold()[0] // 4)
    return _read(next, iter(sys._current_frames, None), others, count_threads)


def outward(frame: FrameType | None) -> Iterator[FrameType]:
    """Yield this frame and those that called it, at most MAX_FRAMES and some."""
    for _ in range(0, MAX_FRAMES, PART):
        if frame is None:
            break
        part: deque[Any] = deque()
        with suppress(AttributeError):  # of None, behind the outermost
            _read(part.extend, accumulate(chain((frame,), repeat("f_back", PART)), _attribute), PART)
        frame = part.pop()  # the first of the next part, or None
        yield from part


def of(suspended: Iterable[tuple[Any, str]]) -> list[FrameType | None]:
    """
    Return the frames of coroutines and generators; None of one that has ended.

    Args:
        suspended: each with the name of the attribute that has its frame.
    """
    return [
        # others than those of Python make frames of their own
        _read(operator.attrgetter(name), each, 1) if type(each) in _OF_PYTHON else getattr(each, name)
        for each, name in suspended
    ]


def local(frame: FrameType, name: str) -> Any:
    """Return a local variable of a frame."""
    return _read(operator.attrgetter("f_locals"), frame, FEW)[name]


def _read(read: Callable[[Any], T], argument: Any, allocations: int, more: Callable[[], int] = int) -> T:
    """
    Call a function of C in which no garbage is collected.

    Args:
        allocations: at most so many objects are allocated in it, and as many as `more` returns.

    Raises:
        NotReadableError: Python collects more often than that.
        TypeError: there are audit hooks, in which other threads may run.
    """
    if not COLLECTS_IN_FRAMES:
        return read(argument)
    allocations += FEW
    for _ in range(MAX_TRIES):
        # All of it runs in `next`, from C: the first condition that holds lets `compress` go on to `read`.
        threshold, count = (map(_first, iter(each, None)) for each in (gc.get_threshold, gc.get_count))
        room = map(operator.sub, map(operator.sub, threshold, count), iter(more, None))
        conditions = chain(
            map(_audit, (None,)),
            map(operator.is_, (False,), iter(gc.isenabled, None)),
            map(operator.eq, (0,), map(_first, iter(gc.get_threshold, None))),
            map(operator.lt, (allocations,), room),
        )
        reading = map(read, compress(repeat(argument), conditions))
        found = next(reading, _NOTHING)
        if found is not _NOTHING:
            return found  # type: ignore[return-value]  # of `read`
        _let_collect(allocations + more() + OWN)
    raise NotReadableError


def _let_collect(room: int) -> None:
    """Allocate so much that Python collects garbage here when that is about to be due."""
    _ = [set() for _ in range(room)]
