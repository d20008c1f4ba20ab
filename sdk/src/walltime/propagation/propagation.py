"""
Trace context: read from the request's headers, set as OpenTelemetry's current span, sent with HTTP calls.

OpenTelemetry's API and propagators do the work (OTEL_PROPAGATORS applies), so log correlation and other
instrumentations see the transaction as the current span.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from opentelemetry import baggage, trace
from opentelemetry.context import Context
from opentelemetry.propagators.composite import CompositePropagator
from opentelemetry.propagators.textmap import Getter
from opentelemetry.trace import NonRecordingSpan, Span, SpanContext, TraceFlags

from walltime.core.execution import current, hand_out, inherited
from walltime.core.ids import Ids, generator
from walltime.propagation.context import attach, detach, get_current
from walltime.propagation.propagators import get_global_textmap

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from opentelemetry.propagators.textmap import TextMapPropagator

    from walltime.core.transaction import Transaction

_LOW_64_BITS: Final = (1 << 64) - 1
_RANDOM: Final = 0x02
_SAMPLED: Final = 0x01
_FLAGS: Final = tuple(TraceFlags(flags) for flags in range(4))
_SPAN: Final = next(iter(trace.set_span_in_context(trace.INVALID_SPAN, Context())))
"""The context's key of the span. `set_span_in_context` would copy the context twice."""
_ONLY_SPAN: Final = frozenset({_SPAN})

MAX_HEADER_CHARS: Final = 8192
"""A longer `tracestate` or `baggage` is cut at a comma; W3C requires no more."""
MAX_MEMBERS: Final = 180
"""Members of `baggage` that W3C requires; OpenTelemetry drops a `tracestate` with more than 32."""
_MEMBERS: Final = {
    # https://www.w3.org/TR/trace-context/#tracestate-header and https://www.w3.org/TR/baggage/#definition
    "tracestate": re.compile(r"(?:[a-z0-9][_0-9a-z\-*/@]*=[\x20-\x2b\x2d-\x3c\x3e-\x7e]+)?"),
    "baggage": re.compile(r"[!#-'*+\-.0-9A-Z^-z|~]+[ \t]*=[ \t!#-+\--\[\]-~]*"),
}
"""Syntax of a member of these headers. Others are left out: OpenTelemetry would log a warning for each, and the client
controls their number."""


class _EnvironGetter(Getter["Mapping[str, Any]"]):
    """Reads headers from a WSGI environ."""

    def get(self, carrier: Mapping[str, Any], key: str) -> list[str] | None:
        value = carrier.get(_environ_key(key))
        if not isinstance(value, str) or "\n" in value or (len(value) > MAX_HEADER_CHARS and key not in _MEMBERS):
            return None
        member = _MEMBERS.get(key)
        return [value] if member is None else _well_formed(value, member, is_whole=key == "tracestate")

    def keys(self, carrier: Mapping[str, Any]) -> list[str]:
        return [key[5:].replace("_", "-").lower() for key in carrier if key.startswith("HTTP_")]


def _well_formed(header: str, member: re.Pattern[str], *, is_whole: bool) -> list[str] | None:
    """Return the well-formed members. With `is_whole`, one malformed member makes it None."""
    if len(header) > MAX_HEADER_CHARS:
        header = header[:MAX_HEADER_CHARS].rpartition(",")[0]
    members = header.split(",")
    kept = [each for each in members if member.fullmatch(each.strip(" \t"))]
    return None if not kept or (is_whole and len(kept) < len(members)) else [",".join(kept[:MAX_MEMBERS])]


@lru_cache(maxsize=256)
def _environ_key(header: str) -> str:
    return "HTTP_" + header.upper().replace("-", "_")


_getter = _EnvironGetter()


def extract(environ: Mapping[str, Any]) -> Context | None:
    """Return OpenTelemetry's context from the caller's headers, or None without any."""
    return get_global_textmap().extract(environ, Context(), _getter) or None


def is_sampled(trace_id: int, probability: float) -> bool:
    """
    Say whether the trace is in the fair sample; services with the same probability decide alike.

    The rule is OpenTelemetry's TraceIdRatioBased: the low 64 bits below probability × 2^64.
    """
    return (trace_id & _LOW_64_BITS) < _bound(probability)


@lru_cache(maxsize=8)
def _bound(probability: float) -> int:
    return round(probability * (_LOW_64_BITS + 1))


def caller(base: Context | None) -> SpanContext | None:
    """Return the parent span of a new transaction: that of the given context, by default of the current one."""
    around = get_current() if base is None else base
    if not around:  # empty, as for most requests
        return None
    span = trace.get_current_span(around)
    span_context = span.get_span_context()
    if not span_context.is_valid or (base is None and not span_context.is_remote and _is_left_over(span)):
        return None
    return span_context


def _is_left_over(span: Span) -> bool:
    """Return whether it is of a transaction that has ended: what began in it still has its context."""
    return not span.is_recording() and inherited() is not None and current() is None


