"""Opens the body of a request: decompress, read JSON, check, count. It waits for nothing, so any process can run it."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from ..errors import RequestRefused
from ..http.decompress import decompress
from .check import MAX_MESSAGES, check_traces, count_items
from .nested_values import write_nested_as_json
from .otlp_json import count_items_of_json, traces_from_json

_SOON_BYTES = 256 * 1024
_SOON_JSON_BYTES = 16 * 1024
"""Also of protobuf that is written again."""
_SOON_MESSAGES = 5_000


class Signal(Enum):
    """The data of a request; the value is its name in gRPC's services."""

    TRACES = "trace"
    METRICS = "metrics"
    LOGS = "logs"


class Head(NamedTuple):
    """The checked headers of a request; `encoding` is one of decompress.ENCODINGS."""

    signal: Signal
    encoding: bytes
    is_json: bool = False


class Decoded(NamedTuple):
    """
    The content of a body.

    payload   what to store; of metrics and logs nothing
    spans     all of them, or the number of metrics or log records
    rejected  spans that are not stored
    cut       nested values that became `null`
    """

    payload: bytes
    spans: int
    rejected: int = 0
    cut: int = 0


def decode(head: Head, body: bytes, max_bytes: int) -> Decoded:
    """
    The content of a body.

    Args:
        max_bytes: Of the decompressed body.

    Raises:
        RequestRefused: It cannot be stored.
    """
    return _opened(head, decompress(body, head.encoding, max_bytes), max_bytes)


def decode_soon(head: Head, body: bytes, max_bytes: int) -> Decoded | None:
    """The same within a few milliseconds; None for a body that takes longer, which its size on the wire hides."""
    most_bytes = min(_SOON_JSON_BYTES if head.is_json else _SOON_BYTES, max_bytes)
    if len(body) > most_bytes:
        return None
    try:
        content = decompress(body, head.encoding, most_bytes)
        return _opened(head, content, max_bytes, _SOON_MESSAGES, _SOON_JSON_BYTES)
    except RequestRefused as refusal:
        if refusal.status == 413:
            return None
        raise


def _opened(
    head: Head, content: bytes, max_bytes: int, most_messages: int = MAX_MESSAGES, most_odd_bytes: int | None = None
) -> Decoded:
    if head.signal is not Signal.TRACES:
        name = f"resource{head.signal.name.capitalize()}"
        return Decoded(b"", count_items_of_json(content, name) if head.is_json else count_items(content))
    spans, rejected, has_nested, payload = check_traces(
        traces_from_json(content) if head.is_json else content, most_messages, most_odd_bytes
    )
    cut = 0
    if has_nested:
        if most_odd_bytes is not None and len(payload) > most_odd_bytes:
            raise RequestRefused(413, "too_large", "nested values")
        payload, cut = write_nested_as_json(payload, max_bytes)
    return Decoded(payload, spans, rejected, cut)
