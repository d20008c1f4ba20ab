"""
Replaces attribute values that are lists in lists by JSON text.

OTLP's AnyValue is recursive, ClickHouse's types are not: the database opens one level of arrays and key-value lists.
Deeper values are rare. Only requests that have one come here (`Checked.has_nested`); others are stored as sent.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterator
from typing import Any, Final

from google.protobuf.message import DecodeError

from ..errors import RequestRefused
from .check import bound_attributes
from .messages import MAX_DEPTH, TRACES, TracesRequest

MAX_VALUES: Final = 100_000
"""Per request; a body of 20 MiB could hold millions."""

_LISTS: Final = {"array_value": TRACES["Elements"], "kvlist_value": TRACES["Entries"]}


def write_nested_as_json(payload: bytes, max_bytes: int) -> tuple[bytes, int]:
    """
    Replace each value that is a list of lists by its JSON text, as a string.

    Lists deeper than MAX_DEPTH, and values beyond MAX_VALUES, become `null`.

    Args:
        payload: An ExportTraceServiceRequest.
        max_bytes: JSON can be longer than protobuf. A request that would become larger than this stays unchanged,
            and the database stores its nested lists as `null`.

    Returns:
        The request, and the number of values that became `null`.

    Raises:
        RequestRefused: 400 when a nested value does not parse, 413 when the request has too many attributes.
    """
    bound_attributes(payload)
    writer = _Writer()
    request = TracesRequest.FromString(payload)
    nested = 0
    try:
        for value in _values(request):
            if _is_nested(value):
                nested += 1
                value.string_value = writer.text(value, 1).encode("utf-8", "replace")
    except DecodeError as error:
        raise RequestRefused(400, "undecodable", "an attribute's nested value is not an AnyValue") from error
    if request.ByteSize() > max_bytes:
        return payload, nested
    return request.SerializeToString(), writer.cut


def _values(request: Any) -> Iterator[Any]:
    for resource_spans in request.resource_spans:
        spans = [span for scope_spans in resource_spans.scope_spans for span in scope_spans.spans]
        of_spans = (owner for span in spans for owner in (span, *span.events, *span.links))
        for owner in (resource_spans.resource, *of_spans):
            yield from (attribute.value for attribute in owner.attributes)


def _is_nested(value: Any) -> bool:
    value_type = value.WhichOneof("value")
    if value_type == "array_value":
        return any(each.WhichOneof("value") in _LISTS for each in value.array_value.values)
    return value_type == "kvlist_value" and any(
        each.value.WhichOneof("value") in _LISTS for each in value.kvlist_value.values
    )


class _Writer:
    """Writes values as JSON, as schema/004 writes lists of one level."""

    def __init__(self) -> None:
        self.cut = 0
        self._values = 0

    def text(self, value: Any, depth: int) -> str:
        """
        Args:
            depth: Of the lists around the value, itself included if it is one.
        """
        value_type = value.WhichOneof("value")
        self._values += 1
        if value_type in _LISTS and (depth > MAX_DEPTH or self._values > MAX_VALUES):
            self.cut += 1
            return "null"
        if value_type == "array_value":
            return "[" + ",".join(self.text(each, depth + 1) for each in self._opened(value, value_type)) + "]"
        if value_type == "kvlist_value":
            entries = self._opened(value, value_type)
            return "{" + ",".join(f"{_quoted(each.key)}:{self.text(each.value, depth + 1)}" for each in entries) + "}"
        return "null" if value_type is None else _scalar(value_type, getattr(value, value_type))

    def _opened(self, value: Any, value_type: str) -> Any:
        content = getattr(value, value_type)
        return (_LISTS[value_type].FromString(content) if isinstance(content, bytes) else content).values


def _scalar(value_type: str, value: Any) -> str:
    if value_type == "string_value":
        return _quoted(value)
    if value_type == "bytes_value":
        return json.dumps(base64.b64encode(value).decode())
    if value_type == "double_value":
        if not math.isfinite(value):
            return json.dumps(str(value))  # JSON has no number for it
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    return json.dumps(value)


def _quoted(text: bytes) -> str:
    return json.dumps(text.decode("utf-8", "replace"), ensure_ascii=False)
