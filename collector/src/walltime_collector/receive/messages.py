"""
The protobuf messages of the receiver, from descriptors that `make descriptors` compiles (messages.binpb).

TracesRequest    what ClickHouse opens (clickhouse/schema/otlp_traces.proto); lists in lists stay bytes, to be opened
                 level by level
StrictRequest    the same, with the fields of OTLP that ClickHouse skips, to write odd requests again
MergedRequest    one message of each type, into which the parser merges all of them: it checks the whole body and makes
                 no object for its parts. The ids become two lists. A list in a list leaves it not initialized. What
                 ClickHouse may refuse is an unknown field: another wire type, or a number that is not defined
others           see messages.proto
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Any, Final

from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet
from google.protobuf.message_factory import GetMessages

MAX_DEPTH: Final = 16
"""How many lists in lists of an attribute value are kept."""
DESCRIPTORS: Final = files(__package__) / "messages.binpb"
_LISTS = {"array_value": 5, "kvlist_value": 6}
_BYTES, _VARINT = FieldDescriptorProto.TYPE_BYTES, FieldDescriptorProto.TYPE_UINT64
_FIXED, _DOUBLE = FieldDescriptorProto.TYPE_FIXED32, FieldDescriptorProto.TYPE_DOUBLE
_SKIPPED: Final = {
    "ResourceSpans": {3: _BYTES},
    "Resource": {2: _VARINT, 3: _BYTES},
    "ScopeSpans": {3: _BYTES},
    "Scope": {4: _VARINT},
    "Number": {1: _BYTES, 2: _VARINT, 4: _DOUBLE, 5: _BYTES, 6: _BYTES, 7: _BYTES},
    "Span": {10: _VARINT, 12: _VARINT, 14: _VARINT, 16: _FIXED},
    "Event": {4: _VARINT},
    "Link": {5: _VARINT, 6: _FIXED},
}
"""OTLP's fields that ClickHouse skips, such as schema_url, counts of what was dropped, and flags."""
_ENUMS: Final = {"kind": 6, "code": 3, "bool_value": 2}
"""How many numbers are defined, from 0: of others, ClickHouse refuses some."""


def _strings_as_bytes(file: FileDescriptorProto) -> None:
    """One string that is not UTF-8 would cost the whole request; ClickHouse stores it as it came."""
    for message in file.message_type:
        for field in message.field:
            if field.type == FieldDescriptorProto.TYPE_STRING:
                field.type = FieldDescriptorProto.TYPE_BYTES


def _nested_lists_as_bytes(file: FileDescriptorProto) -> None:
    """An element of a list may be a list: ClickHouse does not look at these two fields."""
    (element,) = (message for message in file.message_type if message.name == "Element")
    for name, number in _LISTS.items():
        element.field.add(
            name=name,
            number=number,
            type=FieldDescriptorProto.TYPE_BYTES,
            label=FieldDescriptorProto.LABEL_OPTIONAL,
            oneof_index=0,
        )


def _strict(traces: FileDescriptorProto) -> FileDescriptorProto:
    """In proto2, which writes a zero again that was sent."""
    file = FileDescriptorProto()
    file.CopyFrom(traces)
    file.syntax = "proto2"
    for message in file.message_type:
        for number, kind in _SKIPPED.get(message.name, {}).items():
            message.field.add(
                name=f"skipped_{number}", number=number, type=kind, label=FieldDescriptorProto.LABEL_OPTIONAL
            )
    return file


def _merged(strict: FileDescriptorProto) -> FileDescriptorProto:
    """
    Nothing is repeated but the ids, and no field excludes another: the parser merges all messages of a type.

    A list in a list lacks a required field, so that one check in C detects any.
    """
    file = FileDescriptorProto()
    file.CopyFrom(strict)
    for name, count in _ENUMS.items():
        enum = file.enum_type.add(name=name)
        for number in range(count):
            enum.value.add(name=f"{name}_{number}", number=number)
    nested = file.message_type.add(name="NestedList")
    for message in file.message_type:
        message.ClearField("oneof_decl")
        for field in message.field:
            is_id = message.name == "Span" and field.name in {"trace_id", "span_id"}
            field.ClearField("oneof_index")
            field.label = FieldDescriptorProto.LABEL_REPEATED if is_id else FieldDescriptorProto.LABEL_OPTIONAL
            if field.name in _ENUMS:
                field.type, field.type_name = FieldDescriptorProto.TYPE_ENUM, f".{field.name}"
            if message.name == "Element" and field.name in _LISTS:
                field.type, field.type_name = FieldDescriptorProto.TYPE_MESSAGE, ".NestedList"
    nested.field.add(name="values", number=1, type=_BYTES, label=FieldDescriptorProto.LABEL_OPTIONAL)
    nested.field.add(
        name="never", number=1 << 28, type=FieldDescriptorProto.TYPE_BOOL, label=FieldDescriptorProto.LABEL_REQUIRED
    )
    return file


def _load() -> tuple[Mapping[str, Any], ...]:
    traces, others = FileDescriptorSet.FromString(DESCRIPTORS.read_bytes()).file
    _strings_as_bytes(traces)
    _nested_lists_as_bytes(traces)
    strict = _strict(traces)
    return GetMessages([traces]), GetMessages([strict]), GetMessages([_merged(strict)]), GetMessages([others])


TRACES, _STRICT, _MERGED, _OTHERS = _load()
TracesRequest = TRACES["Request"]
StrictRequest = _STRICT["Request"]
MergedRequest = _MERGED["Request"]
SpanCounts, Items, ExportResponse, RpcStatus, Detail, HealthCheckRequest, HealthCheckResponse, HealthListResponse = (
    _OTHERS.values()
)
