"""
OTLP's messages as the receiver looks at them: made at the start from the text that ClickHouse opens them with.

TracesRequest    what ClickHouse opens; lists in lists stay bytes, to be opened level by level
SpanCounts       how many spans there are, and their ids; nothing else is opened
MergedRequest    one message of each type, into which the parser merges all of them: so it checks the whole body and
                 makes no object for its parts. The ids become two lists. A list in a list leaves it not initialized
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any, Final

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

MAX_DEPTH: Final = 16
"""How many lists in lists of an attribute value are kept."""

_SPAN_COUNTS = """
syntax = "proto3";
message Span { bytes trace_id = 1; bytes span_id = 2; }
message ScopeSpans { repeated Span spans = 2; }
message ResourceSpans { repeated ScopeSpans scope_spans = 2; }
message Request { repeated ResourceSpans resource_spans = 1; }
"""

_ITEMS = """
syntax = "proto3";
// Metrics and logs are nested alike; their items are counted and not looked into.
message Scope { repeated bytes items = 2; }
message Resource { Scope scope = 2; }
message Request { Resource resource = 1; }
"""


def compile_messages(package: str, text: str, *changes: Callable[[FileDescriptorProto], None]) -> Mapping[str, Any]:
    """
    Message classes, by name, of the little of the .proto language that our schema is written in.

    Args:
        package: A name of its own for each text.
        changes: Made to the messages, in this order.
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
    for change in changes:
        change(file)
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


def _leave_nested_lists_as_bytes(file: FileDescriptorProto) -> None:
    """An element of a list may be a list: ClickHouse does not look at these two fields."""
    (element,) = (message for message in file.message_type if message.name == "Element")
    for name, number in (("array_value", 5), ("kvlist_value", 6)):
        _add_field(element, name, number, "bytes", False, True)


def _merge(file: FileDescriptorProto) -> None:
    """
    Nothing is repeated but the ids, and no field excludes another: the parser merges all messages of a type.

    A list in a list lacks a required field: one look, in C, says whether there is any.
    """
    file.syntax = "proto2"
    nested = file.message_type.add(name="NestedList")
    nested.field.add(name="never", number=1 << 28, type=FieldDescriptorProto.TYPE_BOOL)
    for message in file.message_type:
        message.ClearField("oneof_decl")
        for field in message.field:
            is_id = message.name == "Span" and field.name in {"trace_id", "span_id"}
            field.ClearField("oneof_index")
            field.label = FieldDescriptorProto.LABEL_REPEATED if is_id else FieldDescriptorProto.LABEL_OPTIONAL
            if message.name == "Element" and field.name in {"array_value", "kvlist_value"}:
                field.type, field.type_name = FieldDescriptorProto.TYPE_MESSAGE, f".{file.package}.NestedList"
    nested.field[0].label = FieldDescriptorProto.LABEL_REQUIRED


SCHEMA = files("walltime_collector.clickhouse").joinpath("schema/otlp_traces.proto").read_text("utf-8")
TRACES = compile_messages("walltime.traces", SCHEMA, _leave_nested_lists_as_bytes)
TracesRequest = TRACES["Request"]
SpanCounts = compile_messages("walltime.span_counts", _SPAN_COUNTS)["Request"]
MergedRequest = compile_messages("walltime.merged", SCHEMA, _leave_nested_lists_as_bytes, _merge)["Request"]
Items = compile_messages("walltime.items", _ITEMS)["Request"]
