"""The servers are those of the SDK's tests; what is tried here runs in processes of its own."""

from __future__ import annotations

import http.server
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from shop.services import MariaDB, Memcached

from tests.sdk.conftest import as_before, connect, mariadb, memcached, recorded, sink
from tests.sdk.sink import Sink

__all__ = ["as_before", "connect", "mariadb", "memcached", "recorded", "servers", "sink", "web"]


@pytest.fixture
def web() -> Iterator[str]:
    """An HTTP server with a known, a long and a missing page."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # each life would wait half a second for acknowledgements

        def do_GET(self) -> None:
            body = {"/hello": b"hello", "/long": b"0123456789" * 2000}.get(self.path.partition("?")[0])
            self._answer(404 if body is None else 200, body or b"no such page")

        def do_POST(self) -> None:
            self._answer(201, self.rfile.read(int(self.headers["Content-Length"])))

        def _answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None: ...

    class Server(http.server.ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            """A client that is gone is no news here."""

    with Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def servers(mariadb: MariaDB, memcached: tuple[Memcached, Memcached], sink: Sink, web: str) -> dict[str, Any]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        refusing = server.getsockname()
    return {
        "mysql": {**mariadb.account(), "ssl_disabled": True},  # its context alone takes 30 ms
        "memcached": [("127.0.0.1", server.port) for server in memcached],
        "refusing": refusing,
        "http": web,
        "endpoint": sink.endpoint,
        "only": "",
        "every": 1,
    }
