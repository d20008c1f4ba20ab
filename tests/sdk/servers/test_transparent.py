"""Servers and their hooks see the application and its bodies as they are, although ours is in front of them."""

from __future__ import annotations

import copy
import inspect
import io
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer
from wsgiref.util import setup_testing_defaults

import flask
import gevent.pywsgi
import pytest
import starlette.applications
import uvicorn
import walltime
from gunicorn.app.base import BaseApplication
from shop.process import Program
from walltime.core.execution import current

from tests.sdk.servers.serving import Client
from tests.sdk.servers.wsgi_server import page, serve
from tests.sdk.sink import Sink

# ---- bodies ----


def body_of(answer: Callable[[dict[str, Any]], Any], **environ: Any) -> Any:
    """What a server gets of an application that answers with this."""

    def app(environ: dict[str, Any], start_response: Any) -> Any:
        start_response("200 OK", [])
        return answer(environ)

    whole: dict[str, Any] = dict(environ)
    setup_testing_defaults(whole)
    return walltime.WSGIMiddleware(app)(whole, lambda *_: None)


class Marked(bytes): ...


@pytest.mark.parametrize("body", [[b"one"], [b"one", b"two"], (b"one",), b"content", [], b"", Marked(b"content")])
def test_a_body_of_a_built_in_type_keeps_it(recorded: Sink, body: Any) -> None:
    given = body_of(lambda _: body)
    built_in = type(body).__mro__[-2]
    assert issubclass(type(given), built_in)
    assert given == body
    assert len(given) == len(body)
    assert list(given) == list(body)
    assert given[:1] == body[:1]
    given.close()
    assert current() is None
    recorded.transaction()


@pytest.mark.parametrize("built_in", [list, tuple])
def test_a_body_of_a_class_of_the_applications_is_iterated_by_the_server_alone(recorded: Sink, built_in: Any) -> None:
    begun = []

    def iterate(self: Any) -> Iterator[bytes]:
        begun.append(self)
        raise LookupError("of the application")

    given = body_of(lambda _: type("Lazy", (built_in,), {"__iter__": iterate})([b"one"]))
    assert isinstance(given, built_in)
    assert not begun
    with pytest.raises(LookupError, match="of the application"):
        list(given)
    given.close()
    assert len(begun) == 1
    assert recorded.transaction().attributes["error.type"] == "LookupError"


def test_a_body_has_the_attributes_of_the_applications(recorded: Sink) -> None:
    class Response:
        status_code = 418

        def __iter__(self) -> Iterator[bytes]:
            return iter([b"tea"])

    body = body_of(lambda _: Response())
    assert body.status_code == 418
    assert not hasattr(body, "headers")
    assert not hasattr(body, "__len__")
    body.close()
    recorded.transaction()


def test_a_file_wrapper_that_is_a_function_is_known_by_its_result(recorded: Sink) -> None:
    """uWSGI returns the very file and compares identities; mod_wsgi's is a method, too."""
    file = io.BufferedReader(io.BytesIO(b"content"))  # its `close` cannot be replaced

    def sendfile(file: Any, block_size: int = 0) -> Any:
        return file

    body = body_of(lambda environ: environ["wsgi.file_wrapper"](file, 4096), **{"wsgi.file_wrapper": sendfile})
    assert body is file
    assert current() is None, "nobody says when it is sent"
    recorded.transaction()
    other = body_of(lambda _: iter([b"a"]), **{"wsgi.file_wrapper": sendfile})
    assert b"".join(other) == b"a"
    other.close()
    assert len(recorded.transactions()) == 2


def test_a_file_wrapper_whose_close_cannot_be_replaced_keeps_its_type(recorded: Sink) -> None:
    class Sealed:
        __slots__ = ("file",)

        def __init__(self, file: Any) -> None:
            self.file = file

        def __iter__(self) -> Iterator[bytes]:
            return iter(self.file)

        def close(self) -> None: ...

    environ = {"wsgi.file_wrapper": Sealed}
    body = body_of(lambda environ: environ["wsgi.file_wrapper"](io.BytesIO(b"a")), **environ)
    assert type(body) is Sealed
    assert current() is None
    recorded.transaction()


UWSGI = shutil.which("uwsgi") or ""
APPLICATION = """
import walltime
def plain(environ, start_response):
    start_response("200 OK", [])
    if environ["PATH_INFO"] == "/bytes":
        return b"hello"
    made = environ["wsgi.file_wrapper"](open("content", "rb"), 8192)
    return made if environ["PATH_INFO"] == "/file" else [b"is the file: ", str(type(made)).encode()]
application = walltime.WSGIMiddleware(plain)
"""


