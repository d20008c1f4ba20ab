"""A transaction's place in its trace, and the random numbers. https://www.w3.org/TR/trace-context/"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from opentelemetry.trace import TraceState

generator = Random()
"""All our random numbers. The application may have seeded the one of the module `random`, and expects its numbers."""
reseed = generator.seed
"""A forked child calls this, so that its numbers differ from its parent's."""


class Ids(NamedTuple):
    """The contents of OpenTelemetry's SpanContext, for a quarter of its cost."""

    trace_id: int
    span_id: int
    trace_flags: int = 0
    trace_state: TraceState | None = None
    """None when it is empty."""
