"""OTLP requests in protobuf, as the SDK sends them (docs/wire.md): of the canary of `doctor` and of the demo."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, InstrumentationScope, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span

Value: TypeAlias = "str | int | float | Sequence[str] | Sequence[int]"


def export_request(resource: Mapping[str, Value], spans: Iterable[Span]) -> bytes:
    """The body of one request, with the spans of one process."""
    scope_spans = ScopeSpans(scope=InstrumentationScope(name="walltime"), spans=spans)
    sent = ResourceSpans(scope_spans=[scope_spans])
    sent.resource.attributes.extend(pairs(resource))
    return ExportTraceServiceRequest(resource_spans=[sent]).SerializeToString()


def pairs(attributes: Mapping[str, Value]) -> list[KeyValue]:
    """Attributes."""
    return [KeyValue(key=key, value=_value(value)) for key, value in attributes.items()]


def _value(value: Value) -> AnyValue:
    if isinstance(value, str):
        return AnyValue(string_value=value)
    if isinstance(value, int):
        return AnyValue(int_value=value)
    if isinstance(value, float):
        return AnyValue(double_value=value)
    return AnyValue(array_value=ArrayValue(values=map(_value, value)))
