"""Accepted requests of both protocols: their spans are stored, rejected one by one, or counted as not stored."""

from __future__ import annotations

import base64
import gzip
import json
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import grpc
import pytest
from backports import zstd
from google.protobuf import json_format
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest, ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from tests.collector.clickhouse.spans import request, span
from tests.collector.receive.taken import Counted, as_json, field
from tests.servers import Collector, eventually, over_http

JSON = "application/json"
PACK: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    "identity": bytes,
    "gzip": gzip.compress,
    "GZIP": gzip.compress,
    "zstd": zstd.compress,
}


@pytest.fixture(scope="module")
def channel(receiver: Collector) -> Iterator[grpc.Channel]:
    with grpc.insecure_channel(receiver.grpc) as channel:
        yield channel


def call(channel: grpc.Channel, body: bytes, signal: str = "trace", **metadata: str) -> bytes:
    """An Export over gRPC with the bytes as they are."""
    path = f"/opentelemetry.proto.collector.{signal}.v1.{signal.capitalize()}Service/Export"
    named = tuple((name.replace("_", "-"), value) for name, value in metadata.items())
    answer: bytes = channel.unary_unary(path)(body, metadata=named, timeout=20)
    return answer


def stored(receiver: Collector, sent: ExportTraceServiceRequest) -> list[Mapping[str, Any]]:
    """The first span of a request as the database has it."""
    trace_id = sent.resource_spans[0].scope_spans[0].spans[0].trace_id.hex()
    columns = "name, duration_ns, attributes, resource, events.attributes, links.attributes"
    statement = f"SELECT {columns} FROM spans WHERE hex(trace_id) = upper('{trace_id}')"
    answer = over_http("POST", f"{receiver.web_url}/api/sql", json={"sql": statement}, timeout_s=30)
    assert answer.status_code == 200, answer.text
    document = answer.json()
    names = [column["name"] for column in document["columns"]]
    return [dict(zip(names, row, strict=True)) for row in document["rows"]]


def wait_until_stored(receiver: Collector) -> None:
    """Until nothing is on its way to the database."""
    eventually(lambda: receiver.health()["spans"]["spooled"] == 0, 20)


@pytest.mark.parametrize("content_type", ["application/x-protobuf", JSON])
@pytest.mark.parametrize("encoding", PACK)
def test_a_request_over_http_is_stored_and_its_bad_spans_are_counted_in_the_response(
    receiver: Collector, content_type: str, encoding: str
) -> None:
    counted = Counted(receiver)
    for sent, rejected in ((request(span(), span()), 0), (request(span(), span(span_id=b"x"), span()), 1)):
        body = as_json(sent) if content_type == JSON else sent.SerializeToString()
        response = receiver.send(PACK[encoding](body), content_encoding=encoding, content_type=content_type)
        assert (response.status_code, response.headers["content-type"]) == (200, content_type)
        if content_type == JSON:
            partial = response.json().get("partialSuccess", {})
            assert int(partial.get("rejectedSpans", 0)) == rejected
            assert bool(partial.get("errorMessage")) == bool(rejected)
        else:
            answer = ExportTraceServiceResponse.FromString(response.content)
            assert answer.HasField("partial_success") == bool(rejected)
            assert answer.partial_success.rejected_spans == rejected
            assert bool(answer.partial_success.error_message) == bool(rejected)
    assert counted.added() == {"received": 5, "rejected": 1}


@pytest.mark.parametrize("compression", grpc.Compression)
def test_a_call_over_grpc_is_stored_and_its_bad_spans_are_counted_in_the_response(
    receiver: Collector, compression: grpc.Compression
) -> None:
    counted = Counted(receiver)
    with grpc.insecure_channel(receiver.grpc, compression=compression) as channel:
        assert call(channel, request(*[span({"text": "x" * 1_000})] * 2_000).SerializeToString()) == b""
        answer = ExportTraceServiceResponse.FromString(
            call(channel, request(span(), span(trace_id=bytes(16)), span(span_id=b"")).SerializeToString())
        )
    assert answer.partial_success.rejected_spans == 2
    assert "ids" in answer.partial_success.error_message
    assert counted.added() == {"received": 2_003, "rejected": 2}


