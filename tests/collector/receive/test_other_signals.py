"""A body of another signal, or of an old version, is refused: its sender would take it for stored."""

from __future__ import annotations

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from walltime_collector.errors import RequestRefused
from walltime_collector.receive.decode import Decoded, Head, Signal, decode

from tests.collector.receive.taken import Counted
from tests.collector.receive.usage import rpc_status
from tests.servers import Collector, over_http


def decoded(signal: Signal, body: bytes, *, is_json: bool = True) -> Decoded:
    return decode(Head(signal, b"", is_json), body, 10_000)


@pytest.mark.parametrize(
    ("signal", "body", "message"),
    [
        (Signal.TRACES, b'{"resourceLogs": []}', "resourceLogs; send it to /v1/logs"),
        (Signal.TRACES, b'{"resource_metrics": [{}]}', "resourceMetrics; send it to /v1/metrics"),
        (Signal.TRACES, b'{"resourceSpans": [], "resourceLogs": []}', "resourceLogs; send it to /v1/logs"),
        (Signal.METRICS, b'{"resourceLogs": []}', "resourceLogs; send it to /v1/logs"),
        (Signal.LOGS, b'{"resourceSpans": []}', "resourceSpans; send it to /v1/traces"),
        (Signal.TRACES, b'{"spans": []}', "no resourceSpans, but 'spans'"),
        (Signal.TRACES, b'{"ResourceSpans": []}', "no resourceSpans, but 'ResourceSpans'"),
        (Signal.LOGS, b"[]", "not an object"),
        (Signal.METRICS, b'"text"', "not an object"),
        (
            Signal.TRACES,
            b'{"resourceSpans": [{}, {"instrumentationLibrarySpans": []}]}',
            r"resourceSpans\[1\] has instrumentationLibrarySpans, the name before OTLP 0.16; send scopeSpans",
        ),
        (Signal.TRACES, b'{"resource_spans": [{"instrumentation_library_spans": []}]}', "before OTLP 0.16"),
    ],
)
def test_json_that_would_be_ignored_is_refused(signal: Signal, body: bytes, message: str) -> None:
    with pytest.raises(RequestRefused, match=message) as refused:
        decoded(signal, body)
    assert refused.value.status == 400


@pytest.mark.parametrize("body", [b"", b"{}", b'{"resourceSpans": null}', b'{"resourceSpans": [], "future": 1}'])
def test_a_request_without_spans_succeeds_and_unknown_fields_beside_them_are_ignored(body: bytes) -> None:
    assert decoded(Signal.TRACES, body).spans == 0


def test_metrics_and_logs_are_counted_under_every_name_of_their_fields() -> None:
    logs = b'{"resource_logs": [{"scope_logs": [{"log_records": [{}, {}]}]}]}'
    metrics = b'{"resourceMetrics": [{"instrumentationLibraryMetrics": [{"metrics": [{}]}]}]}'
    assert (decoded(Signal.LOGS, logs).spans, decoded(Signal.METRICS, metrics).spans) == (2, 1)


def test_protobuf_of_logs_and_metrics_sent_as_spans_is_refused() -> None:
    logs, metrics = ExportLogsServiceRequest(), ExportMetricsServiceRequest()
    record = logs.resource_logs.add().scope_logs.add().log_records.add(time_unix_nano=5, severity_number=9)
    record.body.string_value = "text"
    metric = metrics.resource_metrics.add().scope_metrics.add().metrics.add(name="requests", unit="1")
    metric.sum.data_points.add(as_int=5, time_unix_nano=5)
    for each in (logs, metrics):
        with pytest.raises(RequestRefused, match="not an ExportTraceServiceRequest"):
            decoded(Signal.TRACES, each.SerializeToString(), is_json=False)


def test_the_refusal_is_counted(receiver: Collector) -> None:
    counted = Counted(receiver)
    answer = receiver.send(b'{"resourceLogs": []}', content_type="application/json")
    assert (answer.status_code, rpc_status(answer)[0]) == (400, 3)
    logs = receiver.otlp_url.replace("traces", "logs")
    headers = {"content-type": "application/json"}
    assert over_http("POST", logs, content=b'{"resourceSpans": []}', headers=headers).status_code == 400
    assert counted.added() == {"refused_other_signal": 2}
