"""A transaction's place in its trace. https://www.w3.org/TR/trace-context/"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from opentelemetry.trace import TraceState


class Ids(NamedTuple):
    """The contents of OpenTelemetry's SpanContext, for a quarter of its cost."""

    trace_id: int
    span_id: int
    trace_flags: int = 0
    trace_state: TraceState | None = None
    """None when it is empty."""
