"""Django under ASGI, see django.py."""

from __future__ import annotations

from typing import Final

from django.core.handlers.asgi import ASGIHandler

from walltime.instrumentation.outermost import Outermost
from walltime.instrumentation.patching import Patch
from walltime.servers.gateways.asgi import served

REQUIRES: Final = "Django >= 4.2, < 7"


def patches() -> list[Patch]:
    return [Patch(ASGIHandler, "__call__", lambda original: served(Outermost("middleware").awaited(original)))]
