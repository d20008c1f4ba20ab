"""
Where transactions come from: each server opens one, names it by its route, and closes it.

`WSGIMiddleware` and `ASGIMiddleware` serve any application. For the frameworks of the table neither is needed: their
modules here have the shape of the clients', `REQUIRES`, the versions they are tested with, and `patches()`. A request
that meets several of them has one transaction, opened by the outermost, named by the innermost.
"""

from __future__ import annotations

from typing import Final

SERVERS: Final[dict[str, str]] = {
    "aiohttp_web": "aiohttp.web",
    "celery": "celery.app",
    "django": "django.core.handlers.base",
    "django_asgi": "django.core.handlers.asgi",
    "django_wsgi": "django.core.handlers.wsgi",
    "fastapi": "fastapi",
    "flask": "flask",
    "gevent_pywsgi": "gevent.pywsgi",
    "gunicorn": "gunicorn.app.base",
    "rq": "rq",
    "starlette": "starlette.applications",
    "uvicorn": "uvicorn.server",
    "wagtail": "wagtail.hooks",
    "wsgiref": "wsgiref.simple_server",
}
"""Framework or server, by the name of our module → the module after whose import it can be wrapped."""
