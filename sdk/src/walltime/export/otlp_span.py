"""One OTLP span as bytes: the fields of opentelemetry-proto `trace/v1/trace.proto` around encoded attributes."""

from __future__ import annotations

import struct
from typing import Final

from walltime.export.protobuf import BYTES, block, text
from walltime.redaction.cache import size_bounded_cache

INTERNAL, SERVER, CLIENT, CONSUMER = 1, 2, 3, 5
IS_REMOTE_KNOWN: Final = 0x100
IS_REMOTE: Final = 0x200
"""SpanFlags: whether the parent is in another process."""


def span(
    trace_id: bytes, span_id: bytes, parent: bytes, name: str, kind: int, started_at_ns: int, ended_at_ns: int,
    attributes: bytes, is_error: bool, flags: int, trace_state: str = "",
) -> bytes:  # fmt: skip
    """ScopeSpans.spans = 2, with the Span's fields in order of their numbers."""
    fields = (
        b"\x0a\x10", trace_id, b"\x12\x08", span_id, block(b"\x1a", text(trace_state)) if trace_state else b"",
        b"\x22\x08" if parent else b"", parent, _name(name), b"\x30", BYTES[kind],
        _TIMES(0x39, started_at_ns, 0x41, ended_at_ns), attributes, _ERROR if is_error else b"",
        b"\x85\x01", flags.to_bytes(4, "little"),
    )  # fmt: skip
    return block(b"\x12", b"".join(fields))


_TIMES: Final = struct.Struct("<BQBQ").pack
_ERROR: Final = b"\x7a\x02\x18\x02"
"""Status.code = 3: ERROR = 2"""


@size_bounded_cache(max_chars=100_000)
def _name(name: str) -> bytes:
    return block(b"\x2a", text(name))
