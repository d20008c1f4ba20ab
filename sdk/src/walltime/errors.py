"""
The error tree. Our own failures are contained (`contain`); the host's exceptions pass unchanged.

WalltimeError
├── SettingsError    a setting has a value that cannot be used
└── PatchError       a library has an unknown structure; it is left unchanged
"""

from __future__ import annotations

import functools
import logging
import os
import time
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

P = ParamSpec("P")
T = TypeVar("T")

logger = logging.getLogger("walltime")

LOG_INTERVAL_S: Final = 60.0


class WalltimeError(Exception):
    """Base of all exceptions that Walltime raises on purpose."""


class SettingsError(WalltimeError):
    """A setting has an invalid value; the message names the setting and the valid values."""


class PatchError(WalltimeError):
    """A library has an unknown structure; nothing in it was changed."""


contained: dict[str, int] = {}
"""How often our own code failed, by place. Shown by `walltime.counters()`."""
_logged_at_s: dict[str, float] = {}


def contain(where: str, error: BaseException) -> None:
    """
    Count a failure of our own and log it, at most once a minute for each place. Never raises.

    WALLTIME_TESTING_RAISE=1 raises it again, for our tests.
    """
    contained[where] = contained.get(where, 0) + 1
    if os.environ.get("WALLTIME_TESTING_RAISE") == "1":
        raise error
    try:
        message = "walltime: %s failed (%s); the application was not touched"
        warn(where, message, where, _described(error))
    except Exception:  # noqa: S110  # the application's logging fails; the failure is counted
        pass


def guarded(where: str, otherwise: Callable[[], Any] = lambda: None) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """
    Contain our failures in a function that the application calls. A `WalltimeError` is its own mistake and passes.

    Args:
        otherwise: makes the return value after a failure.
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            try:
                return function(*args, **kwargs)
            except WalltimeError:
                raise
            except Exception as ours:  # docs/decisions/011
                contain(where, ours)
                return otherwise()  # type: ignore[no-any-return]  # of the function's own type

        return call

    return decorate


def _described(error: BaseException) -> str:
    """Return the class and the place, without the message: it may contain the application's data."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    place = "" if frame is None else f" at {frame.tb_frame.f_code.co_filename}:{frame.tb_lineno}"
    return type(error).__name__ + place


def warn(key: str, message: str, *arguments: object) -> bool:
    """Log a warning, at most once a minute for each key; True when it was logged now."""
    now_s = time.monotonic()
    if now_s - _logged_at_s.get(key, float("-inf")) < LOG_INTERVAL_S:
        return False
    _logged_at_s[key] = now_s
    logger.warning(message, *arguments)
    return True
