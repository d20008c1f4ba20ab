"""
Where transactions come from: each server opens one, names it by its route, and closes it.

The modules of the table have the shape of the clients': `REQUIRES`, the versions they are tested with, and `patches()`.
"""

from __future__ import annotations

from typing import Final

SERVERS: Final[dict[str, str]] = {}
"""Server or framework, by the name of our module → the module after whose import it can be wrapped."""
