"""
Attribute values that hold lists in lists become JSON text before they are stored.

OTLP's AnyValue is recursive, ClickHouse's types are not: the database opens one level of arrays and key-value lists.
What is deeper is rare: only requests that have such a value come here (`Checked.has_nested`), the others stay as sent.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterable, Iterator
from typing import Any, Final

from google.protobuf.message import DecodeError

from ..errors import RequestRefused
from .messages import MAX_DEPTH, TRACES, TracesRequest

MAX_VALUES: Final = 100_000
"""Values of one request that are written as JSON; a body of 20 MiB could hold millions of them."""

_LISTS: Final = {"array_value": TRACES["Elements"], "kvlist_value": TRACES["Entries"]}


def write_nested_as_json(payload: bytes, max_bytes: int) -> tuple[bytes, int]:
    """
    Replace each value that holds lists in lists by its JSON text, as a string.

    Lists deeper than MAX_DEPTH, and values beyond MAX_VALUES, become `null`.

    Args:
        payload: An ExportTraceServiceRequest.
        max_bytes: JSON can be longer than what it stands for. When the request would become larger than this,
            it is left as it was, and the database stores its nested lists as `null`.

    Returns:
        The request, and how many values became `null`.

    Raises:
        RequestRefused: 400 when a nested value does not parse.
    """
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
        yield from _of(resource_spans.resource.attributes)
        for scope_spans in resource_spans.scope_spans:
            for span in scope_spans.spans:
                yield from _of(span.attributes)
                for event_or_link in (*span.events, *span.links):
                    yield from _of(event_or_link.attributes)


def _of(attributes: Iterable[Any]) -> Iterator[Any]:
    return (attribute.value for attribute in attributes)


def _is_nested(value: Any) -> bool:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return any(each.WhichOneof("value") in _LISTS for each in value.array_value.values)
    return kind == "kvlist_value" and any(
        each.value.WhichOneof("value") in _LISTS for each in value.kvlist_value.values
    )


class _Writer:
    """Writes values as JSON, in the form that schema/004 gives to lists of one level."""

    def __init__(self) -> None:
        self.cut = 0
        self._values = 0

    def text(self, value: Any, depth: int) -> str:
        """
        Args:
            depth: In how many lists the value is, itself included if it is one.
        """
        kind = value.WhichOneof("value")
        self._values += 1
        if kind in _LISTS and (depth > MAX_DEPTH or self._values > MAX_VALUES):
            self.cut += 1
            return "null"
        if kind == "array_value":
            return "[" + ",".join(self.text(each, depth + 1) for each in self._opened(value, kind)) + "]"
        if kind == "kvlist_value":
            entries = self._opened(value, kind)
            return "{" + ",".join(f"{_quoted(each.key)}:{self.text(each.value, depth + 1)}" for each in entries) + "}"
        return "null" if kind is None else _scalar(kind, getattr(value, kind))

    def _opened(self, value: Any, kind: str) -> Any:
        content = getattr(value, kind)
        return (_LISTS[kind].FromString(content) if isinstance(content, bytes) else content).values


def _scalar(kind: str, value: Any) -> str:
    if kind == "string_value":
        return _quoted(value)
    if kind == "bytes_value":
        return json.dumps(base64.b64encode(value).decode())
    if kind == "double_value":
        if not math.isfinite(value):
            return json.dumps(str(value))  # JSON has no number for it
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    return json.dumps(value)


def _quoted(text: bytes) -> str:
    return json.dumps(text.decode("utf-8", "replace"), ensure_ascii=False)
