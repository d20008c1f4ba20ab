"""Django's sessions, of any backend: loading one at its first use, and saving it with the response."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from django.conf import settings
from django.contrib.sessions.backends.base import SessionBase
from django.contrib.sessions.middleware import SessionMiddleware

from walltime.instrumentation.outermost import Outermost
from walltime.instrumentation.patching import Patch

if TYPE_CHECKING:
    from typing import Any

REQUIRES: Final = "Django >= 4.2, < 7"


def patches() -> list[Patch]:
    load, save = Outermost("session", _is_to_load), Outermost("session", _is_to_save)
    found = [
        Patch(SessionBase, "_session", load.call),
        Patch(SessionMiddleware, "process_response", save.call),
    ]
    if hasattr(SessionBase, "_aget_session"):  # Django 5.1
        found.append(Patch(SessionBase, "_aget_session", load.awaited))
    return found


def _is_to_load(session: Any, no_load: bool = False) -> bool:
    return not (no_load or hasattr(session, "_session_cache") or session.session_key is None)


def _is_to_save(_middleware: object, request: Any, _response: object) -> bool:
    session = getattr(request, "session", None)
    return session is not None and (session.modified or settings.SESSION_SAVE_EVERY_REQUEST)
