"""OTLP spans as bytes: the fields of opentelemetry-proto `trace/v1/trace.proto` around encoded attributes."""

from __future__ import annotations

import struct
from typing import Final

from walltime import native
from walltime.export.protobuf import BYTES, block, text, varint
from walltime.redaction.cache import size_bounded_cache

INTERNAL, SERVER, CLIENT, CONSUMER = 1, 2, 3, 5
IS_REMOTE_KNOWN: Final = 0x100
IS_REMOTE: Final = 0x200
"""SpanFlags: whether the parent is in another process."""

ERROR: Final = b"\x7a\x02\x18\x02"
"""Span.status = 15, Status.code = 3: ERROR = 2"""
_SPAN: Final = b"\x12"
"""ScopeSpans.spans = 2"""
_FLAGS: Final = b"\x85\x01"
_TIMES: Final = struct.Struct("<BQBQ").pack
_LENGTHS: Final = [varint(length) for length in range(2048)]


def span(
    trace_id: bytes, span_id: bytes, parent: bytes, name: str, of_kind: int, started_at_ns: int, ended_at_ns: int,
    attributes: bytes, is_error: bool, flags: int, trace_state: str = "",
) -> bytes:  # fmt: skip
    """Return a span with its fields in the order of their numbers."""
    fields = (
        b"\x0a\x10", trace_id, b"\x12\x08", span_id, block(b"\x1a", text(trace_state)) if trace_state else b"",
        b"\x22\x08" if parent else b"", parent, named(name), kind(of_kind),
        _TIMES(0x39, started_at_ns, 0x41, ended_at_ns), attributes, ERROR if is_error else b"",
        _FLAGS, flags.to_bytes(4, "little"),
    )  # fmt: skip
    return block(_SPAN, b"".join(fields))


@native.faster
def child(shared: bytes, span_id: int, started_at_ns: int, ended_at_ns: int, about: bytes) -> bytes:
    """Return a span; `shared` and `about` are its other fields. A protobuf reader takes fields in any order."""
    body = shared + span_id.to_bytes(8, "big") + _TIMES(0x39, started_at_ns, 0x41, ended_at_ns) + about
    length = len(body)
    return _SPAN + (_LENGTHS[length] if length < len(_LENGTHS) else varint(length)) + body


class Children:
    """The spans of one parent: they share trace, parent and flags."""

    def __init__(self, trace_id: bytes, parent: bytes, flags: int) -> None:
        self._shared = b"".join((
            b"\x22\x08", parent, _FLAGS, flags.to_bytes(4, "little"), b"\x0a\x10", trace_id, b"\x12\x08",
        ))  # fmt: skip

    def span(self, span_id: int, started_at_ns: int, ended_at_ns: int, about: bytes) -> bytes:
        """`about`: the fields that the others do not share."""
        return child(self._shared, span_id, started_at_ns, ended_at_ns, about)


def kind(number: int) -> bytes:
    """Span.kind = 6"""
    return b"\x30" + BYTES[number]


@size_bounded_cache(max_chars=100_000)
def named(name: str) -> bytes:
    """Span.name = 5"""
    return block(b"\x2a", text(name))
