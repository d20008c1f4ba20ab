"""Frameworks, servers and workers in which Walltime opens no transactions, and what opens them, by kind."""

from __future__ import annotations

from typing import Final, NamedTuple


class Unsupported(NamedTuple):
    """`kind` is one of REMEDIES."""

    name: str
    kind: str
    is_server: bool = False
    """It runs the applications of others, which open their transactions themselves if they are supported."""


REMEDIES: Final = {
    "wsgi": "app = walltime.WSGIMiddleware(app)",
    "asgi": "app = walltime.ASGIMiddleware(app)",
    "handler": 'with walltime.transaction("GET /product/{id}", kind="server"): in the handlers of requests',
    "worker": '@walltime.transaction("name", kind="consumer") directly above the function of each job',
}
"""Kind → the line that opens a transaction there. The collector has such lines too (health/findings.py)."""

UNSUPPORTED: Final = {
    "blacksheep": Unsupported("BlackSheep", "asgi"),
    "bottle": Unsupported("Bottle", "wsgi"),
    "cherrypy": Unsupported("CherryPy", "handler"),
    "falcon.asgi": Unsupported("Falcon", "asgi"),
    "falcon": Unsupported("Falcon", "wsgi"),
    "litestar": Unsupported("Litestar", "asgi"),
    "pyramid": Unsupported("Pyramid", "wsgi"),
    "quart": Unsupported("Quart", "asgi"),
    "robyn": Unsupported("Robyn", "handler"),
    "sanic": Unsupported("Sanic", "handler"),
    "tornado.web": Unsupported("Tornado", "handler"),
    "twisted.web": Unsupported("Twisted", "handler"),
    "apscheduler": Unsupported("APScheduler", "worker"),
    "arq": Unsupported("arq", "worker"),
    "dramatiq": Unsupported("Dramatiq", "worker"),
    "huey": Unsupported("Huey", "worker"),
    "procrastinate": Unsupported("Procrastinate", "worker"),
    "taskiq": Unsupported("taskiq", "worker"),
    "bjoern": Unsupported("bjoern", "wsgi", is_server=True),
    "cheroot": Unsupported("Cheroot", "wsgi", is_server=True),
    "daphne": Unsupported("Daphne", "asgi", is_server=True),
    "granian": Unsupported("Granian", "asgi", is_server=True),
    "http.server": Unsupported("http.server", "handler", is_server=True),
    "hypercorn": Unsupported("Hypercorn", "asgi", is_server=True),
    "mod_wsgi": Unsupported("mod_wsgi", "wsgi", is_server=True),
    "uwsgi": Unsupported("uWSGI", "wsgi", is_server=True),
    "waitress": Unsupported("waitress", "wsgi", is_server=True),
    "werkzeug.serving": Unsupported("Werkzeug", "wsgi", is_server=True),
}
"""Module → what it is; frameworks and workers before servers."""

HOSTS: Final = {
    "wsgi": ("gunicorn.app.base", "gevent.pywsgi", "wsgiref.simple_server"),
    "asgi": ("gunicorn.app.base", "uvicorn.server"),
}
"""Kind → the modules of the servers that open a transaction for each request of any such application."""
