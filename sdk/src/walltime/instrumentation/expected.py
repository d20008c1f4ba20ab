"""
Which exceptions are errors of a component or a transaction: those that its caller did not expect.

Exceptions also end loops, cancel tasks, redirect and answer 404. Each framework's module declares its own (`expect`);
those with a status of 500 or more are errors all the same. A failed call to a server is not asked about here.
"""

from __future__ import annotations

from typing import Any, Final

_expected: set[type[BaseException]] = {StopIteration, StopAsyncIteration, GeneratorExit}
_BROKEN_OFF: Final = frozenset({"CancelledError", "Cancelled", "GeneratorExit", "GreenletExit"})
"""By name: asyncio, Trio and gevent are not imported for this."""
_STATUS: Final = ("status_code", "status", "code")


def expect(*exceptions: type[BaseException]) -> None:
    """Declare exceptions, with all their subclasses, as a framework's way to answer or to go on."""
    _expected.update(exceptions)


def is_broken_off(error: BaseException) -> bool:
    """Return whether a task or generator was ended from outside: the client left, the server stops."""
    return type(error).__name__ in _BROKEN_OFF and not isinstance(error, Exception)


def failure_of(error: BaseException | None) -> str | None:
    """Return the class's name of an error; None without one, and for an exception that is none."""
    return None if error is None or _is_expected(error) else type(error).__name__


def _is_expected(error: BaseException) -> bool:
    if is_broken_off(error) or (isinstance(error, SystemExit) and not error.code):
        return True
    if isinstance(error, tuple(_expected)):
        return not 500 <= _status(error) < 600  # a websocket has other codes
    inner = getattr(error, "exceptions", None)  # a group is what all its parts are
    return type(inner) is tuple and bool(inner) and all(map(_is_expected, inner))


def _status(error: Any) -> int:
    """Return the HTTP status of the exception, or of the response it carries; 0 without one."""
    for of in (error, getattr(error, "response", None)):
        for name in _STATUS:
            status = getattr(of, name, None)
            if isinstance(status, int):
                return status
    return 0
