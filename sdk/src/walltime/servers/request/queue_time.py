"""Queue time: from the front end's time stamp on the request until the application received it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

STAMPS: Final = ("HTTP_X_REQUEST_START", "HTTP_X_QUEUE_START", "mod_wsgi.request_start", "mod_wsgi.queue_start")
"""Headers with the time at which a front end received the request; the first valid one counts."""
_NUMBER: Final = re.compile(r"\d{9,20}(?:\.\d{1,9})?", re.ASCII)
_LONGEST_NS: Final = 3600 * 10**9


def queue_ns(environ: Mapping[str, Any], now_ns: int) -> int | None:
    """
    Return the queue time in nanoseconds, or None without a usable stamp.

    Stamps are Unix times, with or without `t=`, in seconds, ms, µs or ns; the size decides the unit. A stamp up to a
    second in the future counts as 0, because clocks differ. Later stamps and stamps older than an hour are ignored.
    """
    for header in STAMPS:
        stamp = environ.get(header)
        if stamp:
            first, _, _ = str(stamp)[:64].partition(",")  # of several front ends
            match = _NUMBER.fullmatch(first.strip().removeprefix("t="))
            if match is None:
                continue
            value = float(match.group())
            while value < 1e17:  # 1e17 ns is the year 1973, so a smaller number is in a larger unit
                value *= 1000
            queued_ns = now_ns - round(value)
            if -(10**9) <= queued_ns <= _LONGEST_NS:
                return max(0, queued_ns)
    return None
