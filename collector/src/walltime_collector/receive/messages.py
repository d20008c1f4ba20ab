"""OTLP's messages as the receiver looks at them: made at the start from the text that ClickHouse opens them with."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

_PART = re.compile(r"message (\w+) \{|oneof (\w+) \{|(repeated )?(\w+) (\w+) = (\d+);|(\})")
# A string is taken as bytes: one that is not UTF-8 would cost the whole request, and ClickHouse stores it as it came.
_TYPES = {
    "string": FieldDescriptorProto.TYPE_BYTES,
    "bytes": FieldDescriptorProto.TYPE_BYTES,
    "bool": FieldDescriptorProto.TYPE_BOOL,
    "int32": FieldDescriptorProto.TYPE_INT32,
    "int64": FieldDescriptorProto.TYPE_INT64,
    "fixed64": FieldDescriptorProto.TYPE_FIXED64,
    "double": FieldDescriptorProto.TYPE_DOUBLE,
}

_ALL_SPANS_IN_ONE = """
syntax = "proto3";
// No message is repeated, so the parser merges all of a kind into one: two lists of ids, however the spans are nested.
message Spans { repeated bytes trace_id = 1; repeated bytes span_id = 2; }
message ScopeSpans { Spans spans = 2; }
message ResourceSpans { ScopeSpans scope_spans = 2; }
message Request { ResourceSpans resource_spans = 1; }
"""

_ITEMS = """
syntax = "proto3";
// Metrics and logs are nested alike; their items are counted and not looked into.
message Scope { repeated bytes items = 2; }
message Resource { Scope scope = 2; }
message Request { Resource resource = 1; }
"""


def compile_messages(package: str, text: str) -> Mapping[str, Any]:
    """
    Message classes, by name, of the little of the .proto language that our schema is written in.

    Args:
        package: A name of its own for each text.
    """
    file = FileDescriptorProto(name=f"{package}.proto", package=package, syntax="proto3")
    message, is_in_oneof = DescriptorProto(), False
    for found in _PART.finditer(re.sub(r"//[^\n]*", "", text)):
        name, oneof, repeated, kind, field, number, end = found.groups()
        if name:
            message = file.message_type.add(name=name)
        elif oneof:
            message.oneof_decl.add(name=oneof)
            is_in_oneof = True
        elif end:
            is_in_oneof = False
        else:
            _add_field(message, field, int(number), f".{package}.{kind}", bool(repeated), is_in_oneof)
    pool = DescriptorPool()
    pool.Add(file)
    return {
        each.name: GetMessageClass(pool.FindMessageTypeByName(f"{package}.{each.name}")) for each in file.message_type
    }


def _add_field(
    message: DescriptorProto, name: str, number: int, kind: str, is_repeated: bool, is_in_oneof: bool
) -> None:
    field = message.field.add(name=name, number=number)
    field.label = FieldDescriptorProto.LABEL_REPEATED if is_repeated else FieldDescriptorProto.LABEL_OPTIONAL
    scalar = _TYPES.get(kind.rpartition(".")[2])
    field.type = scalar or FieldDescriptorProto.TYPE_MESSAGE
    if scalar is None:
        field.type_name = kind
    if is_in_oneof:
        field.oneof_index = 0


SCHEMA = files("walltime_collector").joinpath("schema/otlp_traces.proto").read_text("utf-8")
TRACES = compile_messages("walltime.traces", SCHEMA)
TracesRequest = TRACES["Request"]
SpanIds = compile_messages("walltime.span_ids", _ALL_SPANS_IN_ONE)["Request"]
Items = compile_messages("walltime.items", _ITEMS)["Request"]