@pytest.mark.skipif(not UWSGI, reason="needs uwsgi: pip install uwsgi")
def test_uwsgi_sends_bytes_and_files_as_without_us(recorded: Sink, tmp_path: Path) -> None:
    (tmp_path / "content").write_bytes(b"content" * 10_000)
    (tmp_path / "files.py").write_text(APPLICATION)
    command = [UWSGI, "--http-socket", "127.0.0.1:0", "--wsgi-file", "files.py", "--enable-threads", "--die-on-term"]
    environment = {
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": recorded.endpoint,
        "OTEL_BSP_SCHEDULE_DELAY": "20",
        "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path]),
    }
    bound = r"bound to TCP address 127\.0\.0\.1:(\d+)"
    with Program("uwsgi", tmp_path, command, bound, environment) as server:
        assert server.ready is not None
        client = Client(("127.0.0.1", int(server.ready.group(1))))
        assert client.ask("/bytes").endswith(b"\r\n\r\nhello")
        assert client.ask("/file").endswith(b"content" * 10_000)
        assert b"is the file: <class '_io.BufferedReader'>" in client.ask("/list")
        recorded.wait_for(3)


# ---- applications ----


class Application:
    """One of no framework that is known."""

    def __init__(self) -> None:
        self.config = {"QUEUE": "q"}

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Any:
        return page(environ, start_response)


def under_gunicorn(app: Any) -> Any:
    class Gunicorn(BaseApplication):  # type: ignore[misc]
        def load_config(self) -> None: ...

        def load(self) -> Any:
            return app

    return Gunicorn().wsgi()


def under_wsgiref(app: Any) -> Any:
    with WSGIServer(("127.0.0.1", 0), WSGIRequestHandler) as server:
        server.set_app(app)
        return server.get_app()


def under_gevent(app: Any) -> Any:
    return gevent.pywsgi.WSGIServer(("127.0.0.1", 0), app).application


SERVERS = {"gunicorn": under_gunicorn, "wsgiref": under_wsgiref, "gevent": under_gevent}
APPLICATIONS: dict[str, Callable[[], Any]] = {
    "any": Application,
    "function": lambda: page,
    "flask": lambda: flask.Flask("x"),
}


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("kind", APPLICATIONS)
def test_what_a_server_runs_passes_for_the_application(recorded: Sink, server: str, kind: str) -> None:
    app = APPLICATIONS[kind]()
    seen = SERVERS[server](app)
    assert isinstance(seen, type(app))
    assert {name for name in dir(app) if not hasattr(seen, name)} == set()
    if kind != "function":
        assert seen.config is app.config, "a hook of gunicorn uses worker.wsgi.config"
        seen.config = changed = {"QUEUE": "other"}
        assert app.config is changed
    else:
        assert seen.__name__ == "page"
        assert inspect.unwrap(seen) is seen
    assert (seen is app) == (kind == "flask"), "Flask opens its transactions itself"
    if kind != "flask":
        assert serve(seen)[0] == "200 OK"
        recorded.transaction()


def test_a_server_of_asgi_sees_the_application(recorded: Sink) -> None:
    async def plain(scope: Any, receive: Any, send: Any) -> None: ...

    vars(plain)["state"] = "mine"
    apps: list[Any] = [plain, starlette.applications.Starlette()]
    for app in apps:
        config = uvicorn.Config(app, log_config=None, proxy_headers=False)
        config.load()
        seen: Any = config.loaded_app
        assert isinstance(seen, type(app))
        assert seen.state is vars(app)["state"]
        assert inspect.iscoroutinefunction(seen.__call__)


def test_a_middleware_is_still_one_and_has_attributes_of_its_own(recorded: Sink) -> None:
    class Mine(walltime.WSGIMiddleware):
        def __init__(self, app: Any) -> None:
            super().__init__(app)
            self.mine = 1

    app = Application()
    middleware = Mine(app)
    assert isinstance(middleware, walltime.WSGIMiddleware)
    assert isinstance(middleware, Application)
    assert (middleware.mine, hasattr(app, "mine")) == (1, False)
    assert middleware.app is app
    other = Application()
    middleware.app = other
    assert middleware.config is other.config
    assert copy.copy(middleware).config is other.config
    with pytest.raises(AttributeError, match="no_such"):
        _ = middleware.no_such
