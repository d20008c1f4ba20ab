"""The export requests that are sent: spans of any OpenTelemetry SDK, and bills of Walltime's."""

from __future__ import annotations

import random
import time
from functools import cache
from itertools import starmap
from typing import Final

from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span
from walltime_collector.cli.otlp import pairs

from tests.bench.ingest_sender import Body
from tests.collector.traffic import Value

RESOURCE_SPANS, SCOPE_SPANS, SPANS, ATTRIBUTES = 1, 2, 2, 9
"""Fields of OTLP's messages."""
SPANS_OF_A_TRACE: Final = 16
RESOURCE: Final[dict[str, Value]] = {
    "service.name": "checkout",
    "service.version": "1.4.2",
    "host.name": "web-1",
    "telemetry.sdk.language": "go",
}
ROUTES: Final = ("/product/{id}", "/cart", "/search", "/checkout", "/orders/{id}")
OPERATIONS: Final = ("SELECT", "INSERT", "UPDATE", "COMMIT")


@cache
def opentelemetry_bodies(spans: int, distinct: int, seed: int = 1) -> list[Body]:
    """So many different requests of so many spans, of about 200 bytes and 8 attributes each: 512 are 100 KB."""
    chance = random.Random(seed)
    now_ns = time.time_ns()
    return [Body(spans, _request(chance, spans, now_ns - 60_000_000_000)) for _ in range(distinct)]


def _request(chance: random.Random, spans: int, started_ns: int) -> bytes:
    scope = ScopeSpans()
    scope.scope.name, scope.scope.version = "io.opentelemetry.http", "2.1.0"
    parts = [scope.SerializeToString()]
    trace_id, root_id = b"", b""
    for at in range(spans):
        span_id = chance.randbytes(8)
        is_root = at % SPANS_OF_A_TRACE == 0
        if is_root:
            trace_id, root_id = chance.randbytes(16), span_id
        began_ns = started_ns + chance.randrange(1_000_000_000)
        span = Span(
            trace_id=trace_id,
            span_id=span_id,
            parent_span_id=b"" if is_root else root_id,
            name=f"GET {chance.choice(ROUTES)}" if is_root else "query",
            kind=Span.SPAN_KIND_SERVER if is_root else Span.SPAN_KIND_CLIENT,
            start_time_unix_nano=began_ns,
            end_time_unix_nano=began_ns + int(chance.lognormvariate(14, 1)),
        )
        said = _of_a_server(chance) if is_root else _of_a_client(chance)
        parts.append(_field(SPANS, span.SerializeToString() + b"".join(starmap(_attribute, said.items()))))
    resource = ResourceSpans()
    resource.resource.attributes.extend(pairs(RESOURCE))
    content = resource.SerializeToString() + _field(SCOPE_SPANS, b"".join(parts))
    return _field(RESOURCE_SPANS, content)


@cache
def _attribute(key: str, value: Value) -> bytes:
    """Of a span; made once, for making them is most of the time it takes to make a request."""
    return _field(ATTRIBUTES, pairs({key: value})[0].SerializeToString())


def _field(number: int, content: bytes) -> bytes:
    """A length-delimited field of protobuf; its tag is one byte."""
    size, rest = b"", len(content)
    while rest > 0x7F:
        size += bytes([rest & 0x7F | 0x80])
        rest >>= 7
    return bytes([number << 3 | 2]) + size + bytes([rest]) + content


def _of_a_server(chance: random.Random) -> dict[str, Value]:
    return {
        "http.request.method": "GET",
        "http.route": chance.choice(ROUTES),
        "http.response.status_code": 200,
        "url.scheme": "https",
        "url.path": f"/product/{chance.randrange(100_000)}",
        "server.address": "shop.test",
        "server.port": 443,
        "user.id": f"{chance.randrange(1_000)}",
    }


def _of_a_client(chance: random.Random) -> dict[str, Value]:
    return {
        "db.system": "mysql",
        "db.operation": chance.choice(OPERATIONS),
        "db.name": "shop",
        "port": 3306,
        "rows": chance.randrange(100),
        "thread": chance.randrange(64),
        "retry": 0,
        "pool": "main",
    }
