"""
A program of the kind in argv that makes calls and opens no transaction: 10 calls to the URL in argv a request.

It prints its port. `script` makes 120 calls and is killed; `master` loads an application that makes 300, then forks.
"""

from __future__ import annotations

import http.client
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import urlsplit

KIND, URL = sys.argv[1:3]


def call(times: int = 10) -> str:
    parts = urlsplit(URL)
    for _ in range(times):
        connection = http.client.HTTPConnection(str(parts.hostname), parts.port)
        connection.request("GET", "/")
        connection.getresponse().read()
        connection.close()
    return "called"


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    start_response("200 OK", [("Content-Length", "6")])
    return [call().encode()]


def bottle() -> None:
    import bottle
    import waitress

    bottle.route("/")(call)
    on_waitress(waitress, bottle.default_app())


def on_waitress(waitress: Any, app: Any) -> None:
    server = waitress.create_server(app, host="127.0.0.1", port=0)
    print(server.effective_port, flush=True)
    server.run()


def waitress() -> None:
    import waitress

    on_waitress(waitress, application)


def forked() -> None:
    """As uWSGI forks: the parent only waits, and the child ends with it."""
    alive, held = os.pipe()
    if pid := os.fork():
        os.waitpid(pid, 0)
    else:
        os.close(held)
        threading.Thread(target=lambda: os.read(alive, 1) or os._exit(0), daemon=True).start()
        bottle()


def tornado() -> None:
    import asyncio

    from tornado import httpserver, netutil, web

    class Page(web.RequestHandler):
        def get(self) -> None:
            self.write(call())

    async def serve() -> None:
        sockets = netutil.bind_sockets(0, "127.0.0.1")
        httpserver.HTTPServer(web.Application([("/", Page)])).add_sockets(sockets)
        print(sockets[0].getsockname()[1], flush=True)
        await asyncio.Event().wait()

    asyncio.run(serve())


def lifespan() -> None:
    """A server that is supported warms its caches before its first request."""
    from collections.abc import AsyncIterator
    from contextlib import asynccontextmanager

    import fastapi
    import uvicorn

    @asynccontextmanager
    async def warm(_: fastapi.FastAPI) -> AsyncIterator[None]:
        call(120)
        yield

    app = fastapi.FastAPI(lifespan=warm)
    app.get("/", response_class=fastapi.responses.PlainTextResponse)(call)
    config = uvicorn.Config(app, log_config=None)
    print((sockets := [config.bind_socket()])[0].getsockname()[1], flush=True)
    uvicorn.Server(config).run(sockets)


def library() -> None:
    """A script that uses the application of a server, and goes on for long."""
    import flask  # noqa: F401
    from walltime import unbilled

    unbilled.STARTING_S = 0  # type: ignore[misc]
    script()


def script() -> None:
    call(120)
    print(0, flush=True)
    time.sleep(60)


def master() -> None:
    """Of gunicorn: with --preload it loads the application and forks workers."""
    from gunicorn.app.base import BaseApplication

    class Program(BaseApplication):  # type: ignore[misc]  # gunicorn has no types
        def load_config(self) -> None:
            self.cfg.set("preload_app", True)
            self.cfg.set("bind", "127.0.0.1:0")
            self.cfg.set("control_socket_disable", True)
            self.cfg.set("when_ready", lambda server: print(server.LISTENERS[0].sock.getsockname()[1], flush=True))

        def load(self) -> Any:
            call(300)
            return application

    Program().run()


if __name__ == "__main__":
    globals()[KIND]()
