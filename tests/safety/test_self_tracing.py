"""Our own export leaves no trace: not on our bills, and not in anybody else's spans."""

from __future__ import annotations

import http.client
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import walltime
from walltime.core.execution import current

from tests.sdk.sink import Sink


def test_the_export_is_on_no_bill_though_http_client_is_instrumented(
    sink: Sink, monkeypatch: pytest.MonkeyPatch
) -> None:
    walltime.configure(endpoint=sink.endpoint, sample_probability=1.0, export_delay_s=0)
    walltime.instrument()
    within: list[object] = []
    request = http.client.HTTPConnection.request

    def somebody_elses(self: http.client.HTTPConnection, *args: Any, **kwargs: Any) -> None:
        if threading.current_thread().name == "walltime-export":
            within.append(current())
        request(self, *args, **kwargs)

    with monkeypatch.context() as patched:
        patched.setattr(http.client.HTTPConnection, "request", somebody_elses)
        for _ in range(20):
            with walltime.transaction("job"), walltime.component("step"):
                pass
            assert walltime.flush(5)
    found = sink.transactions()
    assert len(found) == 20
    assert {component for bill in found for component in bill.times_ns()} - {"python.gc"} == {"step"}
    assert set(within) <= {None}, "the export runs in no transaction"
    assert not [call for call in sink.calls() if call.attributes["walltime.component"].startswith("http")]


OTHERS_SEE_NOTHING = """
import os, sys
os.environ.update(DD_INSTRUMENTATION_TELEMETRY_ENABLED="false", DD_REMOTE_CONFIGURATION_ENABLED="false",
    DD_TRACE_AGENT_URL="http://127.0.0.1:1", DD_TRACE_STARTUP_LOGS="false", DD_CRASHTRACKING_ENABLED="false")
import logging
logging.getLogger("ddtrace").setLevel(logging.CRITICAL)
import ddtrace, walltime
from ddtrace.trace import TraceFilter, tracer
class Kept(TraceFilter):
    def process_trace(self, trace): spans.extend(trace)
tracer.configure(trace_processors=[Kept()])
ddtrace.patch(httplib=True, requests=True)
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.instrumentation.requests import RequestsInstrumentor
import sentry_sdk
spans = []
exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)
RequestsInstrumentor().instrument()
sentry_sdk.init("http://key@127.0.0.1:1/1", traces_sample_rate=1.0, auto_enabling_integrations=False,
                before_send_transaction=lambda event, hint: spans.extend(event["spans"]))
walltime.configure(endpoint=sys.argv[1], export_delay_s=0)
walltime.instrument()
for _ in range(20):
    with sentry_sdk.start_transaction(name="theirs"), trace.get_tracer("app").start_as_current_span("theirs"):
        with walltime.transaction("ours"):
            pass
        assert walltime.flush(5)
print(len(spans), sorted({span.name for span in exporter.get_finished_spans()}), flush=True)
walltime.shutdown()
os._exit(0)  # what the others do at their exit is not asked here
"""


def test_others_who_wrap_http_see_nothing_of_the_export(sink: Sink) -> None:
    command = [sys.executable, "-c", OTHERS_SEE_NOTHING, sink.endpoint]
    process = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert process.returncode == 0, process.stderr
    assert process.stdout.strip() == "0 ['theirs']"
    assert len(sink.transactions()) == 20


def test_importing_and_instrumenting_starts_no_thread(sink: Sink, tmp_path: Path) -> None:
    program = f"""
import threading
import walltime
walltime.configure(endpoint={sink.endpoint!r})
walltime.instrument()
walltime.WSGIMiddleware(lambda environ, start_response: [])
print(threading.active_count())
"""
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert process.stdout.strip() == "1"
