"""
A shop without Walltime's SDK: stock OpenTelemetry SDK, its own instrumentations, its OTLP exporter.

    python -m tests.faults.otel_shop URL DATABASE REQUESTS

Sends that many requests to itself over real sockets, and prints their trace ids, one a line, when all spans are sent.
"""

from __future__ import annotations

import http.client
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterable
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import requests
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.instrumentation.requests import RequestsInstrumentor
from opentelemetry.instrumentation.sqlite3 import SQLite3Instrumentor
from opentelemetry.instrumentation.wsgi import OpenTelemetryMiddleware
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

Start = Callable[[str, list[tuple[str, str]]], Any]


class Silent(WSGIRequestHandler):
    """Logs nothing."""

    def log_message(self, format: str, *args: Any) -> None:
        """Silence."""


class Server(ThreadingMixIn, WSGIServer):
    """A page requests another page of the same server."""

    daemon_threads = True


def main() -> None:
    """Serve, send the requests, flush."""
    url, path, number = sys.argv[1], sys.argv[2], int(sys.argv[3])
    resource = Resource.create({"service.name": "otel-shop", "service.instance.id": path, "host.name": "web-9"})
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=url), schedule_delay_millis=200))
    trace.set_tracer_provider(provider)
    tracer = trace.get_tracer("shop")
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE product (name TEXT)")
    SQLite3Instrumentor().instrument()
    RequestsInstrumentor().instrument()
    seen: list[str] = []

    def application(environ: dict[str, Any], start: Start) -> Iterable[bytes]:
        if environ["PATH_INFO"] == "/stock":
            start("200 OK", [])
            return [b"3"]
        seen.append(format(trace.get_current_span().get_span_context().trace_id, "032x"))
        connection = sqlite3.connect(path)
        for name in ("a secret", "another"):
            connection.cursor().execute(f"SELECT * FROM product WHERE name = '{name}'").fetchall()
        connection.close()
        with tracer.start_as_current_span("render"):
            requests.get(f"http://127.0.0.1:{server.server_port}/stock", timeout=10)
        start("503 Service Unavailable" if len(seen) % 5 == 0 else "200 OK", [])
        return [b"done"]

    server = make_server("127.0.0.1", 0, OpenTelemetryMiddleware(application), Server, Silent)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    for _ in range(number):
        visit = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
        visit.request("GET", "/product")
        visit.getresponse().read()
        visit.close()
    server.shutdown()
    provider.shutdown()
    print("\n".join(seen))


if __name__ == "__main__":
    main()
