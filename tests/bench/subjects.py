"""What is measured: each subject instruments its process, as its own documentation says, and exports to the sink."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from tests.bench.workload import Application


@dataclass(frozen=True)
class Instrumented:
    """How a subject wraps the application, and how it sends all that waits."""

    wrap: Callable[[Application], Application]
    flush: Callable[[], object]


@dataclass(frozen=True)
class Subject:
    """One row of the table."""

    name: str
    instrument: Callable[[str, float], Instrumented]
    """Takes the sink's endpoint and the probability."""
    probability: float = 0.0
    """Share of the requests whose calls are recorded one by one."""
    bills: bool = False
    """Whether the calls of every request are counted, those of the others too."""
    comments: bool = False
    """Whether SQL is sent with the request id in a comment."""


def _bare(endpoint: str, probability: float) -> Instrumented:
    return Instrumented(lambda app: app, lambda: None)


def _walltime(endpoint: str, probability: float) -> Instrumented:
    import walltime

    walltime.configure(service_name="bench", endpoint=endpoint, sample_probability=probability)
    walltime.instrument()
    return Instrumented(walltime.WSGIMiddleware, walltime.flush)


def _opentelemetry(endpoint: str, probability: float) -> Instrumented:
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.instrumentation.pymemcache import PymemcacheInstrumentor
    from opentelemetry.instrumentation.pymysql import PyMySQLInstrumentor
    from opentelemetry.instrumentation.requests import RequestsInstrumentor
    from opentelemetry.instrumentation.wsgi import OpenTelemetryMiddleware
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.sdk.trace.sampling import ParentBasedTraceIdRatio

    provider = TracerProvider(
        resource=Resource.create({"service.name": "bench"}), sampler=ParentBasedTraceIdRatio(probability)
    )
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint)))
    trace.set_tracer_provider(provider)
    PyMySQLInstrumentor().instrument()
    PymemcacheInstrumentor().instrument()
    RequestsInstrumentor().instrument()
    return Instrumented(OpenTelemetryMiddleware, provider.force_flush)


BARE: Final = Subject("bare", _bare)
SUBJECTS: Final = (
    Subject("bare again (noise)", _bare),
    Subject("walltime 1 %", _walltime, 0.01, bills=True, comments=True),
    Subject("walltime 100 %", _walltime, 1.0, bills=True, comments=True),
    Subject("OpenTelemetry 1 %", _opentelemetry, 0.01),
    Subject("OpenTelemetry 100 %", _opentelemetry, 1.0),
)
"""Each is compared with `BARE`."""


def by_name(name: str) -> Subject:
    return next(subject for subject in (BARE, *SUBJECTS) if subject.name == name)
