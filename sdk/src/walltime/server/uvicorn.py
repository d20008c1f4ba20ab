"""uvicorn: whatever application it runs, ASGI or WSGI, without a change of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from uvicorn.config import Config

from walltime.patching import Patch
from walltime.server.hosted import hosted

if TYPE_CHECKING:
    from collections.abc import Callable

REQUIRES: Final = "uvicorn >= 0.20, < 1"


def patches() -> list[Patch]:
    return [Patch(Config, "load", _loaded)]


def _loaded(original: Callable[..., None]) -> Callable[..., None]:
    def load(self: Config) -> None:
        original(self)
        self.loaded_app = hosted(self.loaded_app)  # it speaks ASGI by now, whatever it was

    return load
