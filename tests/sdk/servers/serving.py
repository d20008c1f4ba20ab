"""Applications on real servers within the test's process, and a client that sees every byte of the answers."""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
import socketserver
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from wsgiref.simple_server import ServerHandler, WSGIRequestHandler, WSGIServer

import uvicorn

_DATE = re.compile(rb"(?i)^date: .*\r\n", re.MULTILINE)
TIMEOUT_S = 20


@dataclass
class Client:
    """Speaks HTTP/1.1 by hand, a new connection for each request."""

    address: tuple[str, int]

    def ask(self, path: str, *, method: str = "GET", headers: tuple[str, ...] = (), body: bytes = b"") -> bytes:
        """The whole answer, byte for byte but for its date."""
        with self.connection(path, method=method, headers=headers, body=body) as connection:
            answer = b"".join(iter(lambda: connection.recv(65536), b""))
        return _DATE.sub(b"", answer, count=1)

    def status(self, path: str, **request: Any) -> int:
        return int(self.ask(path, **request).split(b" ", 2)[1])

    @contextlib.contextmanager
    def connection(
        self, path: str, *, method: str = "GET", headers: tuple[str, ...] = (), body: bytes = b""
    ) -> Iterator[socket.socket]:
        """The connection with the request sent and nothing read."""
        lines = [f"{method} {path} HTTP/1.1", "Host: shop.test", "Connection: close", *headers]
        if body:
            lines.append(f"Content-Length: {len(body)}")
        with socket.create_connection(self.address, timeout=TIMEOUT_S) as connection:
            connection.sendall("\r\n".join([*lines, "", ""]).encode("latin-1") + body)
            yield connection


def logged_by_walltime(output: str) -> list[str]:
    """The lines that the SDK logged: each of its messages begins with its name. A path that holds the name is none."""
    return [line for line in output.splitlines() if "walltime: " in line]


def header(answer: bytes, name: str) -> str | None:
    head = answer.partition(b"\r\n\r\n")[0].decode("latin-1")
    found = re.search(rf"(?im)^{re.escape(name)}: (.*?)\r?$", head)
    return None if found is None else found.group(1)


@contextlib.contextmanager
def uvicorn_serving(app: Any, **settings: Any) -> Iterator[Client]:
    """An ASGI application under uvicorn, in a thread of its own."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    server = uvicorn.Server(
        uvicorn.Config(
            app, log_config=None, lifespan="auto", timeout_graceful_shutdown=5, server_header=False, **settings
        )
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        yield Client(listening.getsockname())
    finally:
        server.should_exit = True
        thread.join(TIMEOUT_S)
        listening.close()
        assert not thread.is_alive(), "uvicorn does not stop"


class _Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None: ...

    def handle(self) -> None:
        with contextlib.suppress(ConnectionError):
            super().handle()


class _Server(socketserver.ThreadingMixIn, WSGIServer):
    daemon_threads = True


@contextlib.contextmanager
def wsgi_serving(app: Any) -> Iterator[Client]:
    """A WSGI application under the standard library's server, a thread for each request."""
    server = _Server(("127.0.0.1", 0), _Quiet)
    server.set_app(app)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield Client(server.server_address)  # type: ignore[arg-type]  # of IPv4
    finally:
        server.shutdown()
        server.server_close()
        thread.join(TIMEOUT_S)


@contextlib.contextmanager
def aiohttp_serving(app: Any) -> Iterator[Client]:
    """An application of aiohttp.web under its own server, in a thread of its own."""
    from aiohttp import web

    ready = threading.Event()
    address: list[tuple[str, int]] = []
    stop: list[Any] = []

    async def serve() -> None:
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        ended = asyncio.Event()
        stop.append((asyncio.get_running_loop(), ended))
        address.append(runner.addresses[0])
        ready.set()
        await ended.wait()
        await runner.cleanup()

    thread = threading.Thread(target=asyncio.run, args=(serve(),), daemon=True)
    thread.start()
    assert ready.wait(TIMEOUT_S), "aiohttp does not start"
    try:
        yield Client(address[0])
    finally:
        loop, ended = stop[0]
        loop.call_soon_threadsafe(ended.set)
        thread.join(TIMEOUT_S)
        assert not thread.is_alive(), "aiohttp does not stop"


ServerHandler.server_software = "test"
