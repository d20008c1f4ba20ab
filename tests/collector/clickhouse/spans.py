"""OTLP spans for the tests of the schema, and what is stored of them."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterable, Mapping
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue, KeyValueList
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.spool.segment import Record

tokens = itertools.count()


def any_value(value: object) -> AnyValue:
    if isinstance(value, AnyValue):
        return value
    if value is None:
        return AnyValue()
    if isinstance(value, bool):
        return AnyValue(bool_value=value)
    if isinstance(value, int):
        return AnyValue(int_value=value)
    if isinstance(value, float):
        return AnyValue(double_value=value)
    if isinstance(value, str):
        return AnyValue(string_value=value)
    if isinstance(value, bytes):
        return AnyValue(bytes_value=value)
    if isinstance(value, Mapping):
        return AnyValue(kvlist_value=KeyValueList(values=pairs(value)))
    assert isinstance(value, Iterable)
    return AnyValue(array_value=ArrayValue(values=[any_value(each) for each in value]))


def pairs(attributes: Mapping[str, object]) -> list[KeyValue]:
    return [KeyValue(key=key, value=any_value(value)) for key, value in attributes.items()]


def span(attributes: Mapping[str, object] | None = None, **fields: Any) -> Span:
    now_ns = time.time_ns()
    made: dict[str, Any] = {
        "trace_id": os.urandom(16),
        "span_id": os.urandom(8),
        "name": "GET /product/{id}",
        "kind": Span.SPAN_KIND_SERVER,
        "start_time_unix_nano": now_ns - 5_000_000,
        "end_time_unix_nano": now_ns,
    }
    return Span(attributes=pairs(attributes or {}), **{**made, **fields})


def request(*spans: Span, resource: Mapping[str, object] | None = None) -> ExportTraceServiceRequest:
    scope_spans = ScopeSpans(spans=spans)
    scope_spans.scope.name, scope_spans.scope.version = "walltime", "0.1.0"
    whole = ResourceSpans(scope_spans=[scope_spans])
    whole.resource.attributes.extend(pairs(resource or {"service.name": "shop"}))
    return ExportTraceServiceRequest(resource_spans=[whole])


def store(engine: Engine, *requests: ExportTraceServiceRequest, token: str = "", received_at_ns: int = 0) -> None:
    records = [Record(received_at_ns or time.time_ns(), 0, each.SerializeToString()) for each in requests]
    engine.insert(records, token or f"schema-{next(tokens)}")


def rows(engine: Engine, table: str, one: Span) -> list[dict[str, Any]]:
    wanted = {"id": one.trace_id.hex()}
    if table == "transactions":
        return engine.query("SELECT *, other_ns FROM transactions WHERE trace_id = unhex({id:String})", wanted)
    return engine.query("SELECT *, own_ns FROM spans WHERE trace_id = unhex({id:String})", wanted)
