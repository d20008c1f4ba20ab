"""Which hosts get the headers that say where in the trace a request is: setting `propagate_to`."""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from walltime.core.transaction import Transaction

EVERYWHERE: Final = "*"


def is_limited(transaction: Transaction) -> bool:
    """Say whether a host has to be looked up at all."""
    return EVERYWHERE not in transaction.settings.propagate_to


def is_recipient(transaction: Transaction, host: str | None) -> bool:
    """Say whether requests to this host carry our headers; its name or address, without a port."""
    return _matches(transaction.settings.propagate_to, (host or "").strip("[]").rstrip(".").lower())


@lru_cache(maxsize=1024)
def _matches(patterns: tuple[str, ...], host: str) -> bool:
    """Patterns as of files: `*.shop.internal`, `10.*`; `none` is none."""
    return any(fnmatchcase(host, pattern.lower()) for pattern in patterns if pattern != "none")


def host_of(connection: Any) -> str | None:
    """Return the host of the request that waits in an `http.client.HTTPConnection`: behind a proxy, not the proxy."""
    for line in connection._buffer[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"host":
            host: str = value.strip().decode("latin-1")
            return host.partition("]")[0] if host.startswith("[") else host.partition(":")[0]
    host = getattr(connection, "_tunnel_host", None) or connection.host
    return None if host is None else str(host)
