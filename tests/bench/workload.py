"""The measured WSGI application: a believable request, and for each client one that makes nothing but its calls."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterable
from itertools import cycle
from typing import Any, Final

import requests

from tests.bench import transports

Environ = dict[str, Any]
Application = Callable[[Environ, Callable[..., Any]], Iterable[bytes]]

CALLS: Final = {"sql": 10, "memcache": 20, "http": 2}
"""What one request of `/request` makes."""
STATEMENTS: Final = (
    "SELECT id, name FROM products WHERE id = %s",
    "SELECT id, name FROM products WHERE category_id = %s AND is_listed = 1 ORDER BY name LIMIT 20",
    "SELECT id, author FROM reviews WHERE product_id = %s ORDER BY written_at DESC LIMIT 5",
)
PRODUCTS: Final = 20_000
"""Distinct ids, keys and URLs: more than any cache of an SDK holds, as in life."""


class Shop:
    """Answers `/request`, `/sql`, `/memcache` and `/http`; the last three tell the CPU time of their calls."""

    def __init__(self) -> None:
        """Open the clients; whoever instruments them has done so before."""
        self._mysql = transports.mysql()
        self._memcache = transports.memcache()
        self._http = requests.Session()
        self._http.trust_env = False  # no looking for proxies and .netrc
        self._http.mount("http://", transports.CannedAdapter())
        self._statements = cycle(STATEMENTS)
        self._ids = cycle(range(PRODUCTS))
        self._keys = cycle([f"product:{number}" for number in range(PRODUCTS)])
        self._urls = cycle([f"http://stock.canned/products/{number}" for number in range(PRODUCTS)])
        self._calls = {"sql": self._query, "memcache": self._get, "http": self._fetch}

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        path = environ["PATH_INFO"][1:]
        if path == "request":
            for client, count in CALLS.items():
                self._calls[client](count)
        else:
            started_ns = time.thread_time_ns()
            self._calls[path](environ["bench.calls"])
            environ["bench.cpu_ns"] = time.thread_time_ns() - started_ns
        start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "2")])
        return [b"ok"]

    def _query(self, count: int) -> None:
        for _ in range(count):
            with self._mysql.cursor() as cursor:
                cursor.execute(next(self._statements), (next(self._ids),))
                assert cursor.fetchone()

    def _get(self, count: int) -> None:
        for _ in range(count):
            assert self._memcache.get(next(self._keys)) == transports.CACHED

    def _fetch(self, count: int) -> None:
        for _ in range(count):
            assert self._http.get(next(self._urls)).status_code == 200


def serve(app: Application, path: str, calls: int = 0, traceparent: str = "") -> Environ:
    """Serve one request as a WSGI server does, up to closing the body; return its environ."""
    environ: Environ = {
        "REQUEST_METHOD": "GET",
        "SCRIPT_NAME": "",
        "PATH_INFO": path,
        "QUERY_STRING": "",
        "SERVER_NAME": "shop.canned",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": "192.0.2.1",
        "HTTP_HOST": "shop.canned",
        "HTTP_USER_AGENT": "bench",
        "HTTP_ACCEPT": "*/*",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(),
        "wsgi.multithread": False,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
        "bench.calls": calls,
    }
    if traceparent:
        environ["HTTP_TRACEPARENT"] = traceparent
    body = app(environ, lambda status, headers, exc_info=None: lambda data: None)
    try:
        for _ in body:
            pass
    finally:
        close = getattr(body, "close", None)
        if close is not None:
            close()
    return environ
