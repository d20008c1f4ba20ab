"""Django under WSGI, see django.py."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from django.core.handlers.wsgi import WSGIHandler

from walltime.instrumentation.patching import Patch
from walltime.servers.gateways.wsgi import serve
from walltime.servers.request.request import MARK

if TYPE_CHECKING:
    from collections.abc import Callable

REQUIRES: Final = "Django >= 4.2, < 7"


def patches() -> list[Patch]:
    return [Patch(WSGIHandler, "__call__", _served)]


def _served(original: Callable[..., Any]) -> Callable[..., Any]:
    def __call__(self: WSGIHandler, environ: Any, start_response: Any) -> Any:  # noqa: N807  # it replaces one
        if MARK in environ:
            return original(self, environ, start_response)
        return serve(partial(original, self), environ, start_response)

    return __call__
