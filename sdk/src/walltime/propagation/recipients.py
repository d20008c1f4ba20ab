"""Which hosts get the headers that say where in the trace a request is: setting `propagate_to`."""

from __future__ import annotations

import re
from fnmatch import translate
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from walltime.settings.settings import Settings

EVERYWHERE: Final = "*"

limited = False
"""Whether a host has to be looked up at all; set by `configure`."""
_pattern: re.Pattern[str] = re.compile("")


def configure(settings: Settings) -> None:
    """Take over what the settings say; patterns as of files: `*.shop.internal`, `10.*`."""
    global limited, _pattern  # noqa: PLW0603
    patterns = [each.lower() for each in settings.propagate_to if each != "none"]
    _pattern = re.compile("|".join(map(translate, patterns)) or "(?!)")
    is_told.cache_clear()
    limited = EVERYWHERE not in patterns


@lru_cache(maxsize=1024)
def is_told(host: str | None) -> bool:
    """Say whether requests to this host carry our headers; its name or address, without a port."""
    return _pattern.match((host or "").strip("[]").rstrip(".").lower()) is not None


def host_of(connection: Any) -> str | None:
    """Return the host of the request that waits in an `http.client.HTTPConnection`: behind a proxy, not the proxy."""
    for line in connection._buffer[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"host":
            host: str = value.strip().decode("latin-1")
            return host.partition("]")[0] if host.startswith("[") else host.partition(":")[0]
    host = getattr(connection, "_tunnel_host", None) or connection.host
    return None if host is None else str(host)
