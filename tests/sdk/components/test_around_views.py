"""What a framework does around a view, also on error pages and redirects, is `middleware` and not `other`."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import flask
import pytest
from aiohttp import web
from django.core.signals import request_started

from tests.sdk.servers import django_project
from tests.sdk.servers.serving import Client, aiohttp_serving, uvicorn_serving, wsgi_serving
from tests.sdk.sink import Sink

SLOW_S = 0.02


def slow(*_: Any, **__: Any) -> None:
    time.sleep(SLOW_S)


@contextmanager
def flask_serving() -> Iterator[Client]:
    app = flask.Flask("shop")
    app.logger.disabled = True
    app.config["PROPAGATE_EXCEPTIONS"] = False
    inner = app.wsgi_app

    def around(environ: Any, start_response: Any) -> Any:
        slow()
        return inner(environ, start_response)

    app.wsgi_app = around  # type: ignore[method-assign]  # as Flask's documentation does it
    app.before_request(slow)
    app.teardown_request(slow)
    app.teardown_appcontext(slow)

    @app.errorhandler(404)
    @app.errorhandler(500)
    def page(error: Exception) -> tuple[str, int]:
        slow()
        return "sorry", getattr(error, "code", 500)

    app.add_url_rule("/fine/", "fine", lambda: "fine")
    app.add_url_rule("/fails", "fails", lambda: str(1 / 0))
    with wsgi_serving(app) as client:
        yield client


@contextmanager
def django_serving(is_asgi: bool) -> Iterator[Client]:
    request_started.connect(slow)
    try:
        with uvicorn_serving(django_project.asgi()) if is_asgi else wsgi_serving(django_project.wsgi()) as client:
            yield client
    finally:
        request_started.disconnect(slow)


@contextmanager
def aiohttp_web_serving() -> Iterator[Client]:
    async def prepared(request: web.Request, response: web.StreamResponse) -> None:
        slow()

    async def fine(request: web.Request) -> web.Response:
        return web.Response(text="fine")

    async def fails(request: web.Request) -> web.Response:
        raise ZeroDivisionError

    class Slow(logging.Handler):
        emit = slow

    app = web.Application()
    app.on_response_prepare.append(prepared)
    app.add_routes([web.get("/fine", fine), web.get("/fails", fails)])
    log, handler = logging.getLogger("aiohttp.server"), Slow()
    log.addHandler(handler)
    try:
        with aiohttp_serving(app) as client:
            yield client
    finally:
        log.removeHandler(handler)


FLASK = {"/fine/": (200, 4), "/fine": (308, 4), "/nowhere": (404, 5), "/fails": (500, 5)}
DJANGO = {"/shop/product/7": (200, 1), "/nowhere": (404, 1), "/fails": (500, 1)}


@pytest.mark.parametrize(
    ("serving", "expected"),
    [
        (flask_serving(), FLASK),
        (django_serving(is_asgi=False), DJANGO),
        (django_serving(is_asgi=True), DJANGO),
        (aiohttp_web_serving(), {"/fine": (200, 1), "/nowhere": (404, 1), "/fails": (500, 1)}),
    ],
    ids=["flask", "django", "django-asgi", "aiohttp"],
)
def test_what_runs_around_a_view_is_middleware(
    serving: Any, expected: dict[str, tuple[int, int]], recorded: Sink
) -> None:
    with serving as client:
        for path, (status, _) in expected.items():
            assert client.status(path) == status
        found = recorded.wait_for(len(expected))
    spans = sorted(found, key=lambda span: span.span.start_time_unix_nano)
    for (path, (_, times)), span in zip(expected.items(), spans, strict=True):
        assert span.cell("middleware") == {"calls": 1}, path
        assert span.times_ns()["middleware"] >= times * SLOW_S * 1e9, (path, span.times_ns(), span.duration_ns)
