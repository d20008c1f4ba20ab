"""Django under WSGI, see django.py."""

from __future__ import annotations

from typing import Final

from django.core.handlers.wsgi import WSGIHandler

from walltime.instrumentation.outermost import Outermost
from walltime.instrumentation.patching import Patch
from walltime.servers.gateways.wsgi import served

REQUIRES: Final = "Django >= 4.2, < 7"


def patches() -> list[Patch]:
    return [Patch(WSGIHandler, "__call__", lambda original: served(Outermost("middleware").call(original)))]
