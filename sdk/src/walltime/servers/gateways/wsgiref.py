"""The WSGI server of the standard library: instruments the application that it runs, without code changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from wsgiref.simple_server import WSGIServer

from walltime.instrumentation.patching import Patch
from walltime.servers.gateways.hosted import hosted

if TYPE_CHECKING:
    from collections.abc import Callable

REQUIRES: Final = "Python 3.10–3.14"


def patches() -> list[Patch]:
    return [Patch(WSGIServer, "set_app", _given)]


def _given(original: Callable[..., None]) -> Callable[..., None]:
    def set_app(self: WSGIServer, application: Any) -> None:
        original(self, hosted(application))

    return set_app
