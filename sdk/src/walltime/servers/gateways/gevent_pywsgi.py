"""gevent's WSGI server: instruments the application that it runs, without code changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from gevent.pywsgi import WSGIServer

from walltime.instrumentation.patching import Patch
from walltime.servers.gateways.hosted import hosted

if TYPE_CHECKING:
    from collections.abc import Callable

REQUIRES: Final = "gevent >= 20.9, < 27"


def patches() -> list[Patch]:
    return [Patch(WSGIServer, "__init__", _made)]


def _made(original: Callable[..., None]) -> Callable[..., None]:
    def __init__(self: WSGIServer, *args: Any, **kwargs: Any) -> None:  # noqa: N807  # the host's name
        original(self, *args, **kwargs)
        self.application = hosted(self.application)

    return __init__
