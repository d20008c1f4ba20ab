"""
One OTLP span as bytes: the fields of opentelemetry-proto `trace/v1/trace.proto` around attributes that are encoded.
"""

from __future__ import annotations

from typing import Final

from walltime.export.protobuf import BYTES, block, text

INTERNAL, SERVER, CLIENT, CONSUMER = 1, 2, 3, 5
IS_REMOTE_KNOWN: Final = 0x100
IS_REMOTE: Final = 0x200
"""SpanFlags: whether the parent is in another process."""


def span(
    trace_id: bytes,
    span_id: bytes,
    parent: bytes,
    name: str,
    kind: int,
    started_at_ns: int,
    ended_at_ns: int,
    attributes: bytes,
    is_error: bool,
    flags: int,
    trace_state: str = "",
) -> bytes:
    """ScopeSpans.spans = 2, with the Span's fields in order of their numbers."""
    head = b"\x0a\x10" + trace_id + b"\x12\x08" + span_id
    if trace_state:
        head += block(b"\x1a", text(trace_state))
    if parent:
        head += b"\x22\x08" + parent
    return block(
        b"\x12",
        head
        + block(b"\x2a", text(name))
        + b"\x30" + BYTES[kind]
        + b"\x39" + started_at_ns.to_bytes(8, "little")
        + b"\x41" + ended_at_ns.to_bytes(8, "little")
        + attributes
        + (b"\x7a\x02\x18\x02" if is_error else b"")  # Status.code = 3: ERROR = 2
        + b"\x85\x01" + flags.to_bytes(4, "little"),
    )  # fmt: skip
