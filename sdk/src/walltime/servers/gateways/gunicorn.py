"""gunicorn with any of its workers: instruments the application that it runs, without code changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from gunicorn.app.base import BaseApplication

from walltime.instrumentation.patching import Patch
from walltime.servers.gateways.hosted import hosted

if TYPE_CHECKING:
    from collections.abc import Callable

REQUIRES: Final = "gunicorn >= 20, < 28"


def patches() -> list[Patch]:
    return [Patch(BaseApplication, "wsgi", _loaded)]


def _loaded(original: Callable[..., Any]) -> Callable[..., Any]:
    def wsgi(self: BaseApplication) -> Any:
        app = original(self)
        if app is self.callable:  # it keeps what it has loaded
            self.callable = app = hosted(app)
        return app

    return wsgi
