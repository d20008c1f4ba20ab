"""Traces of stock SDKs, with everything that goes wrong, and their bills computed the slow and obvious way."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span, Status

from tests.collector.clickhouse.spans import pairs

Process = tuple[str, str]
Counters = tuple[int, int, int, int]

DB_NOW = {"server.address": "db", "server.port": 3306}
DB_THEN = {"net.peer.name": "db", "net.peer.port": 3306}
# component, attributes: by the conventions of today and of before
CALLS: tuple[tuple[str, Mapping[str, object]], ...] = (
    ("mysql.query", {"db.system": "mysql", "db.statement": "SELECT ? FROM a", **DB_THEN}),
    ("mysql.query", {"db.system.name": "mariadb", "db.query.text": "SELECT b", **DB_NOW}),
    ("memcache.get", {"db.system": "memcached", "db.statement": "get_many a b", "server.address": "/run/m.sock"}),
    ("redis.hget", {"db.system.name": "redis", "db.operation.name": "HGET", "server.address": "r"}),
    ("http.request", {"http.method": "GET", "http.url": "https://pay.example/x?token=secret"}),
    ("http.request", {"http.request.method": "GET", "url.full": "http://a:81/", **DB_NOW}),
    ("s3.PutObject", {"rpc.system": "aws-api", "rpc.service": "S3", "rpc.method": "PutObject"}),
    ("client.call", {}),
)  # fmt: skip


@dataclass
class Made:
    """A span."""

    trace_id: bytes
    span_id: bytes
    parent_span_id: bytes
    process: Process
    kind: str
    starts_ns: int
    ends_ns: int
    component: str = ""
    attributes: Mapping[str, object] = field(default_factory=dict)
    is_error: bool = False

    @property
    def address(self) -> str:
        attributes = self.attributes
        host = attributes.get("server.address", attributes.get("net.peer.name", ""))
        port = attributes.get("server.port", attributes.get("net.peer.port", ""))
        if "http.url" in attributes:
            host, port = "pay.example", 443
        return f"{host}:{port}" if port else str(host)

    @property
    def statement(self) -> str:
        is_sql = self.component == "mysql.query"
        return str(self.attributes.get("db.statement", self.attributes.get("db.query.text", ""))) if is_sql else ""


@dataclass
class Billed:
    """What a transaction should say."""

    covered_ns: int
    components: dict[str, Counters]
    targets: dict[tuple[str, str], Counters]
    statements: dict[str, Counters]
    late: dict[str, Counters]
    """After the response."""
    late_ns: int = 0


def trace(chance: random.Random, now_ns: int, largest: int = 24) -> list[Made]:
    """Spans of one trace: nested, overlapping, outliving their parents, orphaned, walking in circles."""
    trace_id = chance.randbytes(16)
    processes = [(f"service-{at}", f"i-{chance.randrange(2)}") for at in range(chance.choice((1, 1, 2, 3)))]
    ids = [chance.randbytes(8) for _ in range(chance.randint(1, largest))]
    made: list[Made] = []
    for at, span_id in enumerate(ids):
        above = chance.choice(made) if made else None
        parent = above.span_id if above and chance.random() < 0.9 else b""
        if chance.random() < 0.07:
            parent = chance.choice([*ids, span_id, chance.randbytes(8)])  # a circle, itself, nobody
        process = above.process if above and chance.random() < 0.85 else chance.choice(processes)
        kinds = ("server", "consumer", "client", "producer", "internal")
        kind = chance.choices(kinds, (3, 1, 10, 2, 4) if at else (10, 3, 1, 0, 2))[0]
        starts_ns = now_ns + chance.randrange(1000)
        if above and chance.random() < 0.9:
            starts_ns = above.starts_ns + chance.randrange(-20, max(1, above.ends_ns - above.starts_ns) + 20)
        component = ""
        attributes: Mapping[str, object] = {}
        if kind in ("client", "producer") or (kind == "internal" and chance.random() < 0.3):
            component, attributes = chance.choice(CALLS[:4] if kind == "internal" else CALLS)
            if component == "client.call":
                component = f"{kind}.call"
        ends_ns = starts_ns + chance.choice((0, 1, chance.randrange(400), chance.randrange(2000)))
        is_error = chance.random() < 0.1
        made.append(
            Made(trace_id, span_id, parent, process, kind, starts_ns, ends_ns, component, dict(attributes), is_error)
        )
    return made


def requests(spans: Iterable[Made]) -> ExportTraceServiceRequest:
    """One export request with all of them, a resource per process."""
    by_process: dict[Process, ResourceSpans] = {}
    for each in spans:
        service, instance = each.process
        whole = by_process.get(each.process)
        if whole is None:
            whole = by_process[each.process] = ResourceSpans(scope_spans=[ScopeSpans()])
            whole.resource.attributes.extend(pairs({"service.name": service, "service.instance.id": instance}))
        whole.scope_spans[0].spans.append(
            Span(
                trace_id=each.trace_id,
                span_id=each.span_id,
                parent_span_id=each.parent_span_id,
                name="a span",
                kind=Span.SpanKind.Value(f"SPAN_KIND_{each.kind.upper()}"),
                start_time_unix_nano=each.starts_ns,
                end_time_unix_nano=each.ends_ns,
                attributes=pairs(each.attributes),
                status=Status(code=Status.STATUS_CODE_ERROR if each.is_error else Status.STATUS_CODE_UNSET),
            )
        )
    return ExportTraceServiceRequest(resource_spans=by_process.values())


def bills(spans: Iterable[Made]) -> dict[tuple[str, str], Billed]:
    """Trace id and span id of every transaction, and its bill, one nanosecond and one span after the other."""
    by_process: dict[tuple[bytes, Process], dict[bytes, Made]] = {}
    for each in spans:
        by_process.setdefault((each.trace_id, each.process), {})[each.span_id] = each
    found = {}
    for here in by_process.values():
        for root in here.values():
            if _is_root(root, here):
                found[root.trace_id.hex(), root.span_id.hex()] = _bill(root, here)
    return found


def _parent(span: Made, here: Mapping[bytes, Made]) -> Made | None:
    return here.get(span.parent_span_id) if span.parent_span_id != span.span_id else None


def _is_root(span: Made, here: Mapping[bytes, Made]) -> bool:
    parent = _parent(span, here)
    return span.kind in ("server", "consumer") and (parent is None or parent.kind in ("client", "producer"))


def _ancestors(span: Made, here: Mapping[bytes, Made]) -> Iterator[Made]:
    """From its parent up, until where its transaction begins."""
    seen = {span.span_id}
    at = None if _is_root(span, here) else _parent(span, here)
    while at is not None and at.span_id not in seen:
        seen.add(at.span_id)
        yield at
        at = None if _is_root(at, here) else _parent(at, here)


def _bill(root: Made, here: Mapping[bytes, Made]) -> Billed:
    calls = [each for each in here.values() if each.component and root in _ancestors(each, here)]
    inside = {each.span_id: _moments(each) & _moments(root) for each in calls}
    bill = Billed(len(set().union(*inside.values())), {}, {}, {}, {})
    late = {each.span_id for each in calls if each.starts_ns >= root.ends_ns}
    for each in calls:
        below = [call for call in calls if next((up for up in _ancestors(call, here) if up.component), None) is each]
        below = [call for call in below if (call.span_id in late) == (each.span_id in late)]
        moments = _moments if each.span_id in late else lambda call: inside[call.span_id]
        own_ns = len(moments(each) - set().union(*map(moments, below)))
        once = not any(call.component == each.component for call in below)
        counted = (int(once), own_ns, own_ns, int(once and _failed(each)))
        if each.span_id in late:
            _add(bill.late, each.component, counted)
            bill.late_ns = max(bill.late_ns, each.ends_ns - root.ends_ns)
            continue
        _add(bill.components, each.component, counted)
        if each.address:
            _add(bill.targets, (each.component, each.address), counted)
        if each.statement:
            _add(bill.statements, each.statement, counted)
    return bill


def _failed(call: Made) -> bool:
    return call.is_error


def _moments(span: Made) -> set[int]:
    return set(range(span.starts_ns, span.ends_ns))


def _add(lines: dict[Any, Counters], name: Any, counted: Counters) -> None:
    calls, time_ns, max_ns, errors = lines.get(name, (0, 0, 0, 0))
    lines[name] = (calls + counted[0], time_ns + counted[1], max(max_ns, counted[2]), errors + counted[3])