def test_a_request_of_only_bad_spans_succeeds_and_nothing_is_spooled(receiver: Collector) -> None:
    before = receiver.health()["spans"]
    answer = receiver.send(request(span(trace_id=b""), span(span_id=bytes(8))).SerializeToString())
    assert ExportTraceServiceResponse.FromString(answer.content).partial_success.rejected_spans == 2
    after = receiver.health()["spans"]
    assert after["rejected"] == before["rejected"] + 2
    assert after["spooled"] + after["stored"] == before["spooled"] + before["stored"]


@pytest.mark.parametrize("encoding", ["", "gzip", "zstd"])
def test_metrics_and_logs_succeed_and_are_counted_as_not_stored(
    receiver: Collector, channel: grpc.Channel, encoding: str
) -> None:
    counted = Counted(receiver)
    metrics, logs = ExportMetricsServiceRequest(), ExportLogsServiceRequest()
    metrics.resource_metrics.add().scope_metrics.add().metrics.add(name="m")
    for _ in range(2):
        logs.resource_logs.add().scope_logs.add().log_records.add(severity_number=9)
    for sent, path, answer in (
        (metrics, "metrics", ExportMetricsServiceResponse),
        (logs, "logs", ExportLogsServiceResponse),
    ):
        url = receiver.otlp_url.replace("traces", path)
        headers = {"content-type": "application/x-protobuf", "content-encoding": encoding}
        response = over_http(
            "POST", url, content=PACK[encoding](sent.SerializeToString()), headers=headers, timeout_s=20
        )
        assert (response.status_code, answer.FromString(response.content)) == (200, answer())
        assert answer.FromString(call(channel, sent.SerializeToString(), path)) == answer()
        response = over_http(
            "POST", url, content=b"\xff", headers={"content-type": "application/x-protobuf"}, timeout_s=20
        )
        assert response.status_code == 400
    body: Any = {"resourceLogs": [{"scopeLogs": [{"logRecords": [{}, {}, {}]}]}]}
    response = over_http("POST", receiver.otlp_url.replace("traces", "logs"), json=body, timeout_s=20)
    assert (response.status_code, response.json()) == (200, {})
    assert counted.added() == {"not_stored_metrics": 2, "not_stored_logs": 7, "refused_undecodable": 2}


def test_a_name_that_is_not_utf8_is_stored_beside_the_others(receiver: Collector) -> None:
    sent = request(span({"walltime.schema": 1}, name="name-here"), span(name="other"))
    answer = receiver.send(sent.SerializeToString().replace(b"name-here", b"name-\xff\xfere"))
    assert (answer.status_code, answer.content) == (200, b"")
    wait_until_stored(receiver)
    trace_id = sent.resource_spans[0].scope_spans[0].spans[0].trace_id.hex()
    shown = over_http("GET", f"{receiver.web_url}/api/transactions/{trace_id}", timeout_s=30)
    assert shown.status_code == 200
    assert "name-\ufffd" in json.dumps(shown.json(), ensure_ascii=False)


def test_a_trace_with_a_cycle_of_parents_is_shown(receiver: Collector) -> None:
    trace_id, one, two, own = os.urandom(16), os.urandom(8), os.urandom(8), os.urandom(8)
    transaction = {"walltime.schema": 1}
    sent = request(
        span(transaction, trace_id=trace_id, span_id=one, parent_span_id=two),
        span(transaction, trace_id=trace_id, span_id=two, parent_span_id=one),
        span(transaction, trace_id=trace_id, span_id=own, parent_span_id=own),
        span(trace_id=trace_id, parent_span_id=one),
    )
    assert receiver.send(sent.SerializeToString()).content == b""
    wait_until_stored(receiver)
    shown = over_http("GET", f"{receiver.web_url}/api/transactions/{trace_id.hex()}", timeout_s=30)
    assert shown.status_code == 200
    assert all(each.hex() in shown.text for each in (one, two, own))


