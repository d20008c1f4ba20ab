"""OTLP fields that are written by hand, and counts of what the collector accepted."""

from __future__ import annotations

import json
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
)
from walltime_collector.varint import varint

from tests.servers import Collector


def as_json(sent: ExportTraceServiceRequest) -> bytes:
    def spans(sent: ExportTraceServiceRequest) -> list[dict[str, Any]]:
        return [
            {"traceId": each.trace_id.hex(), "spanId": each.span_id.hex(), "name": each.name, "kind": int(each.kind)}
            | {"startTimeUnixNano": str(each.start_time_unix_nano), "endTimeUnixNano": str(each.end_time_unix_nano)}
            for each in sent.resource_spans[0].scope_spans[0].spans
        ]

    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans(sent)}]}]}).encode()


def field(number: int, content: bytes) -> bytes:
    """A field of bytes in protobuf."""
    return bytes([number << 3 | 2]) + varint(len(content)) + content


class Counted:
    """The receiver's counters, as what was added since the last look."""

    def __init__(self, receiver: Collector) -> None:
        self._receiver = receiver
        self._before = self._now()

    def added(self) -> dict[str, int]:
        now, before = self._now(), self._before
        self._before = now
        return {name: now[name] - before.get(name, 0) for name in now if now[name] != before.get(name, 0)}

    def _now(self) -> dict[str, int]:
        report = self._receiver.health()
        counts = {
            name: count for name, count in report["counts"].items() if name.startswith(("refused_", "not_stored_"))
        }
        return {name: report["spans"][name] for name in ("received", "rejected")} | counts
