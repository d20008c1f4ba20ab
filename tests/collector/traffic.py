"""Transactions as the SDK sends them (docs/wire.md), with known numbers: believable traffic of a small shop."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span, Status
from walltime_collector.cli.otlp import pairs

Value: TypeAlias = str | int | float | list[str] | list[int]
MS = 1_000_000
CACHES = ("10.0.0.11:11211", "10.0.0.12:11211")
DATABASE = "10.0.0.5:3306"


@dataclass
class SentCall:
    component: str
    offset_ns: int
    duration_ns: int
    attributes: dict[str, Value] = field(default_factory=dict)
    own_ns: int | None = None


@dataclass(frozen=True)
class SentSample:
    line: str
    function: str = ""
    count: int = 1
    component: str = "other"
    library: str = ""
    state: str = "computing"
    stack: str = ""

    @property
    def time_ns(self) -> int:
        return self.count * SAMPLE_NS


SAMPLE_NS = 10 * MS
SAMPLES = tuple(
    SentSample(line, function, 1, component, library, state, f"page (shop/views.py:12);{function} ({line})")
    for line, function, component, library, state in (
        ("shop/serializers.py:88", "to_json", "view", "json.encoder.iterencode", "computing"),
        ("shop/serializers.py:91", "to_json", "view", "", "computing"),
        ("shop/locks.py:7", "wait", "other", "threading.Lock.acquire", "lock"),
        ("", "", "middleware", "", "gil"),
    )
)


@dataclass
class Sent:
    """One transaction; its bill is computed from its calls, which are sent as spans only when `kept` says why."""

    trace_id: str
    span_id: str
    name: str
    started_ns: int
    duration_ns: int
    service: str = "shop"
    host: str = "web-1"
    version: str = ""
    parent_span_id: str = ""
    kept: str = ""
    is_error: bool = False
    calls: list[SentCall] = field(default_factory=list)
    attributes: dict[str, Value] = field(default_factory=dict)
    samples: list[SentSample] = field(default_factory=list)

    def bill(self) -> dict[str, Value]:
        """The attributes of the root span."""
        counters: dict[str, int] = {}
        targets: dict[tuple[str, str], list[int]] = {}
        statements: dict[str, list[int]] = {}
        covered_ns = 0
        for call in self.calls:
            own_ns = call.duration_ns if call.own_ns is None else call.own_ns
            covered_ns += own_ns
            said, prefix = call.attributes, f"walltime.{call.component}"
            result = said.get(f"walltime.{call.component.partition('.')[0]}.result")
            hits, keys = _found(str(result))
            counted = {
                "calls": 1,
                "time_ns": own_ns,
                "errors": int("error.type" in said),
                "rows": int(str(said.get("db.response.returned_rows", 0))),
                "hits": hits,
                "misses": keys - hits,
                "keys": keys,
            }
            for counter, number in counted.items():
                if number:
                    counters[f"{prefix}.{counter}"] = counters.get(f"{prefix}.{counter}", 0) + number
            counters[f"{prefix}.max_ns"] = max(counters.get(f"{prefix}.max_ns", 0), own_ns)
            if "server.address" in said:
                address = _address(str(said["server.address"]), said.get("server.port"))
                cell = targets.setdefault((call.component, address), [0] * 5)
                for at, counter in enumerate(("calls", "time_ns", "errors", "hits", "misses")):
                    cell[at] += counted[counter]
            if "db.query.text" in said:
                line = statements.setdefault(str(said["db.query.text"]), [0] * 3)
                for at, counter in enumerate(("calls", "time_ns", "errors")):
                    line[at] += counted[counter]
        bill: dict[str, Value] = {
            "walltime.schema": 1,
            "walltime.kept": self.kept,
            "walltime.sample_probability": 0.1,
            "walltime.covered_ns": min(covered_ns, self.duration_ns),
            **counters,
        }
        if targets:
            bill["walltime.target.component"] = [component for component, _ in targets]
            bill["walltime.target.address"] = [address for _, address in targets]
            for at, counter in enumerate(("calls", "time_ns", "errors", "hits", "misses")):
                bill[f"walltime.target.{counter}"] = [cell[at] for cell in targets.values()]
        if statements:
            bill["walltime.statement.text"] = list(statements)
            for at, counter in enumerate(("calls", "time_ns", "errors")):
                bill[f"walltime.statement.{counter}"] = [line[at] for line in statements.values()]
        if self.samples:
            bill["walltime.sample.interval_ns"] = SAMPLE_NS
            for column in (*SentSample.__dataclass_fields__, "time_ns"):
                bill[f"walltime.sample.{column}"] = [getattr(each, column) for each in self.samples]
        return {**bill, **self.attributes}


def export_request(transactions: Iterable[Sent]) -> bytes:
    """The body of one POST to /v1/traces."""
    by_resource: dict[tuple[str, str, str], list[Span]] = {}
    for sent in transactions:
        by_resource.setdefault((sent.service, sent.host, sent.version), []).extend(_spans(sent))
    request = ExportTraceServiceRequest()
    for (service, host, version), spans in by_resource.items():
        resource_spans = ResourceSpans(scope_spans=[ScopeSpans(spans=spans)])
        resource_spans.scope_spans[0].scope.name = "walltime"
        resource = {"service.name": service, "host.name": host, **({"service.version": version} if version else {})}
        resource_spans.resource.attributes.extend(pairs(resource))
        request.resource_spans.append(resource_spans)
    return request.SerializeToString()


def _spans(sent: Sent) -> Iterator[Span]:
    yield Span(
        trace_id=bytes.fromhex(sent.trace_id),
        span_id=bytes.fromhex(sent.span_id),
        parent_span_id=bytes.fromhex(sent.parent_span_id),
        name=sent.name,
        kind=Span.SPAN_KIND_SERVER,
        start_time_unix_nano=sent.started_ns,
        end_time_unix_nano=sent.started_ns + sent.duration_ns,
        attributes=pairs(sent.bill()),
        status=Status(code=Status.STATUS_CODE_ERROR if sent.is_error else Status.STATUS_CODE_UNSET),
    )
    for at, call in enumerate(sent.calls if sent.kept else []):
        said = call.attributes
        own_ns = call.duration_ns if call.own_ns is None else call.own_ns
        yield Span(
            trace_id=bytes.fromhex(sent.trace_id),
            span_id=(int(sent.span_id, 16) ^ (at + 1 << 40)).to_bytes(8, "big"),
            parent_span_id=bytes.fromhex(sent.span_id),
            name=str(said.get("db.operation.name", call.component)),
            kind=Span.SPAN_KIND_CLIENT,
            start_time_unix_nano=sent.started_ns + call.offset_ns,
            end_time_unix_nano=sent.started_ns + call.offset_ns + call.duration_ns,
            attributes=pairs({"walltime.component": call.component, "walltime.own_ns": own_ns, **said}),
            status=Status(code=Status.STATUS_CODE_ERROR if "error.type" in said else Status.STATUS_CODE_UNSET),
        )


class Shop:
    """Makes the shop's transactions, the same for the same seed."""

    def __init__(self, seed: int = 1) -> None:
        self._random, self._sampler = random.Random(seed), random.Random(seed)
        self.hit_ratios = {CACHES[0]: 0.95, CACHES[1]: 0.55}

    def visit(self, started_ns: int) -> list[Sent]:
        """One request from outside; a page that asks another service brings that one's transaction with it."""
        page = self._random.choices(
            (self.product, self.search, self.cart, self.checkout, self.recommended), weights=(60, 20, 10, 3, 15)
        )[0]
        return page(started_ns)

    def product(self, started_ns: int) -> list[Sent]:
        sent = self._sent("GET /product/{id}", started_ns)
        for part in ("product", "price", "stock", "reviews", "related", "seller"):
            self._cached(
                sent, f"{part}:#{self._random.getrandbits(32):08x}", f"SELECT * FROM {part} WHERE product_id = %s"
            )
        self._call(sent, "render", 1.4)
        return [self._finished(sent)]

    def search(self, started_ns: int) -> list[Sent]:
        sent = self._sent("GET /search", started_ns)
        self._query(sent, "SELECT id, title FROM product WHERE title LIKE %s ORDER BY sold DESC LIMIT 40", 38, rows=40)
        self._cached(sent, "facets:#19ab03de", "SELECT brand, count(*) FROM product WHERE title LIKE %s GROUP BY brand")
        self._call(sent, "render", 2.2)
        return [self._finished(sent)]

    def cart(self, started_ns: int) -> list[Sent]:
        sent = self._sent("POST /cart", started_ns)
        self._query(sent, "INSERT INTO cart_line (cart_id, product_id, amount) VALUES (%s, %s, %s)", 0.9, rows=1)
        self._call(sent, "mysql.commit", 1.1, **_at(DATABASE, "mysql"))
        self._call(
            sent, "memcache.delete", 0.2, **_at(CACHES[0], "memcached"), **{"walltime.memcache.result": "stored"}
        )
        return [self._finished(sent)]

    def checkout(self, started_ns: int) -> list[Sent]:
        sent = self._sent("POST /checkout", started_ns)
        self._query(sent, "SELECT * FROM cart_line WHERE cart_id = %s FOR UPDATE", 2.0, rows=3)
        payment: dict[str, Value] = {
            "http.request.method": "POST",
            "url.full": "https://pay.example/charge",
            "http.response.status_code": 200,
        }
        self._call(sent, "http.connect", 18, **_at("pay.example:443", ""))
        self._call(sent, "http.request", 140, **_at("pay.example:443", ""), **payment)
        self._query(sent, "UPDATE stock SET amount = amount - %s WHERE product_id = %s", 1.5, rows=1)
        self._call(sent, "mysql.commit", 2.8, **_at(DATABASE, "mysql"))
        if self._random.random() < 0.2:
            sent.calls[-2].attributes |= {"error.type": "OperationalError", "db.response.status_code": "1213"}
            sent.is_error = True
            sent.attributes |= {"error.type": "OperationalError", "http.response.status_code": 500}
        return [self._finished(sent)]

    def recommended(self, started_ns: int) -> list[Sent]:
        sent = self._sent("GET /recommendations", started_ns)
        self._cached(sent, "recommended:#77f0a1b2", "SELECT product_id FROM bought_together WHERE product_id = %s")
        ranker = self._sent("GET /rank", started_ns + sent.duration_ns + MS, service="ranker")
        ranker.trace_id, ranker.parent_span_id = sent.trace_id, sent.span_id
        ranker.kept = sent.kept and "upstream"
        self._query(ranker, "SELECT weight FROM model WHERE user_id = %s", 9, rows=1)
        self._call(ranker, "score", 6)
        self._finished(ranker)
        said: dict[str, Value] = {
            **_at("ranker.internal:80", ""),
            "http.request.method": "GET",
            "url.full": "http://ranker.internal/rank",
            "http.response.status_code": 200,
        }
        sent.calls.append(SentCall("http.request", sent.duration_ns, ranker.duration_ns + 2 * MS, said))
        sent.duration_ns += ranker.duration_ns + 3 * MS
        return [self._finished(sent), ranker]

    def _sent(self, name: str, started_ns: int, service: str = "shop") -> Sent:
        ids = self._random.getrandbits
        kept = "random" if self._random.random() < 0.1 else ""
        return Sent(
            f"{ids(128) | 1:032x}", f"{ids(64) | 1:016x}", name, started_ns, 300_000, service=service, kept=kept
        )

    def _call(self, sent: Sent, component: str, mean_ms: float, **said: Value) -> None:
        took_ns = int(self._random.lognormvariate(0, 0.5) * mean_ms * MS)
        sent.calls.append(SentCall(component, sent.duration_ns, took_ns, said))
        sent.duration_ns += took_ns + int(self._random.expovariate(1 / 150_000))

    def _query(self, sent: Sent, text: str, mean_ms: float, rows: int) -> None:
        if not any(call.component == "mysql.connect" for call in sent.calls):
            self._call(sent, "mysql.connect", 0.8, **_at(DATABASE, "mysql"))
        said: dict[str, Value] = {"db.query.text": text, "db.response.returned_rows": rows}
        self._call(sent, "mysql.query", mean_ms, **_at(DATABASE, "mysql"), **said)

    def _cached(self, sent: Sent, key: str, text: str) -> None:
        cache = self._random.choice(CACHES)
        is_hit = self._random.random() < self.hit_ratios[cache]
        said: dict[str, Value] = {**_at(cache, "memcached"), "walltime.memcache.key": key}
        self._call(sent, "memcache.get", 0.3, **said, **{"walltime.memcache.result": "hit" if is_hit else "miss"})
        if not is_hit:
            self._query(sent, text, 3.5, rows=12)
            self._call(sent, "memcache.set", 0.3, **said, **{"walltime.memcache.result": "stored"})

    def _finished(self, sent: Sent) -> Sent:
        outside_ns = sent.duration_ns - sum(call.duration_ns for call in sent.calls)
        if self._sampler.random() < outside_ns / SAMPLE_NS:
            sent.samples = [self._sampler.choice(SAMPLES)]
        cpu_ns = sent.duration_ns // 9
        method, _, route = sent.name.partition(" ")
        sent.attributes = {
            "http.request.method": method,
            "http.route": route,
            "http.response.status_code": 200,
            "walltime.queue_ns": self._random.randrange(200_000, 2 * MS),
            "walltime.cpu_user_ns": cpu_ns,
            "walltime.cpu_system_ns": cpu_ns // 6,
            **sent.attributes,
        }
        return sent


def _address(host: str, port: Value | None) -> str:
    """`host:port`, `[v6]:port` or the path of a socket."""
    return host if port is None else f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _found(result: str) -> tuple[int, int]:
    """Hits and keys of a lookup: `hit`, `miss`, or `3/5` of several keys."""
    hits, _, keys = result.partition("/")
    return (int(hits), int(keys)) if keys.isdigit() else (int(result == "hit"), int(result in ("hit", "miss")))


def _at(address: str, system: str) -> dict[str, Value]:
    host, _, port = address.rpartition(":")
    said: dict[str, Value] = {"server.address": host, "server.port": int(port)}
    return said | ({"db.system.name": system} if system else {})
