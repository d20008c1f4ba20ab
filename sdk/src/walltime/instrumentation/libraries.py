"""The libraries that can be instrumented and the parts each needs: a part is wrapped when its module is imported."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from functools import partial
from typing import TYPE_CHECKING, Final

from walltime.errors import PatchError, SettingsError, contain, guarded, warn
from walltime.instrumentation import patching

if TYPE_CHECKING:
    from walltime.instrumentation.patching import Applied, Hook

_FOLDERS: Final[dict[str, dict[str, str]]] = {
    "clients.mysql": {
        "aiomysql": "aiomysql",
        "asyncmy": "asyncmy",
        "mysql_connector": "mysql.connector",
        "mysqlclient": "MySQLdb",
        "pymysql": "pymysql",
        "sqlalchemy": "sqlalchemy",
    },
    "clients.cache": {"pymemcache": "pymemcache", "redis": "redis"},
    "clients.http": {
        "aiohttp": "aiohttp.client",
        "http_client": "http.client",
        "http_client_body": "http.client",
        "httpcore": "httpcore",
        "httpx": "httpx",
        "urllib3": "urllib3",
    },
    "clients.otel": {"opentelemetry": "opentelemetry.trace", "opentelemetry_sdk": "opentelemetry.sdk.trace"},
    "servers.frameworks": {
        "aiohttp_web": "aiohttp.web",
        "django": "django.core.handlers.base",
        "django_asgi": "django.core.handlers.asgi",
        "django_wsgi": "django.core.handlers.wsgi",
        "fastapi": "fastapi",
        "flask": "flask",
        "starlette": "starlette.applications",
        "wagtail": "wagtail.hooks",
    },
    "servers.gateways": {
        "gevent_pywsgi": "gevent.pywsgi",
        "gunicorn": "gunicorn.app.base",
        "uvicorn": "uvicorn.server",
        "wsgiref": "wsgiref.simple_server",
    },
    "servers.jobs": {"celery": "celery.app", "rq": "rq"},
    "components": {
        "django_auth": "django.contrib.auth",
        "django_orm": "django.db.models.sql.compiler",
        "django_sessions": "django.contrib.sessions.middleware",
        "django_templates": "django.template.base",
        "jinja2": "jinja2",
        "pydantic": "pydantic.main",
        "rest_framework": "rest_framework.views",
        "rest_serializers": "rest_framework.serializers",
        "sqlalchemy_orm": "sqlalchemy.orm.loading",
    },
    "handoff": {
        "anyio": "anyio.to_thread",
        "asgiref": "asgiref.sync",
        "futures": "concurrent.futures.thread",
        "gc": "sys",
        "gevent": "gevent.greenlet",
        "gevent_threads": "gevent.threadpool",
        "multiprocessing_pool": "multiprocessing.pool",
        "threading": "threading",
    },
}
"""Folder → the name of our module in it → the module of the library after whose import it can be wrapped. requests and
botocore are measured through urllib3."""

PARTS: Final = {
    name: (f"walltime.{folder}.{name}", module)
    for folder, modules in _FOLDERS.items()
    for name, module in modules.items()
}
"""Part → (our module that wraps it, the module after whose import that is done)."""

_EVERYWHERE: Final = tuple(_FOLDERS["handoff"])
"""Parts that every library needs: what it does in threads, tasks and greenlets is the transaction's they work for."""
_WITH: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(("aiomysql", "asyncmy", "mysql_connector", "mysqlclient", "pymysql"), ("sqlalchemy",)),
    "aiohttp": ("aiohttp_web",),
    "django": ("django_asgi", "django_auth", "django_orm", "django_sessions", "django_templates", "django_wsgi"),
    **dict.fromkeys(("flask", "starlette"), ("jinja2",)),
    "gevent": ("gevent_pywsgi",),
    **dict.fromkeys(("http_client", "urllib3"), ("http_client_body",)),
    "httpx": ("httpcore",),
    "opentelemetry": ("opentelemetry_sdk",),
    "rest_framework": ("rest_serializers",),
    "sqlalchemy": ("sqlalchemy_orm",),
}
"""Library → parts it needs beside its own."""
_NO_LIBRARIES: Final = {part for parts in _WITH.values() for part in parts} - {"httpcore", "jinja2", "sqlalchemy"} | (
    set(_EVERYWHERE) - {"gevent"}
)

