"""
Bills calls that OpenTelemetry's instrumentations measure: psycopg, elasticsearch, boto, kafka, gRPC and more.

A span of kind CLIENT or PRODUCER that ends inside a transaction becomes a call of it: `postgresql.query`,
`s3.PutObject`, `kafka.publish`. What the application exports itself stays as it is.

    start_span ─► begin ─► the span ─► finish ─► execution.record
                           theirs, when it records; else one of ours, which forgets all but its attributes
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.trace import Span, SpanKind, StatusCode

from walltime.clients.otel import conventions
from walltime.core.call import LINES
from walltime.core.execution import Branch, Inside, current, task_execution
from walltime.core.transaction import clock, outside
from walltime.errors import contain
from walltime.instrumentation import libraries

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opentelemetry.trace import SpanContext, Status

    from walltime.core.execution import ExecutionContext

# Kinds that wait for somebody else. SERVER and CONSUMER are transactions, INTERNAL has no bound on its names.
_CLIENT, _PRODUCER = SpanKind.CLIENT, SpanKind.PRODUCER  # compared by identity: an enum's hash is a function of Python
_OURS: Final = {
    f"opentelemetry.instrumentation.{theirs}": ours
    for theirs, ours in {
        "aiohttp_client": "aiohttp", "httpx": "httpx", "mysql": "mysql_connector", "mysqlclient": "mysqlclient",
        "pymemcache": "pymemcache", "pymysql": "pymysql", "redis": "redis", "requests": "urllib3",
        "urllib": "http_client", "urllib3": "urllib3",
    }.items()
}  # fmt: skip
"""Instrumentation → the library of ours that measures the same calls, when it does."""


class Seen:
    """A span that is not over: where on its execution context it began."""

    __slots__ = ("execution", "is_producer", "outer_ns", "over", "place", "previous", "started_ns")

    def __init__(self, execution: ExecutionContext, is_producer: bool, previous: Seen | None) -> None:
        self.execution = execution
        self.is_producer = is_producer
        self.previous = previous
        self.over = False
        self.place = len(execution.transaction.calls)
        self.outer_ns = execution.nested_ns
        self.started_ns = clock()


_innermost: ContextVar[Seen | None] = ContextVar("walltime_innermost_span", default=None)


def begin(kind: object, scope: str) -> Seen | None:
    """
    Begin to measure a span; None when it is none of ours to measure. Never raises.

    Args:
        scope: the name its instrumentation gave its tracer.
    """
    try:
        if kind is not _CLIENT and kind is not _PRODUCER:
            return None
        execution = task_execution()
        if execution is None:
            outside("opentelemetry")
            return None
        if type(execution) is Inside or libraries.is_wrapped(_OURS.get(scope, "")):
            return None
        seen = Seen(execution, kind is _PRODUCER, _unfinished(execution))
        _innermost.set(seen)
    except Exception as ours:  # docs/decisions/011
        contain("bridge", ours)
        return None
    return seen


def finish(seen: Seen, attributes: Mapping[str, Any], failure: str | None) -> None:
    """Put the span on the bill; a second call does nothing. Never raises."""
    ended_ns = clock()
    try:
        if seen.over:
            return
        call = conventions.read(attributes, seen.is_producer)
        if failure is None and call.status >= 400 and call.system == "http":
            failure = str(call.status)
        execution = seen.execution
        innermost = _unfinished(execution) if current() is execution else None
        seen.over = True
        if innermost is not seen:
            _finish_elsewhere(seen, call, ended_ns, failure, innermost)
            return
        _innermost.set(seen.previous)
        if execution.nested_ns != seen.outer_ns and _has_seen(seen, call.system):
            return  # the same call was measured closer to the wire, by one of our wrappers or by another span
        execution.record(call.line, call.subject, seen.started_ns, ended_ns, seen.outer_ns, failure, 0, call.status)
    except Exception as ours:
        contain("bridge", ours)


def _unfinished(execution: ExecutionContext) -> Seen | None:
    """Return the innermost span of this execution context that is not over."""
    seen = _innermost.get()
    while seen is not None and seen.execution is execution and seen.over:
        seen = seen.previous
    return seen if seen is not None and seen.execution is execution else None


def _finish_elsewhere(
    seen: Seen, call: conventions.SpanCall, ended_ns: int, failure: str | None, innermost: Seen | None
) -> None:
    """Put it on its own branch, so that nothing nests in it: it is not the innermost, or ended in another thread."""
    inner = innermost
    while inner is not None and inner.previous is not seen:
        inner = inner.previous
    if inner is not None:
        inner.previous = seen.previous
    branch = Branch(seen.execution.transaction)
    branch.record(call.line, call.subject, seen.started_ns, ended_ns, 0, failure, 0, call.status)


def _has_seen(seen: Seen, system: str) -> bool:
    since = seen.execution.transaction.calls[seen.place :]
    return any(LINES[call[0]].component.startswith(f"{system}.") for call in since)


class Measured(Span):
    """
    A span that nobody else records: keeps what `finish` reads, and the span context that it would have had.

    Its `is_recording` is true, because instrumentations set no attributes otherwise.
    """

    def __init__(self, within: Span, seen: Seen, attributes: Mapping[str, Any] | None) -> None:
        """`within`: the span that the application would have got; without an SDK it is the one around it."""
        self._within = within
        self._seen = seen
        self._attributes: dict[str, Any] = dict(attributes) if attributes else {}
        self._failure: str | None = None

    def get_span_context(self) -> SpanContext:
        return self._within.get_span_context()

    def is_recording(self) -> bool:
        return not self._seen.over

    def set_attribute(self, key: str, value: Any) -> None:
        self._attributes[key] = value

    def set_attributes(self, attributes: Mapping[str, Any]) -> None:
        try:
            self._attributes.update(attributes)
        except Exception as ours:
            contain("bridge", ours)

    def set_status(self, status: Status | StatusCode, description: str | None = None) -> None:
        code = getattr(status, "status_code", status)
        if code is StatusCode.ERROR:
            self._failure = self._failure or "ERROR"

    def record_exception(self, exception: BaseException, *_args: Any, **_kwargs: Any) -> None:
        self._failure = type(exception).__name__

    def add_event(self, *_args: Any, **_kwargs: Any) -> None: ...
    def add_link(self, *_args: Any, **_kwargs: Any) -> None: ...
    def update_name(self, name: str) -> None: ...

    def end(self, end_time: int | None = None) -> None:
        error_type = self._attributes.get("error.type")
        finish(self._seen, self._attributes, error_type if isinstance(error_type, str) else self._failure)
