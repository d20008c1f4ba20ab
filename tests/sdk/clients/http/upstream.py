"""The service behind ours, for tests of HTTP clients: a real server that does what the path asks for."""

from __future__ import annotations

import http.server
import socket
import ssl
import struct
import subprocess
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

LATE_S = 0.1
"""How long `/slow`, `/slow-body` and `/chunked` make one wait."""


class Upstream:
    """
    Answers `ok`, or as its path says, and keeps what it saw.

        /missing 404, /broken 503, /flaky 503 once, then 200 · /redirect?to=… 302 · /reset, /cut: hangs up before
        the answer, in the middle of its body · /slow, /slow-body, /chunked: late · /echo: the body it got
    """

    def __init__(self, certificate: tuple[Path, Path] | None = None) -> None:
        """
        Args:
            certificate: certificate and key; with them it speaks TLS.
        """
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.connections = 0
        self.late_s = LATE_S
        self._certificate = certificate

    def __enter__(self) -> Upstream:
        upstream = self

        class Handler(_Handler):
            of = upstream

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        if self._certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*self._certificate)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.address = f"127.0.0.1:{self._server.server_port}"
        self.url = f"{'http' if self._certificate is None else 'https'}://{self.address}"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Handler(http.server.BaseHTTPRequestHandler):
    of: Upstream
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self) -> None:
        self.of.connections += 1
        super().setup()

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        parts = urlsplit(self.path)
        path = parts.path
        self.of.paths.append(path)
        self.of.headers.append({name.lower(): value for name, value in self.headers.items()})
        if path == "/reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
            self.connection.close()
        elif path == "/redirect":
            self._answer(302, Location=parse_qs(parts.query)["to"][0])
        elif path == "/cut":
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b"not all")
            self.close_connection = True
        elif path == "/slow-body":
            self.send_response(200)
            self.send_header("Content-Length", "4")
            self.end_headers()
            self.wfile.flush()
            time.sleep(self.of.late_s)
            self.wfile.write(b"late")
        elif path == "/chunked":
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for block in (b"one", b"two"):
                time.sleep(self.of.late_s / 2)
                self.wfile.write(b"%x\r\n%s\r\n" % (len(block), block))
            self.wfile.write(b"0\r\n\r\n")
        elif path == "/echo":
            self._answer(200, body)
        else:
            if path == "/slow":
                time.sleep(self.of.late_s)
            seen = self.of.paths.count(path)
            status = {"/missing": 404, "/broken": 503, "/flaky": 503 if seen == 1 else 200}.get(path, 200)
            self._answer(status)

    do_POST = do_GET  # noqa: N815  # the name http.server looks for

    def do_HEAD(self) -> None:
        self.of.paths.append(self.path)
        self._answer(200, b"")

    def _answer(self, status: int, body: bytes = b"ok", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None: ...


def certificate_in(folder: Path) -> tuple[Path, Path]:
    """Make a certificate for 127.0.0.1 and its key."""
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1",
         "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
        check=True, capture_output=True,
    )  # fmt: skip
    return certificate, key
