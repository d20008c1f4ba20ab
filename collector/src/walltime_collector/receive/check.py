"""Checks a request before it is stored, and counts its spans; no span becomes an object."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError
from google.protobuf.unknown_fields import UnknownFieldSet

from ..errors import RequestRefused
from ..spool.segment import Payload
from .messages import TRACES, Items, MergedRequest, SpanCounts, StrictRequest

MAX_MESSAGES = 50_000
_MAX_ITEMS = 1_000_000
_FEW_PARTS = 500_000
"""The parser takes 0.1 µs for each, during which no other thread runs."""
_SMALL_BYTES = 2 * _FEW_PARTS
_OTHER_FIELDS = 10_000
_MAX_UNKNOWN_BYTES = 512 * 1024
_TAGS = (b"\x0a", b"\x12", b"\x1a", b"\x22", b"\x4a")
_MAX_PARTS = 3_000_000
"""Bytes that can be tags of attributes, keys and values."""
_SIZES = {1: 8, 5: 4}
_TRACE_ROW, _SPAN_ROW = 18, 10  # a tag, a length, 16 bytes; a tag, a length, 8 bytes
_NO_TRACE, _NO_SPAN = b"\x0a\x10" + bytes(16), b"\x12\x08" + bytes(8)
_OLD_SPANS = ("ResourceSpans", 1000)
_WIRE_TYPES = ("a varint", "8 bytes", "a string or a message", "a group", "the end of a group", "4 bytes")


class Checked(NamedTuple):
    """
    The content of an ExportTraceServiceRequest.

    rejected    spans whose ids are not 16 and 8 bytes or are zeros; they stay in the payload, the views drop them
    has_nested  an attribute value has lists in lists; see nested_values.py
    payload     what to store: the request, or the same in its usual encoding; see usual()
    """

    spans: int
    rejected: int
    has_nested: bool = False
    payload: bytes = b""


def check_traces(payload: bytes, most_messages: int = MAX_MESSAGES, most_odd_bytes: int | None = None) -> Checked:
    """
    Count the spans, and write the request again if it has fields that are not known or numbers that are not defined.

    Args:
        most_odd_bytes: Of a payload that is written again, which can take a hundred times as long as a look at it.

    Raises:
        RequestRefused: 400 when the payload does not parse or a field has another type, 413 when it has too many parts.
    """
    _bound(payload, most_messages)
    try:
        merged = MergedRequest.FromString(payload)
        request = SpanCounts.FromString(payload)
    except DecodeError as error:
        raise _refusal(error, "ExportTraceServiceRequest") from error
    spans = _count(request, most_messages)
    merged_spans = merged.resource_spans.scope_spans.spans
    is_good = _are_good(merged_spans, spans)
    # sizes tell whether there are unknown fields, sooner than a look at each message; without the ids they are small
    merged_spans.ClearField("trace_id")
    merged_spans.ClearField("span_id")
    unknown_bytes = len(merged.SerializePartialToString())
    merged.DiscardUnknownFields()
    unknown_bytes -= len(merged.SerializePartialToString())
    if unknown_bytes:
        is_large = unknown_bytes > _MAX_UNKNOWN_BYTES and len(payload) > _SMALL_BYTES
        if is_large or (most_odd_bytes is not None and len(payload) > most_odd_bytes):
            raise RequestRefused(413, "too_large", "the body has too many unknown fields; send smaller batches")
        _check_unknown(MergedRequest.FromString(payload))
        bound_attributes(payload)
    rejected = 0 if is_good else _count_bad(request)
    return Checked(spans, rejected, not merged.IsInitialized(), bytes(usual(payload)) if unknown_bytes else payload)


def usual(payload: Payload) -> Payload:
    """
    The same ExportTraceServiceRequest in the usual encoding, which ClickHouse never refuses.

    protobuf allows more than ClickHouse reads: a number in ten bytes or too large for its type, two values for one.
    What does not parse, or has too many attributes, stays as it is.
    """
    try:
        bound_attributes(bytes(payload))
        request = StrictRequest.FromString(payload)
    except (DecodeError, RequestRefused):
        return payload
    request.DiscardUnknownFields()
    written: bytes = request.SerializeToString()
    return written if request.resource_spans else payload


def count_items(payload: bytes) -> int:
    """
    The number of metrics or log records in a request.

    Raises:
        RequestRefused: 400 when the payload does not parse, 413 when it has too many parts.
    """
    _bound(payload, _MAX_ITEMS)
    try:
        return len(Items.FromString(payload).resource.scope.items)
    except DecodeError as error:
        raise _refusal(error, "OTLP export request") from error


def _bound(payload: bytes, most: int) -> None:
    """
    Refuse what has too many messages, before the parser makes an object of each while all other threads wait.

    Their tags are among these bytes, which are counted sooner than the messages.
    """
    if len(payload) <= _SMALL_BYTES or sum(map(payload.count, (b"\x0a", b"\x12"))) <= _FEW_PARTS:
        return
    try:
        for count, _ in enumerate(_walk(payload, 0, len(payload), (1, 2, 2))):
            if count > most + _OTHER_FIELDS:
                raise _too_many(most)
    except IndexError:
        raise _not_traces("it ends early") from None


def bound_attributes(payload: bytes) -> None:
    """The same for a request of which every message becomes an object."""
    if len(payload) > _MAX_PARTS and sum(map(payload.count, _TAGS)) > _MAX_PARTS:
        what = "the body has odd or nested values and too many attributes; send smaller batches"
        raise RequestRefused(413, "too_large", what)


def _walk(payload: bytes, at: int, end: int, path: Sequence[int]) -> Iterator[None]:
    """Each field of a message, and of those within it along a path of numbers."""
    while at < end:
        yield
        tag, at = _varint(payload, at)
        size = _SIZES.get(tag & 7, 0)
        if tag & 7 in (0, 2):
            size, start = _varint(payload, at)
            size, at = (size, start) if tag & 7 == 2 else (0, start)
        elif not size:
            raise _not_traces("it has groups")
        if tag == (path[0] << 3 | 2) and len(path) > 1:
            yield from _walk(payload, at, min(at + size, end), path[1:])
        at += size


def _varint(payload: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while payload[at] > 0x7F and shift < 64:
        value |= (payload[at] & 0x7F) << shift
        shift += 7
        at += 1
    return value | payload[at] << shift, at + 1


def _not_traces(what: str) -> RequestRefused:
    return RequestRefused(400, "undecodable", f"the body is not an ExportTraceServiceRequest: {what}")


def _too_many(most: int) -> RequestRefused:
    return RequestRefused(413, "too_large", f"the body has more than {most} spans; send smaller batches")


def _refusal(error: DecodeError, message_type: str) -> RequestRefused:
    if "alloc failed" in str(error):  # upb has one error for wrong bytes and for missing memory
        return RequestRefused(503, "memory", "the collector has no memory for this now; send again later")
    return RequestRefused(400, "undecodable", f"the body is not an {message_type}")


def _check_unknown(merged: Any) -> None:
    """Refuse a known field of another wire type, and the spans of an old version, which would not be stored."""
    for path, descriptor, number, wire_type in _unknown(merged):
        message = TRACES.get(descriptor.name)
        known = message.DESCRIPTOR.fields_by_number.get(number) if message else None
        if known is not None and wire_type != _wire_type(known):
            raise _not_traces(f"{path}{known.name} is sent as {_WIRE_TYPES[wire_type]}")
        if (descriptor.name, number) == _OLD_SPANS:
            raise _not_traces(f"{path}instrumentation_library_spans is of OTLP before 0.16; send scope_spans")


def _unknown(message: Any, path: str = "") -> Iterator[tuple[str, Any, int, int]]:
    """The path, type, number and wire type of each unknown field in a message and in those within it."""
    unknown: Any = UnknownFieldSet(message)
    for each in unknown:
        yield path, message.DESCRIPTOR, each.field_number, each.wire_type
    for field, value in message.ListFields():
        if field.message_type is not None:
            yield from _unknown(value, f"{path}{field.name}.")


def _wire_type(field: FieldDescriptor) -> int:
    if field.cpp_type in (field.CPPTYPE_STRING, field.CPPTYPE_MESSAGE):
        return 2
    return 1 if field.type in (field.TYPE_FIXED64, field.TYPE_DOUBLE) else 0


def _count(request: Any, most_messages: int) -> int:
    messages = len(request.resource_spans)
    spans = 0
    # Each level is counted before it is read: a small body can hold a million empty messages.
    if messages <= most_messages:
        for resource_spans in request.resource_spans:
            messages += len(resource_spans.scope_spans)
            if messages > most_messages:
                break
            for scope_spans in resource_spans.scope_spans:
                spans += len(scope_spans.spans)
    if messages + spans > most_messages:
        raise _too_many(most_messages)
    return spans


def _are_good(merged: Any, spans: int) -> bool:
    """
    Whether all ids are usable, by columns of their bytes: a tenth of the cost of a look at each.

    The encoding of a merged Span begins with all trace ids, then all span ids. False for good ids costs only time.
    """
    if not len(merged.trace_id) == len(merged.span_id) == spans:
        return False
    border = _TRACE_ROW * spans
    rows: bytes = merged.SerializePartialToString()[: border + _SPAN_ROW * spans]
    return (
        rows[1:border:_TRACE_ROW] == b"\x10" * spans
        and rows[border + 1 :: _SPAN_ROW] == b"\x08" * spans
        and _NO_TRACE not in rows
        and _NO_SPAN not in rows
    )


def _count_bad(request: Any) -> int:
    return sum(
        len(span.trace_id) != 16 or len(span.span_id) != 8 or not any(span.trace_id) or not any(span.span_id)
        for resource_spans in request.resource_spans
        for scope_spans in resource_spans.scope_spans
        for span in scope_spans.spans
    )
