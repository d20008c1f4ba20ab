"""
OpenTelemetry's SDK of the application: its spans become calls on the bill, unsampled ones too; it works unchanged.

Not by a sampler and a span processor of ours: a tracer keeps the sampler it was made with, and a span that is recorded
for us alone would reach every processor of the application's (docs/decisions/013-other-instrumentations.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from opentelemetry.sdk.trace import Span, Tracer
from opentelemetry.trace import SpanKind, StatusCode

from walltime.clients.otel.bridge import Measured, begin, finish
from walltime.errors import contain
from walltime.instrumentation.patching import Patch

if TYPE_CHECKING:
    from collections.abc import Callable

REQUIRES: Final = "opentelemetry-sdk >= 1.45, < 2"


def patches() -> list[Patch]:
    return [Patch(Tracer, "start_span", _start_span), Patch(Span, "end", _end)]


def _start_span(original: Callable[..., Any]) -> Callable[..., Any]:
    def start_span(
        self: Any, name: str, context: Any = None, kind: SpanKind = SpanKind.INTERNAL, attributes: Any = None,
        *args: Any, **kwargs: Any,
    ) -> Any:  # fmt: skip
        span = original(self, name, context, kind, attributes, *args, **kwargs)
        try:
            seen = begin(kind, self._instrumentation_scope.name)
            if seen is None:
                return span
            if not span.is_recording():
                return Measured(span, seen, attributes)
            span._walltime = seen
        except Exception as ours:
            contain("bridge", ours)
        return span

    return start_span


def _end(original: Callable[..., Any]) -> Callable[..., Any]:
    def end(self: Any, end_time: int | None = None) -> Any:
        try:
            seen = getattr(self, "_walltime", None)
            if seen is not None:
                # Its mapping takes a lock for every look; the dict inside, where it has one, does not.
                attributes = getattr(self._attributes, "_dict", None)
                finish(seen, self.attributes if attributes is None else attributes, _failure(self))
        except Exception as ours:
            contain("bridge", ours)
        return original(self, end_time)

    return end


def _failure(span: Any) -> str | None:
    if span.status.status_code is not StatusCode.ERROR:
        return None
    error_type = span.attributes.get("error.type")
    for event in reversed(span.events):
        if error_type is None and event.name == "exception" and event.attributes is not None:
            error_type = event.attributes.get("exception.type")
    # The description of the status has the exception's message, which is not for us.
    return error_type.rpartition(".")[2][:40] if isinstance(error_type, str) else "ERROR"
