"""The libraries that are instrumented, clients, servers and what hands work over: each when it is imported, once."""

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
    "handoff": {
        "anyio": "anyio.to_thread",
        "asgiref": "asgiref.sync",
        "futures": "concurrent.futures.thread",
        "gc": "sys",
        "gevent": "gevent.greenlet",
        "gevent_threads": "gevent.threadpool",
        "threading": "threading",
    },
}
"""Folder → the name of our module in it → the module of the library after whose import it can be wrapped. requests and
botocore are measured through urllib3."""

LIBRARIES: Final = {
    name: (f"walltime.{folder}.{name}", module)
    for folder, modules in _FOLDERS.items()
    for name, module in modules.items()
}
"""Library → (our module that wraps it, the module after whose import that is done)."""

_chosen: dict[str, list[Applied | Hook]] = {}
"""Library that is instrumented → its patches; none while the application has not imported it."""


@guarded("instrument", list)
def instrument(*libraries: str) -> list[str]:
    """
    Instrument the given libraries, or all that are known: those the application has imported now, the others when it
    imports them. Return those that are installed. A library's name stands for its parts too: `django` for
    `django_asgi` and `django_wsgi`.

    Calling it again changes nothing. A library that does not look as we know it stays as it is, with a warning.

    Raises:
        SettingsError: a name that is not in `LIBRARIES`.
    """
    if unknown := [name for name in libraries if name not in LIBRARIES]:
        raise SettingsError(f"cannot instrument {unknown[0]!r}; there are {', '.join(sorted(LIBRARIES))}")
    for name in _with_parts(libraries):
        mine: list[Applied | Hook] = []
        if _chosen.setdefault(name, mine) is mine:  # no lock: an import that ends meanwhile has locks of its own
            patching.when_imported(LIBRARIES[name][1], name, partial(_wrap, name))
    return sorted(name for name in _chosen if _is_installed(LIBRARIES[name][1]))


@guarded("uninstrument", lambda: None)
def uninstrument(*libraries: str) -> None:
    """Put the original methods of the given libraries back, or of all."""
    for name in _with_parts(libraries):
        if name in _chosen:
            patching.forget(LIBRARIES[name][1], name)
            patching.undo(_chosen.pop(name))


def _with_parts(libraries: tuple[str, ...]) -> list[str]:
    return [name for name in LIBRARIES if not libraries or name in libraries or name.partition("_")[0] in libraries]


def is_wrapped(library: str) -> bool:
    """Say whether the library is instrumented and the application has imported it."""
    return bool(_chosen.get(library))


def _wrap(name: str) -> None:
    requires = ""
    try:
        wrapper = importlib.import_module(LIBRARIES[name][0])
        requires = wrapper.REQUIRES
        applied = patching.apply(wrapper.patches())
    except (PatchError, ImportError) as error:
        warn(name, "walltime: %s is not instrumented: %s (tested with %s)", name, error, requires or "other versions")
    except Exception as error:  # a library we cannot wrap is no reason for the host to stop
        contain(f"instrument {name}", error)
    else:
        _chosen[name].extend(applied)


def _is_installed(module: str) -> bool:
    if module in sys.modules:
        return True
    try:
        return importlib.util.find_spec(module.partition(".")[0]) is not None
    except (ImportError, ValueError):  # a module that says it has no spec
        return False
