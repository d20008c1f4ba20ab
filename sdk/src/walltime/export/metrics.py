"""
Every transaction in OpenTelemetry's metrics API; runs in the export thread.

The application's MeterProvider exports them, by OTLP or to Prometheus. Without one, nothing is kept. The request's
duration is as the semantic conventions for HTTP servers define it.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from opentelemetry import metrics
from opentelemetry.context import Context
from opentelemetry.metrics import Observation
from opentelemetry.trace import NonRecordingSpan, set_span_in_context

from walltime.core.call import OTHER
from walltime.propagation.propagation import span_context

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opentelemetry.metrics import CallbackOptions

    from walltime.core.bill import Bill
    from walltime.core.transaction import Transaction

MAX_KINDS: Final = 200
MAX_COMPONENTS: Final = 50
MAX_ERRORS: Final = 100
"""Series are bounded by their product. Further names share `_OTHER`, the semantic conventions' word, and `(other)`."""
_OVERFLOW: Final = "_OTHER"
_BUCKETS_S: Final = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10)
"""Of `http.server.request.duration` in the semantic conventions."""
_SHORT_BUCKETS_S: Final = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, *_BUCKETS_S)


class Metrics:
    """The instruments of one process."""

    def __init__(self, version: str) -> None:
        meter = metrics.get_meter("walltime", version)
        self._requests = meter.create_histogram(
            "http.server.request.duration", "s", "Duration of HTTP server requests",
            explicit_bucket_boundaries_advisory=_BUCKETS_S,
        )  # fmt: skip
        self._transactions = meter.create_histogram(
            "walltime.transaction.duration", "s", "Duration of jobs and other transactions that are no HTTP request",
            explicit_bucket_boundaries_advisory=_BUCKETS_S,
        )  # fmt: skip
        self._components = meter.create_histogram(
            "walltime.component.duration", "s", "Exclusive time of a component in one transaction",
            explicit_bucket_boundaries_advisory=_SHORT_BUCKETS_S,
        )  # fmt: skip
        self._calls: Counter[tuple[str, str]] = Counter()
        meter.create_observable_counter("walltime.component.calls", [self._observed], "{call}", "Calls of a component")
        self._kinds: set[str] = set()
        self._names: set[str] = set()
        self._errors: set[str] = set()

    def add(self, transaction: Transaction, bill: Bill, kept: str) -> None:
        """
        Record it; about 60 µs for five components, almost all of it in OpenTelemetry's SDK; 3 µs without one.

        Args:
            kept: why its detail is kept; then it may be an exemplar.
        """
        ids, context = transaction.ids, Context()
        if kept:
            context = set_span_in_context(NonRecordingSpan(span_context(ids._replace(trace_flags=1))), context)
        kind = _bounded(transaction.name, self._kinds, MAX_KINDS, _OVERFLOW)
        about: dict[str, str | int] = {}
        if transaction.error_type:
            about["error.type"] = _bounded(transaction.error_type, self._errors, MAX_ERRORS, _OVERFLOW)
        if transaction.method:
            about |= {"http.request.method": transaction.method, "url.scheme": transaction.scheme}
            if transaction.http_status:
                about["http.response.status_code"] = transaction.http_status
            if kind != transaction.method:
                about["http.route"] = kind.removeprefix(transaction.method).strip()
            self._requests.record(transaction.duration_ns / 1e9, about, context)
        else:
            self._transactions.record(transaction.duration_ns / 1e9, {**about, "walltime.kind": kind}, context)
        for name, cell in bill.components.items():
            self._add_component(kind, name, cell.time_ns, cell.calls, context)
        self._add_component(kind, "other", max(0, transaction.duration_ns - bill.covered_ns), 0, context)

    def _add_component(self, kind: str, name: str, time_ns: int, calls: int, context: Context) -> None:
        component = _bounded(name, self._names, MAX_COMPONENTS, OTHER)
        self._components.record(time_ns / 1e9, {"walltime.kind": kind, "walltime.component": component}, context)
        if calls:
            self._calls[kind, component] += calls  # not an instrument's `add`: that costs 7 µs

    def _observed(self, _: CallbackOptions) -> Iterator[Observation]:
        for (kind, component), calls in self._calls.copy().items():
            yield Observation(calls, {"walltime.kind": kind, "walltime.component": component})


def _bounded(name: str, names: set[str], limit: int, overflow: str) -> str:
    if name not in names:
        if len(names) >= limit:
            return overflow
        names.add(name)
    return name
