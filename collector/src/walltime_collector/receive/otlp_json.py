"""OTLP/JSON becomes the protobuf that everything behind the receiver knows."""

from __future__ import annotations

import base64
import binascii
import functools
import json
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from ..errors import RequestRefused
from .messages import MAX_DEPTH, TRACES, TracesRequest

_MAX_PARTS = 1_000_000
"""Objects, lists and values of one body: a body of 20 MiB could hold ten million, each a hundred times its size."""
_WRITTEN = re.compile(r"-?[0-9]{1,20}")
_IDS = frozenset({"trace_id", "span_id", "parent_span_id"})
_NOT_OF_SENDERS = frozenset({"received_at_ns"})
_NESTED_LISTS = {"array_value": TRACES["Elements"], "kvlist_value": TRACES["Entries"]}


class _Wrong(Exception):
    """A value is not what its field takes; the path to it grows on the way out."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what, self.path = what, ""

    def under(self, step: str) -> _Wrong:
        self.path = step + self.path
        return self


class _Field(NamedTuple):
    name: str
    is_repeated: bool
    read: Callable[[Any], Any]


_Fields = Mapping[str, _Field]


def traces_from_json(body: bytes) -> bytes:
    """
    The ExportTraceServiceRequest that a JSON body says. Ids are hex; unknown fields are ignored, as OTLP asks.

    An id that is not hex is left empty, so that its span alone is rejected.

    Raises:
        RequestRefused: 400 when it is not JSON or a value has the wrong type, 413 when it has too many parts.
    """
    try:
        read = _read_message(_REQUEST, _load(body))
        payload: bytes = TracesRequest(**read).SerializeToString()
    except _Wrong as wrong:
        raise RequestRefused(400, "undecodable", f"the JSON is not OTLP: {wrong.path or 'it'} {wrong.what}") from wrong
    return payload


def count_items_of_json(body: bytes) -> int:
    """
    How many metrics or log records a JSON body of that kind carries.

    Raises:
        RequestRefused: 400 when it is not JSON, 413 when it has too many parts.
    """
    document = _load(body)
    resources = [*_list(document, "resourceMetrics"), *_list(document, "resourceLogs")]
    scopes = [scope for each in resources for scope in (*_list(each, "scopeMetrics"), *_list(each, "scopeLogs"))]
    return sum(len(_list(scope, "metrics")) + len(_list(scope, "logRecords")) for scope in scopes)


def _load(body: bytes) -> Any:
    if body.count(b",") + body.count(b"{") + body.count(b"[") > _MAX_PARTS:
        raise RequestRefused(413, "too_large", f"the JSON has more than {_MAX_PARTS} parts; send smaller batches")
    try:
        return json.loads(body.decode("utf-8", "replace"), parse_constant=_refuse_constant) if body else {}
    except (ValueError, RecursionError) as error:  # numbers of 5,000 digits, lists in lists in lists …
        raise RequestRefused(400, "undecodable", "the body is not JSON, or is nested too deeply") from error


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _list(value: Any, key: str) -> list[Any]:
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, list) else []


def _read_message(fields: _Fields, value: Any) -> dict[str, Any]:
    if type(value) is not dict:
        raise _Wrong("is not an object")
    read: dict[str, Any] = {}
    for key, content in value.items():
        field = fields.get(key)
        if field is None or content is None:
            continue
        try:
            read[field.name] = _read_list(field.read, content) if field.is_repeated else field.read(content)
        except _Wrong as wrong:
            raise wrong.under(f".{key}") from None
    return read


def _read_list(read: Callable[[Any], Any], value: Any) -> list[Any]:
    if type(value) is not list:
        raise _Wrong("is not a list")
    made = []
    for at, each in enumerate(value):
        try:
            made.append(read(each))
        except _Wrong as wrong:
            raise wrong.under(f"[{at}]") from None
    return made


def _text(value: Any) -> bytes:
    if type(value) is not str:
        raise _Wrong("is not a string")
    return value.encode("utf-8", "replace")  # half a surrogate pair is all that cannot be encoded


def _id(value: Any) -> bytes:
    try:
        return bytes.fromhex(_text(value).decode())
    except ValueError:
        return b""


def _base64(value: Any) -> bytes:
    try:
        return base64.b64decode(_text(value), validate=True)
    except (binascii.Error, ValueError):
        raise _Wrong("is not base64") from None


def _bool(value: Any) -> bool:
    if type(value) is not bool:
        raise _Wrong("is not true or false")
    return value


def _double(value: Any) -> float:
    if type(value) not in (int, float, str):
        raise _Wrong("is not a number")
    try:
        return float(value)
    except (ValueError, OverflowError):
        raise _Wrong("is not a number") from None


def _integer(least: int, most: int) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        is_written = type(value) is str and _WRITTEN.fullmatch(value)
        if is_written or (type(value) is float and value.is_integer()):
            value = int(value)
        if type(value) is not int or not least <= value <= most:
            raise _Wrong(f"is not an integer between {least} and {most}")
        return value

    return read


def _nested_list(message: Any, depth: int) -> Callable[[Any], bytes]:
    """A list in so many lists. One list deeper than MAX_DEPTH is not looked into: nested_values.py cuts it."""

    def read(value: Any) -> bytes:
        if depth > MAX_DEPTH:
            return b""
        fields = _fields_of_nested(message.DESCRIPTOR, depth)
        content: bytes = message(**_read_message(fields, value)).SerializeToString()
        return content

    return read


@functools.cache
def _fields_of_nested(message: Descriptor, depth: int) -> _Fields:
    return _fields(message, depth)


def _reader(field: FieldDescriptor, depth: int) -> Callable[[Any], Any]:
    if field.message_type is not None:
        fields = _fields(field.message_type, depth)
        return lambda value: _read_message(fields, value)
    if field.name in _NESTED_LISTS:
        return _nested_list(_NESTED_LISTS[field.name], depth + 1)
    if field.name == "bytes_value":
        return _base64
    if field.name in _IDS:
        return _id
    return {
        FieldDescriptor.TYPE_BYTES: _text,
        FieldDescriptor.TYPE_BOOL: _bool,
        FieldDescriptor.TYPE_DOUBLE: _double,
        FieldDescriptor.TYPE_INT32: _integer(-(2**31), 2**31 - 1),
        FieldDescriptor.TYPE_INT64: _integer(-(2**63), 2**63 - 1),
        FieldDescriptor.TYPE_FIXED64: _integer(0, 2**64 - 1),
    }[field.type]


def _fields(message: Descriptor, depth: int = 1) -> _Fields:
    """
    By both names that protobuf's JSON has for a field: OTLP's senders use the first, lowerCamelCase.

    Args:
        depth: In how many lists a value in this message is.
    """
    made = {}
    for field in message.fields:
        if field.name not in _NOT_OF_SENDERS:
            made[field.json_name] = made[field.name] = _Field(field.name, field.is_repeated, _reader(field, depth))
    return made


_REQUEST = _fields(TracesRequest.DESCRIPTOR)
