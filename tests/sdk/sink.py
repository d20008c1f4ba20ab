"""An OTLP/HTTP server for tests: keeps every span it gets, decoded by opentelemetry-proto's own classes."""

from __future__ import annotations

import gzip
import http.server
import threading
import time
from dataclasses import dataclass, field
from typing import Any

import walltime
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span


@dataclass
class Received:
    """A span as tests want to see it."""

    span: Span
    attributes: dict[str, Any]
    resource: dict[str, Any]

    @property
    def duration_ns(self) -> int:
        return int(self.span.end_time_unix_nano - self.span.start_time_unix_nano)

    def cell(self, component: str) -> dict[str, int]:
        """What the bill says of a component, without the times."""
        prefix = f"walltime.{component}."
        counts = {k[len(prefix) :]: v for k, v in self.attributes.items() if k.startswith(prefix)}
        return {k: v for k, v in counts.items() if not k.endswith("_ns")}

    def times_ns(self) -> dict[str, int]:
        """Component → exclusive time."""
        return {
            key.removeprefix("walltime.").removesuffix(".time_ns"): value
            for key, value in self.attributes.items()
            if key.endswith(".time_ns") and isinstance(value, int)
        }

    def check(self, calls: list[Received]) -> None:
        """One call has one time: calls, time, longest and the spans of these calls agree."""
        for component, time_ns in self.times_ns().items():
            count, max_ns = (self.attributes[f"walltime.{component}.{name}"] for name in ("calls", "max_ns"))
            own_ns = [
                call.attributes.get("walltime.own_ns", 0)
                for call in calls
                if call.attributes["walltime.component"] == component
            ]
            assert max_ns <= time_ns, component
            assert max_ns == time_ns or count != 1, component
            is_whole = "walltime.calls_dropped" not in self.attributes and component != "(other)"
            if self.attributes.get("walltime.kept") and is_whole:
                assert (sum(own_ns), max(own_ns, default=0)) == (time_ns, max_ns), component
        for call in calls:
            assert call.attributes.get("walltime.own_ns", 0) <= call.duration_ns

    def targets(self) -> dict[tuple[str, str], dict[str, int]]:
        names = ("calls", "errors", "hits", "misses")
        asked = [self.attributes.get(f"walltime.target.{name}", []) for name in ("component", "address", *names)]
        columns = [column or [0] * len(asked[0]) for column in asked]  # what is zero in all of them is absent
        return {(row[0], row[1]): dict(zip(names, row[2:], strict=True)) for row in zip(*columns, strict=True)}

    def statements(self) -> dict[str, int]:
        texts = self.attributes.get("walltime.statement.text", [])
        return dict(zip(texts, self.attributes.get("walltime.statement.calls", []), strict=True))


@dataclass
class Sink:
    """Answers 200 (or `status`) and keeps what came."""

    status: int = 200
    answer: bytes = b""
    """The body of each answer."""
    most_bytes: int = 1 << 40
    """A longer body is refused."""
    refused_text: bytes = b""
    """A body with this text is refused too."""
    refusal: tuple[int, bytes] = (413, b"")
    refused: list[int] = field(default_factory=list)
    """Sizes of the bodies that were too long."""
    requests: list[ExportTraceServiceRequest] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    """The same as they came, byte for byte."""

    def __enter__(self) -> Sink:
        sink = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if len(body) > sink.most_bytes or (sink.refused_text and sink.refused_text in body):
                    sink.refused.append(len(body))
                    self.respond(*sink.refusal)
                    return
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                sink.bodies.append(body)
                if sink.status == 200:
                    sink.requests.append(ExportTraceServiceRequest.FromString(body))
                self.respond(sink.status, sink.answer)

            def respond(self, status: int, body: bytes) -> None:
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None: ...

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}/v1/traces"
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def spans(self) -> list[Received]:
        walltime.flush(5)
        return [
            Received(span, attributes_of(span.attributes), attributes_of(resource_spans.resource.attributes))
            for request in self.requests
            for resource_spans in request.resource_spans
            for scope_spans in resource_spans.scope_spans
            for span in scope_spans.spans
        ]

    def transactions(self) -> list[Received]:
        return [span for span in self.spans() if "walltime.schema" in span.attributes]

    def transaction(self) -> Received:
        """The one transaction there is; its bill adds up, and agrees with the calls that were kept."""
        (only,) = self.transactions()
        assert sum(only.times_ns().values()) == only.attributes["walltime.covered_ns"] <= only.duration_ns
        only.check(self.calls())
        return only

    def calls(self, component: str = "") -> list[Received]:
        """Kept calls, in the order they ended."""
        kept = [span for span in self.spans() if "walltime.component" in span.attributes]
        return [span for span in kept if component in ("", span.attributes["walltime.component"])]

    def wait_for(self, transactions: int, timeout_s: float = 60) -> list[Received]:
        deadline_s = time.monotonic() + timeout_s
        while time.monotonic() < deadline_s:
            if len(found := self.transactions()) >= transactions:
                return found
            time.sleep(0.02)
        raise AssertionError(f"{len(self.transactions())} of {transactions} transactions after {timeout_s} s")


def attributes_of(pairs: Any) -> dict[str, Any]:
    attributes: dict[str, Any] = {}
    pair: KeyValue
    for pair in pairs:
        assert pair.key not in attributes, f"{pair.key} is there twice"
        attributes[pair.key] = value_of(pair.value)
    return attributes


def value_of(value: AnyValue) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [value_of(item) for item in value.array_value.values]
    return getattr(value, kind) if kind else None
