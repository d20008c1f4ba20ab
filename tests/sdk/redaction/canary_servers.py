"""Requests with a secret wherever they have room for one, through each of the servers that are instrumented."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable, Iterator
from typing import Any
from wsgiref.util import setup_testing_defaults

import fastapi
import flask
import walltime

from tests.sdk.redaction.canaries import Canaries

Job = Callable[[], None]


def wsgi(name: str, job: Job, secret: Canaries) -> None:
    def app(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterator[bytes]:
        start_response("200 OK", [("Set-Cookie", f"sid={secret(f'{name}: cookie that is set')}")])
        job()
        yield secret(f"{name}: body of the answer").encode()

    _serve(walltime.WSGIMiddleware(app), name, secret)


def in_flask(job: Job, secret: Canaries) -> None:
    app = flask.Flask("canary")

    @app.post("/<name>/<path>")
    def answer(name: str, path: str) -> flask.Response:
        job()
        return flask.Response(secret("Flask: body"), headers={"X-Token": secret("Flask: header")})

    _serve(app.wsgi_app, "Flask", secret)
    _serve(app.wsgi_app, "Flask/and/no/such/route", secret)


def in_django(secret: Canaries) -> None:
    from django.core.handlers.wsgi import WSGIHandler

    from tests.sdk.servers import django_project  # noqa: F401  # it configures Django

    _serve(WSGIHandler(), "Django", secret)


def in_asgi(job: Job, secret: Canaries) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        job()
        headers = [(b"set-cookie", secret("ASGI: cookie that is set").encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": secret("ASGI: body").encode()})

    _run(walltime.ASGIMiddleware(app), "ASGI", secret)


def in_fastapi(job: Job, secret: Canaries) -> None:
    app = fastapi.FastAPI()

    @app.post("/FastAPI/{path}")
    async def answer(path: str) -> str:
        job()
        return secret("FastAPI: body")

    _run(app, "FastAPI", secret)
    _run(app, "FastAPI/and/no/such/route", secret)


def _serve(app: Any, name: str, secret: Canaries) -> None:
    environ = request(secret, name.replace(" ", "-"))
    setup_testing_defaults(environ)
    body = app(environ, lambda *_: None)
    try:
        for _ in body:
            pass
    finally:
        if hasattr(body, "close"):
            body.close()


def _run(app: Callable[..., Awaitable[None]], name: str, secret: Canaries) -> None:
    environ = request(secret, name)
    headers = [
        (key.removeprefix("HTTP_").replace("_", "-").lower().encode(), value.encode())
        for key, value in environ.items()
        if key.startswith("HTTP_")
    ]
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "scheme": "http",
        "path": environ["PATH_INFO"], "raw_path": environ["PATH_INFO"].encode(), "root_path": "", "headers": headers,
        "query_string": environ["QUERY_STRING"].encode(), "client": (environ["REMOTE_ADDR"], 1), "server": ("shop", 80),
    }  # fmt: skip

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": secret(f"{name}: body of the request").encode(), "more_body": False}

    async def send(message: dict[str, Any]) -> None: ...

    asyncio.run(app(scope, receive, send))  # type: ignore[arg-type]  # it is a coroutine


def request(secret: Canaries, name: str) -> dict[str, Any]:
    """A WSGI request with a secret wherever it has room for one."""

    def put(kind: str) -> str:
        return secret(f"request {name}: {kind}")

    return {
        "REQUEST_METHOD": "POST",
        "PATH_INFO": f"/{name}/{put('path')}",
        "QUERY_STRING": f"token={put('query')}",
        "HTTP_COOKIE": f"sid={put('cookie')}",
        "HTTP_AUTHORIZATION": f"Basic {base64.b64encode(put('authorization').encode()).decode()}",
        "HTTP_USER_AGENT": put("user agent"),
        "HTTP_REFERER": f"https://shop.test/?q={put('referer')}",
        "HTTP_X_FORWARDED_FOR": put("forwarded for"),
        "HTTP_X_REQUEST_ID": put("request id"),
        "HTTP_X_REQUEST_START": put("queue stamp"),
        "HTTP_X_WALLTIME_FORCE": put("force"),
        "HTTP_BAGGAGE": f"user={put('baggage')}",
        "HTTP_TRACEPARENT": f"00-{put('traceparent')}-01",
        "HTTP_HOST": f"{put('host')}.test",
        "REMOTE_USER": put("remote user"),
        "REMOTE_ADDR": put("remote address"),
    }
