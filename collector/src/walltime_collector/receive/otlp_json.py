"""
Converts OTLP/JSON to protobuf.

protobuf's own json_format costs four times as much, reads ids as base64, and does not name the position of an error.
"""

from __future__ import annotations

import base64
import binascii
import functools
import re
from collections.abc import Callable, Mapping
from functools import partial
from json.decoder import JSONArray, JSONDecoder, JSONObject  # type: ignore[attr-defined]
from json.scanner import make_scanner
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from ..errors import RequestRefused
from ..format import quoted
from ..varint import varint
from .messages import MAX_DEPTH, TRACES, TracesRequest

_MAX_PARTS = 1_000_000
"""Objects, lists and values of one body: a body of 20 MiB could hold ten million, each a hundred times its size."""
_INTEGER = re.compile(r"-?[0-9]{1,20}")
_IDS = frozenset({"trace_id", "span_id", "parent_span_id"})
_PATHS = {"resourceSpans": "traces", "resourceMetrics": "metrics", "resourceLogs": "logs"}
_PARTS = {"resource_spans": 1, "scope_spans": 2, "spans": 2}
_OLD_SCOPES = {f"instrumentationLibrary{kind}": f"scope{kind}" for kind in ("Spans", "Metrics", "Logs")}
"""The names before OTLP 0.16."""
_NESTED_LISTS = {"array_value": TRACES["Elements"], "kvlist_value": TRACES["Entries"]}

_Reader = Callable[[Any], Any]


class _WrongValue(Exception):
    """A value does not fit its field. `path` grows while the error passes through the objects around the value."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.path = ""


def traces_from_json(body: bytes) -> bytes:
    """
    The ExportTraceServiceRequest of a JSON body. Ids are hex; unknown fields are ignored, as OTLP requires.

    An id that is not hex becomes empty, so that only its span is rejected.

    Raises:
        RequestRefused: 400 when it is not JSON or a value has the wrong type, 413 when it has too many parts.
    """
    document = _load(body)
    _check_signal(document, "resourceSpans")
    try:
        return _read_parts(TracesRequest, document)
    except _WrongValue as error:
        message = f"the JSON is not OTLP: {error.path or 'it'} {error}"
        raise RequestRefused(400, "undecodable", message) from error


def count_items_of_json(body: bytes, name: str = "") -> int:
    """
    The number of metrics or log records in a JSON body.

    Args:
        name: The field that the body must have, if any: `resourceMetrics`, `resourceLogs`.

    Raises:
        RequestRefused: 400 when it is not JSON or of another signal, 413 when it has too many parts.
    """
    document = _load(body)
    if name:
        _check_signal(document, name)
    count = 0
    for kind, items in (("Metrics", "metrics"), ("Logs", "logRecords")):
        for resource in _list(document, f"resource{kind}"):
            scopes = (*_list(resource, f"scope{kind}"), *_list(resource, f"instrumentationLibrary{kind}"))
            count += sum(len(_list(scope, items)) for scope in scopes)
    return count


def _check_signal(document: Any, name: str) -> None:
    """Refuse a body of another signal: nothing of it would be read, and its sender would take it for stored."""
    if type(document) is not dict:
        raise RequestRefused(400, "undecodable", "the JSON is not OTLP: it is not an object")
    known = {_camel(key) for key in document}
    for other in _PATHS.keys() - {name}:
        if other in known:
            raise RequestRefused(400, "other_signal", f"the body has {other}; send it to /v1/{_PATHS[other]}")
    if known and name not in known:
        raise RequestRefused(400, "undecodable", f"the JSON is not OTLP: it has no {name}, but {quoted(min(known))}")


def _load(body: bytes) -> Any:
    if body.count(b",") + body.count(b"{") + body.count(b"[") > _MAX_PARTS:
        raise RequestRefused(413, "too_large", f"the JSON has more than {_MAX_PARTS} parts; send smaller batches")
    try:
        text = body.decode("utf-8", "replace").strip(" \t\r\n")
        value, end = _SCAN(text, 0) if text else ({}, 0)
    except (ValueError, RecursionError, StopIteration) as error:  # also numbers of 5,000 digits
        raise _not_json() from error
    if end != len(text):
        raise _not_json()
    return value


def _not_json() -> RequestRefused:
    return RequestRefused(400, "undecodable", "the body is not JSON, or is nested too deeply")


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _scanner(depth: int) -> Any:
    """Reads a value; so many levels in Python, between whose parts other threads run, and the rest in C."""
    decoder: Any = JSONDecoder(parse_constant=_refuse_constant)
    in_c: Any = make_scanner(decoder)
    if not depth:
        return in_c
    inner = _scanner(depth - 1)

    def scan(text: str, at: int) -> Any:
        first = text[at : at + 1]
        if first == "[":
            return JSONArray((text, at + 1), inner)
        if first == "{":
            return JSONObject((text, at + 1), True, inner, None, None, {})
        return in_c(text, at)

    return scan


_SCAN = _scanner(6)
"""Down to a span: objects and lists of resources, of scopes and of spans."""


def _camel(name: str) -> str:
    """protobuf's JSON has both: resource_spans, resourceSpans."""
    first, *others = name.split("_")
    return first + "".join(each[:1].upper() + each[1:] for each in others)