def own_ids(parent: SpanContext | None, probability: float) -> Ids:
    """
    Return the ids of a new transaction, in the caller's trace or in a new one.

    The sampled flag is set when the caller's is, or when the trace is in the fair sample: then its calls will be kept.
    A new trace has a random id and the random flag; a continued trace keeps the caller's random flag.
    """
    if parent is not None and parent.is_valid:
        flags = parent.trace_flags & (_RANDOM | _SAMPLED)
        if not flags & _SAMPLED and is_sampled(parent.trace_id, probability):
            flags |= _SAMPLED
        return Ids(parent.trace_id, generator.getrandbits(64) or 1, flags, parent.trace_state or None)
    number = generator.getrandbits(192)  # for both ids
    trace_id = number >> 64 or 1
    flags = _RANDOM | _SAMPLED if (trace_id & _LOW_64_BITS) < _bound(probability) else _RANDOM  # `is_sampled`
    # The same as `Ids(…)`, without a Python function call.
    return tuple.__new__(Ids, (trace_id, number & _LOW_64_BITS or 1, flags, None))


class _Current(NonRecordingSpan):
    """The transaction as OpenTelemetry's current span, until it ends. Its span context is made on demand."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._of: Ids | None = None

    def get_span_context(self) -> SpanContext:
        if self._transaction.is_over:
            return trace.INVALID_SPAN_CONTEXT
        ids = self._transaction.ids
        if self._of is not ids:
            self._of, self._context = ids, span_context(ids)
        return self._context

    def __repr__(self) -> str:
        return f"NonRecordingSpan({self.get_span_context()!r})"


class _Caller(_Current):
    """The transaction's caller as the current span, until the transaction ends."""

    def __init__(self, transaction: Transaction, of: SpanContext) -> None:
        super().__init__(transaction)
        self._caller = of

    def get_span_context(self) -> SpanContext:
        return trace.INVALID_SPAN_CONTEXT if self._transaction.is_over else self._caller


class _Lent(Context):
    """
    A context of OpenTelemetry that a transaction attaches. It ends with the transaction: who still has it then, has
    what was current before.
    """

    __slots__ = ("before",)
    before: Context | None
    """None after its end: the contexts that a thread was left with would be a chain."""
    __hash__ = object.__hash__  # type: ignore[assignment]  # a dict has none

    def end(self) -> None:
        before, self.before = self.before, None
        if before is not None:
            _clear(self)
            dict.update(self, before)


_NOTHING: Final = Context()
_clear, _put = dict.clear, dict.__setitem__  # its own methods refuse


def span_context(ids: Ids) -> SpanContext:
    return SpanContext(ids.trace_id, ids.span_id, False, _FLAGS[ids.trace_flags], ids.trace_state)


def enter(transaction: Transaction, base: Context | None) -> object:
    """
    Make the transaction OpenTelemetry's current span; return the token for `leave`.

    When the application has set up OpenTelemetry itself, only the caller's context is attached. Otherwise a
    parent-based sampler would take our 1 % as its decision, and its spans would have a parent that its backend never
    receives.
    """
    around = get_current()
    if getattr(trace, "_TRACER_PROVIDER", None) is None:  # `get_tracer_provider` reads the environment: 0.5 µs
        span: Span = _Current(transaction)
    elif base is None:
        return None
    else:
        span = _Caller(transaction, trace.get_current_span(base).get_span_context())
    if transaction.lent is not None:  # it goes on, somewhere else
        hand_out(transaction, transaction.lent)
    transaction.lent = lent = _Lent(around if base is None else base)
    lent.before = around
    _put(lent, _SPAN, span)
    return attach(lent)


def lend(transaction: Transaction) -> Context:
    """Return OpenTelemetry's current context for another thread or greenlet, until the transaction ends."""
    context = get_current()
    if context is not transaction.lent:
        context = lent = _Lent(context)
        lent.before = _NOTHING
        hand_out(transaction, lent)
    return context


def leave(transaction: Transaction, token: object) -> None:
    if token is not None:
        detach(token)
    transaction.outgoing_context = None  # a reference cycle with the transaction


def forget() -> None:
    """Clear the current span in a forked child: the transaction belongs to its parent."""
    attach(trace.set_span_in_context(trace.INVALID_SPAN))


def outgoing_headers(transaction: Transaction) -> list[tuple[str, str]]:
    """
    Return the trace headers for a call to the next service.

    They name the transaction's own span, which is always exported, so the parent of the next service always exists.
    They are built once per transaction, and again when the application changes OpenTelemetry's context (baggage).
    """
    context = get_current()
    if transaction.outgoing is None or transaction.outgoing_context is not context:
        transaction.outgoing = _headers(transaction, context)
        transaction.outgoing_context = context
        transaction.outgoing_lines = None
    return transaction.outgoing


def _headers(transaction: Transaction, context: Context) -> list[tuple[str, str]]:
    if transaction.is_over:
        return []
    propagator = get_global_textmap()
    has_baggage = not context.keys() <= _ONLY_SPAN and bool(baggage.get_all(context))
    if _is_w3c(propagator) and transaction.ids.trace_state is None and not has_baggage:
        # The same as OpenTelemetry's propagator writes, in a tenth of its 5 µs.
        return [("traceparent", transaction.traceparent)]
    carrier: dict[str, str] = {}
    ours = NonRecordingSpan(span_context(transaction.ids))
    propagator.inject(carrier, trace.set_span_in_context(ours, context))
    return list(carrier.items())


@lru_cache(maxsize=2)
def _is_w3c(propagator: TextMapPropagator) -> bool:
    """Say whether this is the default of OTEL_PROPAGATORS, `tracecontext,baggage`."""
    return type(propagator) is CompositePropagator and propagator.fields == {"traceparent", "tracestate", "baggage"}