def test_endlessly_nested_values_are_cut_where_they_are_too_deep(receiver: Collector) -> None:
    value = field(1, b"x")
    for _ in range(150):
        value = field(5, field(1, value))  # an array of one array of one array …
    sent = request(span({"flat": "y"}))
    one_span = sent.resource_spans[0].scope_spans[0].spans[0].SerializeToString()
    one_span += field(9, field(1, b"deep") + field(2, value))
    assert receiver.send(field(1, field(2, field(2, one_span)))).content == b""
    wait_until_stored(receiver)
    (row,) = stored(receiver, sent)
    assert (row["attributes"]["flat"], row["attributes"]["deep"]) == ("y", "[" * 16 + "null" + "]" * 16)
    assert receiver.health()["counts"]["nested_values_cut"] == 1


def test_nested_values_of_both_formats_are_stored_as_json(receiver: Collector) -> None:
    values: dict[str, object] = {
        "map": {"b": {"c": "d", "n": [1, {"x": 0.5}]}},
        "list": [{"x": 1}, [], {}, "text"],
        "lists": [[1], [[True, None]]],
        "flat": [1, 2],
    }
    texts = {key: json.dumps(value, separators=(",", ":")) for key, value in values.items()}
    sent = request(span(values), resource={"service.name": "shop", **values})
    one = sent.resource_spans[0].scope_spans[0].spans[0]
    one.events.add(name="e").attributes.extend(one.attributes)
    one.links.add(trace_id=b"\x01" * 16, span_id=b"\x01" * 8).attributes.extend(one.attributes)
    other = type(sent).FromString(sent.SerializeToString())
    other.resource_spans[0].scope_spans[0].spans[0].trace_id = os.urandom(16)
    written = json_format.MessageToDict(other, use_integers_for_enums=True)
    its_span = written["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    for ids in (its_span, its_span["links"][0]):
        ids |= {key: base64.b64decode(ids[key]).hex() for key in ("traceId", "spanId")}
    assert receiver.send(sent.SerializeToString()).status_code == 200
    headers = {"content-type": "application/json"}
    assert over_http("POST", receiver.otlp_url, json=written, headers=headers, timeout_s=60).status_code == 200
    wait_until_stored(receiver)
    for each in (sent, other):
        (row,) = stored(receiver, each)
        assert row["attributes"] == texts
        assert row["events.attributes"] == row["links.attributes"] == [texts]
        assert row["resource"] == texts


def test_absurd_times_are_stored_and_clamped(receiver: Collector) -> None:
    times = [(0, 0), (1, 2**64 - 1), (2**63, 2**63), (2**64 - 1, 0), (10**18, 10**18 + 100 * 365 * 86_400 * 10**9)]
    sent = [request(span(start_time_unix_nano=start, end_time_unix_nano=end)) for start, end in times]
    for each in sent:
        assert receiver.send(each.SerializeToString()).status_code == 200
    wait_until_stored(receiver)
    durations = [stored(receiver, each)[0]["duration_ns"] for each in sent]
    assert [int(each) for each in durations if not 0 <= int(each) <= 30 * 86_400 * 10**9] == []


def test_strange_keys_are_stored_as_they_are(receiver: Collector) -> None:
    keys = ["", "\x1b[31m", "a\r\nb", "\u202e", "k" * 100_000, "same", "\x00"]
    sent = request(span(dict.fromkeys(keys, "v") | {"same": "1"}))
    sent.resource_spans[0].scope_spans[0].spans[0].attributes.add(key="same").value.string_value = "2"
    assert receiver.send(sent.SerializeToString()).status_code == 200
    wait_until_stored(receiver)
    (row,) = stored(receiver, sent)
    assert set(keys) <= set(row["attributes"])
    assert "\x1b" not in receiver.log()
