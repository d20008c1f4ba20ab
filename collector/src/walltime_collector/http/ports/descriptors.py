"""Divides the process's file descriptors at start: connections can never take what spool, engine and logs need."""

from __future__ import annotations

import contextlib
import logging
import resource
from typing import NamedTuple

from ...config.settings import Settings

log = logging.getLogger(__name__)

RESERVE = 160
"""For the process itself: about 30 at rest, one for each question the engine answers at once, files of the spool."""
_PER_SLOW_LOG = 4
_LEAST = 8
"""Connections of each kind are allowed even when the limit is too small for them."""


class Budget(NamedTuple):
    """How many connections may be open: from senders of OTLP, and from readers (web and ClickHouse ports together)."""

    otlp: int
    read: int


def raise_limit() -> int:
    """Raise this process's limit of open files as far as it may; return the limit in force."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(OSError, ValueError):  # some systems call the hard limit infinite and refuse it
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            soft = hard
    return soft if soft != resource.RLIM_INFINITY else 1 << 30


def divide(limit: int, settings: Settings) -> Budget:
    """
    Split a limit of open files: the process's own needs first, then senders of OTLP, then readers.

    Where the settings ask for more connections than fit, a quarter of what is left goes to readers, the rest to
    senders, and the log says so.
    """
    reserve = RESERVE + _PER_SLOW_LOG * len(settings.slow_log)
    wanted = Budget(settings.max_connections, settings.max_read_connections)
    left = limit - reserve
    if left >= sum(wanted):
        return wanted
    read = min(wanted.read, max(left // 4, _LEAST))
    budget = Budget(min(wanted.otlp, max(left - read, _LEAST)), read)
    log.warning(
        "this process may open %d files; %d are reserved for itself, so at most %d OTLP connections (max_connections "
        "%d) and %d reading connections (max_read_connections %d) are accepted; raise the limit to %d (systemd: "
        "LimitNOFILE=, shell: ulimit -n, containers: nofile), or lower these settings",
        limit,
        reserve,
        budget.otlp,
        wanted.otlp,
        budget.read,
        wanted.read,
        reserve + sum(wanted),
    )
    return budget
