"""
The request's place in the trace: the caller's span context in, ours into OpenTelemetry's context, out with HTTP calls.

OpenTelemetry's API and propagators do the work (OTEL_PROPAGATORS applies), so that log correlation and other
instrumentations see the transaction as the current span.
"""

from __future__ import annotations

import random
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from opentelemetry import baggage, propagate, trace
from opentelemetry import context as otel_context
from opentelemetry.propagators.composite import CompositePropagator
from opentelemetry.propagators.textmap import Getter
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags
from opentelemetry.trace.span import TraceState

from walltime import w3c

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from opentelemetry.context import Context
    from opentelemetry.propagators.textmap import TextMapPropagator

    from walltime.hotpath import Transaction

# Our own generator: an application that seeds `random` must not make its request ids repeat.
_ids = random.Random()
reseed = _ids.seed
"""What a forked child does, so that its ids are not its parent's."""

_LOW_64_BITS: Final = (1 << 64) - 1
_RANDOM: Final = 0x02
_SAMPLED: Final = 0x01
_FLAGS: Final = tuple(TraceFlags(flags) for flags in range(4))
_NO_STATE: Final = TraceState()


class _EnvironGetter(Getter["Mapping[str, Any]"]):
    """Reads headers from a WSGI environ."""

    def get(self, carrier: Mapping[str, Any], key: str) -> list[str] | None:
        value = carrier.get(_environ_key(key))
        return None if value is None else [value]

    def keys(self, carrier: Mapping[str, Any]) -> list[str]:
        return [key[5:].replace("_", "-").lower() for key in carrier if key.startswith("HTTP_")]


@lru_cache(maxsize=256)
def _environ_key(header: str) -> str:
    return "HTTP_" + header.upper().replace("-", "_")


_getter = _EnvironGetter()


def extract(environ: Mapping[str, Any]) -> Context | None:
    """Return OpenTelemetry's context as the caller's headers say it, or None when they say nothing."""
    propagator = propagate.get_global_textmap()
    if _is_w3c(propagator):
        return w3c.extract(environ)
    for header in propagator.fields:
        if _environ_key(header) in environ:
            return propagator.extract(environ, getter=_getter)
    return None


def is_sampled(trace_id: int, probability: float) -> bool:
    """
    Say whether the trace is in the fair sample; every service with the same probability says the same.

    The rule is OpenTelemetry's TraceIdRatioBased: the low 64 bits below probability × 2^64.
    """
    return (trace_id & _LOW_64_BITS) < _bound(probability)


@lru_cache(maxsize=8)
def _bound(probability: float) -> int:
    return round(probability * (_LOW_64_BITS + 1))


def new_span_id() -> int:
    return _ids.getrandbits(64) or 1


def caller(base: Context | None) -> SpanContext | None:
    """Return the span a transaction is to be the child of: the given context's, by default the current one's."""
    if base is None:
        base = otel_context.get_current()
    if not base:  # nothing is set, as for most requests
        return None
    span_context = trace.get_current_span(base).get_span_context()
    return span_context if span_context.is_valid else None


def own_span_context(parent: SpanContext | None, probability: float) -> SpanContext:
    """
    Return the transaction's span context: in the caller's trace, or the first of a new one.

    The sampled flag is set when detail is certain to be kept: the caller's was, or the trace is in the fair sample.
    A trace that begins here has a random id and says so; a continued one keeps the caller's random bit.
    """
    if parent is not None and parent.is_valid:
        flags = parent.trace_flags & (_RANDOM | _SAMPLED)
        if not flags & _SAMPLED and is_sampled(parent.trace_id, probability):
            flags |= _SAMPLED
        return SpanContext(parent.trace_id, new_span_id(), False, _FLAGS[flags], parent.trace_state)
    trace_id = _ids.getrandbits(128) or 1
    flags = _RANDOM | _SAMPLED if is_sampled(trace_id, probability) else _RANDOM
    return SpanContext(trace_id, new_span_id(), False, _FLAGS[flags], _NO_STATE)


def mark_sampled(transaction: Transaction) -> None:
    """Say to whom it calls from here on that the trace is sampled: its own detail was asked for."""
    known = transaction.span_context
    if not known.trace_flags & _SAMPLED:
        flags = _FLAGS[known.trace_flags & _RANDOM | _SAMPLED]
        transaction.span_context = SpanContext(known.trace_id, known.span_id, False, flags, known.trace_state)
        transaction.sql_comment = None
        transaction.outgoing = None


def enter(span_context: SpanContext, base: Context | None) -> object:
    """
    Make the transaction OpenTelemetry's current span; return what `leave` takes.

    Where the application has set up OpenTelemetry for itself, only what the caller's headers say goes there: a sampler
    that follows the parent would take our 1 % for its decision, and its spans would name one its backend never sees.
    """
    if getattr(trace, "_TRACER_PROVIDER", None) is not None:  # `get_tracer_provider` reads the environment: 0.5 µs
        return None if base is None else otel_context.attach(base)
    span = NonRecordingSpan(span_context)
    return otel_context.attach(trace.set_span_in_context(span, base))


def leave(token: object) -> None:
    if token is not None:
        otel_context.detach(token)  # type: ignore[arg-type]  # the API hides its token's type


def outgoing_headers(transaction: Transaction) -> list[tuple[str, str]]:
    """
    Return the headers that tell the next service where it is in the trace.

    They name the transaction's own span, which is always exported, so the next service's parent is always found.
    Built once for a transaction, and again when the application changes OpenTelemetry's context (baggage).
    """
    context = otel_context.get_current()
    if transaction.outgoing is None or transaction.outgoing_context is not context:
        transaction.outgoing = _headers(transaction.span_context, context)
        transaction.outgoing_context = context
    return transaction.outgoing


def _headers(ours: SpanContext, context: Context) -> list[tuple[str, str]]:
    propagator = propagate.get_global_textmap()
    if _is_w3c(propagator) and not ours.trace_state and not baggage.get_all(context):
        # What OpenTelemetry's own would write, for a tenth of its 5 µs.
        return [("traceparent", f"00-{ours.trace_id:032x}-{ours.span_id:016x}-{ours.trace_flags:02x}")]
    carrier: dict[str, str] = {}
    propagator.inject(carrier, trace.set_span_in_context(NonRecordingSpan(ours), context))
    return list(carrier.items())


@lru_cache(maxsize=2)
def _is_w3c(propagator: TextMapPropagator) -> bool:
    """Whether this is what OTEL_PROPAGATORS says by default, `tracecontext,baggage`."""
    return type(propagator) is CompositePropagator and propagator.fields == {"traceparent", "tracestate", "baggage"}
