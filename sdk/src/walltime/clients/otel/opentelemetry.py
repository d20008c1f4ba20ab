"""OpenTelemetry's API without an SDK: spans of other instrumentations become calls on the bill."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from opentelemetry.trace import NoOpTracer, ProxyTracer, SpanKind, use_span

from walltime.clients.otel.bridge import Measured, begin
from walltime.errors import contain
from walltime.instrumentation.patching import Patch

if TYPE_CHECKING:
    from collections.abc import Callable

REQUIRES: Final = "opentelemetry-api >= 1.45, < 2"


def patches() -> list[Patch]:
    return [
        Patch(ProxyTracer, "start_span", _start_span),
        Patch(ProxyTracer, "start_as_current_span", _start_as_current_span),
    ]


def _measured(tracer: Any, context: Any, kind: SpanKind, attributes: Any) -> Measured | None:
    try:
        if not isinstance(tracer._tracer, NoOpTracer):
            return None
        seen = begin(kind, tracer._instrumenting_module_name)
        if seen is None:
            return None
        return Measured(tracer._noop_tracer.start_span("", context), seen, attributes)
    except Exception as ours:
        contain("bridge", ours)
        return None


def _start_span(original: Callable[..., Any]) -> Callable[..., Any]:
    def start_span(
        self: Any, name: str, context: Any = None, kind: SpanKind = SpanKind.INTERNAL, attributes: Any = None,
        *args: Any, **kwargs: Any,
    ) -> Any:  # fmt: skip
        span = _measured(self, context, kind, attributes)
        return original(self, name, context, kind, attributes, *args, **kwargs) if span is None else span

    return start_span


def _start_as_current_span(original: Callable[..., Any]) -> Callable[..., Any]:
    def start_as_current_span(
        self: Any, name: str, context: Any = None, kind: SpanKind = SpanKind.INTERNAL, attributes: Any = None,
        links: Any = None, start_time: int | None = None, record_exception: bool = True,
        set_status_on_exception: bool = True, end_on_exit: bool = True,
    ) -> Any:  # fmt: skip
        span = _measured(self, context, kind, attributes)
        if span is None:
            return original(
                self, name, context, kind, attributes, links, start_time, record_exception, set_status_on_exception,
                end_on_exit,
            )  # fmt: skip
        return use_span(span, end_on_exit, record_exception, set_status_on_exception)

    return start_as_current_span
