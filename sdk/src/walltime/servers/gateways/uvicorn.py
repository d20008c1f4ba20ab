"""
uvicorn: instruments the application that it runs, ASGI or WSGI, without code changes.

It ends by the signal that stopped it, past exit handlers, so what waits is sent when it shuts down.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from uvicorn.config import Config
from uvicorn.server import Server

from walltime import runtime
from walltime.errors import contain
from walltime.instrumentation.patching import Patch
from walltime.servers.gateways.hosted import hosted

if TYPE_CHECKING:
    from collections.abc import Callable

REQUIRES: Final = "uvicorn >= 0.23, < 1"


def patches() -> list[Patch]:
    return [Patch(Config, "load", _loaded), Patch(Server, "shutdown", _flushed)]


def _loaded(original: Callable[..., None]) -> Callable[..., None]:
    def load(self: Config) -> None:
        original(self)
        self.loaded_app = hosted(self.loaded_app)  # it speaks ASGI by now, whatever it was

    return load


def _flushed(original: Callable[..., Any]) -> Callable[..., Any]:
    async def shutdown(self: Server, *args: Any, **kwargs: Any) -> None:
        await original(self, *args, **kwargs)
        try:
            # On the loop's thread, which has nothing left to do. What took too long is not waited for again at exit.
            if not runtime.flush(runtime.settings().exit_timeout_s):
                runtime.exporter().shutdown(0)
        except Exception as ours:
            contain("uvicorn", ours)

    return shutdown
