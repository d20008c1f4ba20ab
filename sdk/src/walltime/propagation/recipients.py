"""The hosts that receive trace headers: setting `propagate_to`."""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from walltime.core.transaction import Transaction

EVERYWHERE: Final = "*"


def is_limited(transaction: Transaction) -> bool:
    """Say whether the setting names hosts, so that a host has to be checked."""
    return EVERYWHERE not in transaction.settings.propagate_to


def is_recipient(transaction: Transaction, host: str | None) -> bool:
    """Say whether requests to this host (name or address, without a port) carry trace headers."""
    return _matches(transaction.settings.propagate_to, (host or "").strip("[]").rstrip(".").lower())


@lru_cache(maxsize=1024)
def _matches(patterns: tuple[str, ...], host: str) -> bool:
    """Match file name patterns: `*.shop.internal`, `10.*`. The word `none` matches no host."""
    return any(fnmatchcase(host, pattern.lower()) for pattern in patterns if pattern != "none")


def host_of(connection: Any) -> str | None:
    """Return the host of the unsent request in an `http.client.HTTPConnection`; with a proxy, the host behind it."""
    for line in connection._buffer[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"host":
            host: str = value.strip().decode("latin-1")
            return host.partition("]")[0] if host.startswith("[") else host.partition(":")[0]
    host = getattr(connection, "_tunnel_host", None) or connection.host
    return None if host is None else str(host)
