"""How many frames of ours are in the application's tracebacks, as docs/servers.md says."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastapi
import flask
import pymysql
import pytest
import walltime
from walltime import native

from tests.sdk.servers.wsgi_server import serve
from tests.sdk.sink import Sink

DOCUMENTED = (Path(__file__).parents[3] / "docs" / "servers.md").read_text()
OURS = str(Path(walltime.__file__).parent)


def ours(error: BaseException) -> list[str]:
    frames = traceback.extract_tb(error.__traceback__)
    return [f"{Path(frame.filename).stem}.{frame.name}" for frame in frames if frame.filename.startswith(OURS)]


def a_flask_view() -> None:
    app = flask.Flask("shop")
    app.testing = True  # the exception comes out

    @app.get("/")
    def page() -> str:
        raise LookupError("mine")

    serve(walltime.WSGIMiddleware(app))


def fastapi_view(how: str) -> None:
    app = fastapi.FastAPI()

    @app.get("/async")
    async def page() -> None:
        raise LookupError("mine")

    @app.get("/sync")
    def plain_page() -> None:
        raise LookupError("mine")

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None: ...

    scope = {"type": "http", "method": "GET", "path": f"/{how}", "raw_path": b"/", "query_string": b"", "headers": [],
             "scheme": "http", "server": ("shop.test", 80), "root_path": "", "http_version": "1.1",
             "asgi": {"version": "3.0"}}  # fmt: skip
    asyncio.run(walltime.ASGIMiddleware(app)(scope, receive, send))


FLASK = [
    "wsgi.__call__", "wsgi.serve", "wsgi.__call__", "outermost.call", "wsgi.__call__", "outermost.call",
    "flask.handle_exception", "flask.full_dispatch_request", "outermost.call",
]  # fmt: skip
FASTAPI = [
    "asgi.__call__", "asgi.serve", "steps.steps", "asgi.__call__", "outermost.call", "fastapi.handle",
    "starlette.handle", "fastapi.run_endpoint_function", "outermost.call",
]  # fmt: skip
FASTAPI_PLAIN = [
    *FASTAPI[:-1], "anyio.run_sync", "steps.steps", "__init__.on_a_branch", "__init__.run", "outermost.call"
]  # fmt: skip


@pytest.mark.parametrize(
    ("view", "frames"),
    [(a_flask_view, FLASK), (lambda: fastapi_view("async"), FASTAPI), (lambda: fastapi_view("sync"), FASTAPI_PLAIN)],
    ids=["flask", "fastapi", "fastapi, def"],
)
def test_an_exception_of_a_view_passes_so_many_frames_of_ours(
    recorded: Sink, view: Callable[[], None], frames: list[str]
) -> None:
    with pytest.raises(LookupError) as raised:
        view()
    assert ours(raised.value) == frames
    assert f"{len(frames)} frames" in DOCUMENTED


def test_an_error_of_the_database_passes_two(
    recorded: Sink, connect: Callable[..., pymysql.connections.Connection[Any]]
) -> None:
    connection = connect()
    with walltime.transaction("job"), connection.cursor() as cursor, pytest.raises(pymysql.MySQLError) as raised:
        cursor.execute("SELEC 1")
    assert ours(raised.value) == ([] if native.is_used() else ["pymysql.execute", "pymysql.query"])
