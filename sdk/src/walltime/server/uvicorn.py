"""
uvicorn: whatever application it runs, ASGI or WSGI, without a change of it.

It ends by the signal that stopped it, past exit handlers, so what waits is sent when it shuts down.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from uvicorn.config import Config
from uvicorn.server import Server

from walltime import runtime
from walltime.patching import Patch
from walltime.server.hosted import hosted

if TYPE_CHECKING:
    from collections.abc import Callable

REQUIRES: Final = "uvicorn >= 0.23, < 1"

FLUSH_S: Final = 0.5
"""Longest delay of a shutdown; after Ctrl-C `exit_timeout_s` may follow it."""


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
        runtime.flush(FLUSH_S)  # waits on the loop's thread, which has nothing left to do

    return shutdown