def _list(value: Any, key: str) -> list[Any]:
    content = next((value[each] for each in value if _camel(each) == key), None) if isinstance(value, dict) else None
    return content if isinstance(content, list) else []


def _read_message(fields: Mapping[str, tuple[str, _Reader]], value: Any) -> dict[str, Any]:
    if type(value) is not dict:
        raise _WrongValue("is not an object")
    message: dict[str, Any] = {}
    for key, content in value.items():
        if key not in fields and (new := _OLD_SCOPES.get(_camel(key))):
            raise _WrongValue(f"has {key}, the name before OTLP 0.16; send {new}")
        if key in fields and content is not None:
            name, read = fields[key]
            try:
                message[name] = read(content)
            except _WrongValue as error:
                error.path = f".{key}{error.path}"
                raise
    return message


def _read_parts(message: Any, value: Any) -> bytes:
    """An encoded message. Its _PARTS are encoded one by one, between which other threads run."""
    content = _read_message(_fields(message.DESCRIPTOR), value)
    parts = [
        varint(number << 3 | 2) + varint(len(part)) + part
        for name, number in _PARTS.items()
        for part in content.pop(name, ())
    ]
    return b"".join([message(**content).SerializeToString(), *parts])


def _read_list(read: _Reader, value: Any) -> list[Any]:
    if type(value) is not list:
        raise _WrongValue("is not a list")
    items: list[Any] = []
    try:
        for each in value:
            items.append(read(each))
    except _WrongValue as error:
        error.path = f"[{len(items)}]{error.path}"
        raise
    return items


def _read_text(value: Any) -> bytes:
    if type(value) is not str:
        raise _WrongValue("is not a string")
    return value.encode("utf-8", "replace")  # half a surrogate pair cannot be encoded


def _read_id(value: Any) -> bytes:
    try:
        return bytes.fromhex(_read_text(value).decode())
    except ValueError:
        return b""


def _read_base64(value: Any) -> bytes:
    try:
        return base64.b64decode(_read_text(value), validate=True)
    except (binascii.Error, ValueError):
        raise _WrongValue("is not base64") from None


def _read_bool(value: Any) -> bool:
    if type(value) is not bool:
        raise _WrongValue("is not true or false")
    return value


def _read_double(value: Any) -> float:
    try:
        if type(value) in (int, float, str):
            return float(value)
    except (ValueError, OverflowError):
        pass
    raise _WrongValue("is not a number")


def _read_integer(least: int, most: int, value: Any) -> int:
    if (type(value) is str and _INTEGER.fullmatch(value)) or (type(value) is float and value.is_integer()):
        value = int(value)
    if type(value) is not int or not least <= value <= most:
        raise _WrongValue(f"is not an integer between {least} and {most}")
    return value


def _read_nested_list(message: Any, depth: int, value: Any) -> bytes:
    """A list in so many lists. A list deeper than MAX_DEPTH is not read: nested_values.py would cut it."""
    if depth > MAX_DEPTH:
        return b""
    content: bytes = message(**_read_message(_fields(message.DESCRIPTOR, depth), value)).SerializeToString()
    return content


_SCALARS: Mapping[int, _Reader] = {
    FieldDescriptor.TYPE_BYTES: _read_text,
    FieldDescriptor.TYPE_BOOL: _read_bool,
    FieldDescriptor.TYPE_DOUBLE: _read_double,
    FieldDescriptor.TYPE_INT32: partial(_read_integer, -(2**31), 2**31 - 1),
    FieldDescriptor.TYPE_INT64: partial(_read_integer, -(2**63), 2**63 - 1),
    FieldDescriptor.TYPE_FIXED64: partial(_read_integer, 0, 2**64 - 1),
}


def _reader(field: FieldDescriptor, depth: int) -> _Reader:
    if field.message_type is not None:
        if field.name in _PARTS:
            return partial(_read_parts, TRACES[field.message_type.name])
        return partial(_read_message, _fields(field.message_type, depth))
    if field.name in _NESTED_LISTS:
        return partial(_read_nested_list, _NESTED_LISTS[field.name], depth + 1)
    if field.name == "bytes_value":
        return _read_base64
    return _read_id if field.name in _IDS else _SCALARS[field.type]


@functools.cache
def _fields(message: Descriptor, depth: int = 1) -> Mapping[str, tuple[str, _Reader]]:
    """The fields by both names that protobuf's JSON has for them; `depth`: of the lists around a value in here."""
    fields = {}
    for field in message.fields:
        read = _reader(field, depth)
        entry = field.name, partial(_read_list, read) if field.is_repeated else read
        if field.name != "received_at_ns":  # only the loader sets it
            fields[field.json_name] = fields[field.name] = entry
    return fields