LIBRARIES: Final = {
    name: (name, *_WITH.get(name, ()), *_EVERYWHERE) for name in sorted(PARTS) if name not in _NO_LIBRARIES
}
"""Library, by the name that `instrument` takes → its parts."""

_chosen: dict[str, list[Applied | Hook]] = {}
"""Part that is instrumented → its patches; none while the application has not imported the library."""
_libraries: set[str] = set()
"""Libraries that are instrumented."""
_refused: dict[str, str] = {}
"""Part that could not be wrapped → why."""


@guarded("instrument", list)
def instrument(*libraries: str) -> list[str]:
    """
    Instrument the given libraries, or all that are known, each with all the parts it needs: those the application has
    imported now, the others when it imports them. Return those that are instrumented now and installed.

    Calling it again changes nothing. A library that does not look as we know it stays as it is, with a warning.

    Raises:
        SettingsError: a name that is not in `LIBRARIES`.
    """
    if unknown := [name for name in libraries if name not in LIBRARIES]:
        raise SettingsError(f"cannot instrument {unknown[0]!r}; the libraries are {', '.join(LIBRARIES)}")
    for library in libraries or LIBRARIES:
        _libraries.add(library)
        for part in LIBRARIES[library]:
            mine: list[Applied | Hook] = []
            if _chosen.setdefault(part, mine) is mine:  # no lock: an import that ends meanwhile has locks of its own
                patching.when_imported(PARTS[part][1], part, partial(_wrap, part))
    return sorted(library for library in _libraries if is_installed(PARTS[library][1]))


@guarded("uninstrument")
def uninstrument(*libraries: str) -> None:
    """Put the original methods of the given libraries back, or of all; parts that others need stay."""
    _libraries.difference_update(libraries or LIBRARIES)
    needed = {part for library in _libraries for part in LIBRARIES[library]}
    for part in [part for part in _chosen if part not in needed]:
        remove(part)


def remove(part: str) -> None:
    _refused.pop(part, None)
    patching.forget(PARTS[part][1], part)
    patching.undo(_chosen.pop(part))


def is_wrapped(part: str) -> bool:
    """Return whether the part is instrumented and the application has imported its library."""
    return bool(_chosen.get(part))


def state_of(library: str) -> tuple[bool, bool, str]:
    """Return whether the library is to be instrumented, whether it is, and why a part of it could not be wrapped."""
    refused = "; ".join(_refused[part] for part in LIBRARIES[library] if part in _refused and part not in _EVERYWHERE)
    return library in _libraries, is_wrapped(library), refused


def _wrap(part: str) -> None:
    requires = ""
    try:
        wrapper = importlib.import_module(PARTS[part][0])
        requires = wrapper.REQUIRES
        applied = patching.apply(wrapper.patches())
    except (PatchError, ImportError) as error:
        _refused[part] = f"{error} (tested with {requires or 'other versions'})"
        warn(part, "walltime: %s is not instrumented: %s (tested with %s)", part, error, requires or "other versions")
    except Exception as error:  # a library we cannot wrap is no reason for the host to stop
        _refused[part] = f"{type(error).__name__}: {error}"
        contain(f"instrument {part}", error)
    else:
        chosen = _chosen.get(part)
        if chosen is None:  # `uninstrument` in another thread
            patching.undo(applied)
        else:
            chosen.extend(applied)


def is_installed(module: str) -> bool:
    """Return whether it is imported, or can be."""
    if module in sys.modules:
        return True
    try:
        return importlib.util.find_spec(module.partition(".")[0]) is not None
    except (ImportError, ValueError):  # a module without a spec
        return False
