"""
The error tree. In the host's process our own failures are contained (`contain`), the host's exceptions never are.

WalltimeError
├── SettingsError    a setting has a value that cannot be used
└── PatchError       a library does not look as we know it; it stays as it is
"""

from __future__ import annotations

import logging
import os
import time
from typing import Final

logger = logging.getLogger("walltime")

LOG_INTERVAL_S: Final = 60.0


class WalltimeError(Exception):
    """Base of everything we raise on purpose."""


class SettingsError(WalltimeError):
    """A setting has a value that cannot be used; the message names it and says what it takes."""


class PatchError(WalltimeError):
    """A library does not look as we know it; nothing of it was changed."""


contained: dict[str, int] = {}
"""How often our own code failed, by place. Shown by `walltime.counters()`."""
_logged_at_s: dict[str, float] = {}


def contain(where: str, error: BaseException) -> None:
    """
    Count one of our own failures and log it, at most once a minute for each place.

    With WALLTIME_TESTING_RAISE=1 it is raised again, so that our tests see it.
    """
    contained[where] = contained.get(where, 0) + 1
    if os.environ.get("WALLTIME_TESTING_RAISE") == "1":
        raise error
    warn(
        where,
        "walltime: %s failed (%s: %s); the application was not touched",
        where,
        type(error).__name__,
        error,
    )


def warn(key: str, message: str, *arguments: object) -> None:
    """Log a warning, at most once a minute for each key."""
    now_s = time.monotonic()
    if now_s - _logged_at_s.get(key, float("-inf")) >= LOG_INTERVAL_S:
        _logged_at_s[key] = now_s
        logger.warning(message, *arguments)
