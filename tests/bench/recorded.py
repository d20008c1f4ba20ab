"""What really arrived at the sink; a subject that records too little is not fast but broken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.bench.subjects import Subject
from tests.bench.workload import CALLS

_DATABASES: Final = {"mysql": "sql", "memcached": "memcache"}
_COUNTS: Final = {
    "walltime.mysql.query.calls": "sql",
    "walltime.memcache.get.calls": "memcache",
    "walltime.http.request.calls": "http",
}


class NotRecorded(Exception):
    """A subject did not record or send what it claims; its numbers would mean nothing."""


@dataclass
class Recorded:
    """Some requests, and their calls by client: as spans of their own, and as counts on bills."""

    requests: int = 0
    spans: Counter[str] = field(default_factory=Counter)
    counted: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, exported: Iterable[ExportTraceServiceRequest]) -> Recorded:
        recorded = cls()
        for request in exported:
            for resource_spans in request.resource_spans:
                for scope_spans in resource_spans.scope_spans:
                    for span in scope_spans.spans:
                        recorded._add_span(span)
        return recorded

    def _add_span(self, span: Span) -> None:
        if span.kind == Span.SPAN_KIND_SERVER:
            self.requests += 1
            for attribute in span.attributes:
                if attribute.key in _COUNTS:
                    self.counted[_COUNTS[attribute.key]] += attribute.value.int_value
        elif span.kind == Span.SPAN_KIND_CLIENT:
            # db.system is the older name, which OpenTelemetry's instrumentations use by default.
            system = [a.value.string_value for a in span.attributes if a.key in {"db.system.name", "db.system"}]
            self.spans[_DATABASES[system[0]] if system else "http"] += 1

    def add(self, other: Recorded) -> None:
        self.requests += other.requests
        self.spans += other.spans
        self.counted += other.counted


def check(subject: Subject, recorded: Recorded, requests: int, probability: float) -> None:
    """
    Compare with what `requests` requests must leave when detail is kept for this share of them.

    Of a share between none and all, how many it hits is chance; those that are there must be whole.

    Raises:
        NotRecorded: it is something else.
    """
    detailed = requests * int(probability) if probability in {0, 1} else recorded.spans["http"] // CALLS["http"]
    expected = Recorded(
        requests if subject.bills else detailed,
        _calls(detailed),
        _calls(requests if subject.bills else 0),
    )
    if recorded != expected:
        raise NotRecorded(f"{subject.name}: {requests} requests left {recorded}; it should be {expected}")


def check_wires(subject: Subject, sent: dict[str, str], trace_id: str) -> None:
    """
    Look whether the trace id went along with SQL and HTTP.

    Raises:
        NotRecorded: it did not.
    """
    if subject.probability and f"traceparent: 00-{trace_id}" not in sent["http"]:
        raise NotRecorded(f"{subject.name}: no traceparent in the HTTP request {sent['http']!r}")
    if subject.comments and f"traceparent='00-{trace_id}" not in sent["mysql"]:
        raise NotRecorded(f"{subject.name}: no comment in the statement {sent['mysql']!r}")


def _calls(requests: int) -> Counter[str]:
    return Counter({client: count * requests for client, count in CALLS.items()})
