"""OTLP/JSON against the examples of its specification and against protobuf's json_format, value by value."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import json_format
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from walltime_collector.errors import RequestRefused
from walltime_collector.receive.check import check_traces
from walltime_collector.receive.otlp_json import count_items_of_json, traces_from_json

from tests.collector.clickhouse.spans import request, span
from tests.collector.receive.refusals import suppress_refusals

SPECIFICATION = Path(__file__).parents[4] / "shared" / "data" / "otlp" / "trace.json"


def read(document: object) -> ExportTraceServiceRequest:
    return ExportTraceServiceRequest.FromString(traces_from_json(json.dumps(document).encode()))


def one_span(**fields: object) -> dict[str, Any]:
    ids = {"traceId": "5b8efff798038103d269b633813fc60c", "spanId": "eee19b7ec3c1b174"}
    return {"resourceSpans": [{"scopeSpans": [{"spans": [ids | fields]}]}]}


def the_span(**fields: object) -> Span:
    return read(one_span(**fields)).resource_spans[0].scope_spans[0].spans[0]


def attribute(value: object) -> Any:
    return the_span(attributes=[{"key": "k", "value": value}]).attributes[0].value


def refusal(document: object) -> RequestRefused:
    with pytest.raises(RequestRefused) as refused:
        traces_from_json(document if isinstance(document, bytes) else json.dumps(document).encode())
    return refused.value


@pytest.mark.skipif(not SPECIFICATION.exists(), reason="the examples of the specification are not here")
def test_the_example_of_the_specification_is_read() -> None:
    read = ExportTraceServiceRequest.FromString(traces_from_json(SPECIFICATION.read_bytes()))
    (resource,) = read.resource_spans
    (scope,) = resource.scope_spans
    (got,) = scope.spans
    assert (resource.resource.attributes[0].key, scope.scope.name, scope.scope.version) == (
        "service.name",
        "my.library",
        "1.0.0",
    )
    assert got.trace_id.hex() == "5b8efff798038103d269b633813fc60c"
    assert (got.span_id.hex(), got.parent_span_id.hex()) == ("eee19b7ec3c1b174", "eee19b7ec3c1b173")
    assert (got.name, got.kind) == ("I'm a server span", Span.SPAN_KIND_SERVER)
    assert got.end_time_unix_nano - got.start_time_unix_nano == 1_000_000_000
    assert got.attributes[0].value.string_value == "some value"


def test_every_value_is_read_as_json_format_reads_it() -> None:
    attributes: dict[str, object] = {
        "s": "x",
        "b": True,
        "i": -(2**63),
        "d": 1.5,
        "y": b"\x00\xff",
        "l": [1, "two", 3.0],
    }
    sent = request(
        span(attributes | {"m": {"one": 1}}, trace_state="a=b", status={"message": "no", "code": 2}), span({"e": ""})
    )
    event = sent.resource_spans[0].scope_spans[0].spans[0].events.add(time_unix_nano=7, name="boom")
    event.attributes.extend(sent.resource_spans[0].scope_spans[0].spans[0].attributes)
    sent.resource_spans[0].scope_spans[0].spans[1].links.add(trace_id=bytes(range(16)), span_id=bytes(range(8)))
    document = json_format.MessageToDict(sent, use_integers_for_enums=True)
    spans: list[dict[str, Any]] = document["resourceSpans"][0]["scopeSpans"][0]["spans"]
    for each in spans:
        for holder in (each, *each.get("links", ())):
            for key in holder.keys() & {"traceId", "spanId", "parentSpanId"}:
                holder[key] = base64.b64decode(holder[key]).hex()  # where OTLP/JSON is not protobuf's JSON
    assert read(document) == sent


def test_ids_are_hex_in_any_case_and_a_wrong_id_rejects_only_its_span() -> None:
    assert the_span(traceId="5B8EFFF798038103D269B633813FC60C").trace_id[:2] == b"\x5b\x8e"
    spans = [
        {"traceId": each, "spanId": "eee19b7ec3c1b174"} for each in ("ab" * 16, "zz" * 16, "ab" * 15, "é", "ab  " * 8)
    ]
    payload = traces_from_json(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).encode())
    assert check_traces(payload)[:2] == (5, 4)


def test_64_bit_integers_are_strings_or_numbers() -> None:
    assert the_span(startTimeUnixNano="1544712660000000000").start_time_unix_nano == 1544712660000000000
    assert the_span(startTimeUnixNano=1544712660000000000).start_time_unix_nano == 1544712660000000000
    assert the_span(kind=3.0).kind == 3
    assert attribute({"intValue": "-5"}).int_value == -5


def test_values_that_are_zero_or_empty_keep_their_type() -> None:
    kinds = {"stringValue": "", "boolValue": False, "intValue": 0, "doubleValue": 0}
    for key, value in kinds.items():
        assert (
            attribute({key: value}).WhichOneof("value")
            == {
                "stringValue": "string_value",
                "boolValue": "bool_value",
                "intValue": "int_value",
                "doubleValue": "double_value",
            }[key]
        )
    assert attribute({}).WhichOneof("value") is None


def test_unknown_fields_nulls_and_the_time_of_arrival_are_ignored() -> None:
    document = one_span(name="n", newField={"deep": [1, {"er": None}]}, status=None, events=None)
    document |= {"receivedAtNs": 5, "received_at_ns": 5, "extra": []}
    sent = read(document)
    assert sent.resource_spans[0].scope_spans[0].spans[0].name == "n"
    assert b"\x81\xfa\x01" not in traces_from_json(json.dumps(document).encode())  # the tag of field 4000


@pytest.mark.parametrize(
    ("document", "path"),
    [
        (one_span(name=5), ".resourceSpans[0].scopeSpans[0].spans[0].name is not a string"),
        (one_span(kind="SPAN_KIND_SERVER"), ".spans[0].kind is not an integer"),
        (one_span(startTimeUnixNano=-1), "startTimeUnixNano is not an integer"),
        (one_span(startTimeUnixNano="--5"), "startTimeUnixNano is not an integer"),
        (one_span(startTimeUnixNano=2**64), "startTimeUnixNano is not an integer"),
        (one_span(attributes=[{"key": "k", "value": {"boolValue": 1}}]), "boolValue is not true or false"),
        (one_span(attributes=[{"key": "k", "value": {"bytesValue": "?"}}]), "bytesValue is not base64"),
        (one_span(attributes={}), "attributes is not a list"),
        ({"resourceSpans": [5]}, ".resourceSpans[0] is not an object"),
        ([], "it is not an object"),
    ],
)
def test_a_value_of_the_wrong_type_is_refused_with_the_path_to_it(document: object, path: str) -> None:
    refused = refusal(document)
    assert refused.status == 400
    assert path in str(refused)


@pytest.mark.parametrize(
    "body",
    [
        *(b"{", b"\xff", b"nonsense", b"[" * 100_000, b'{"a":' * 100_000, b'{"a": ' + b"9" * 5_000 + b"}"),
        *(b'{"x": NaN}', b'{"x": -Infinity}', b'{"resourceSpans": [] } trailing'),
    ],
)
def test_what_is_not_json_is_refused(body: bytes) -> None:
    assert refusal(body).status == 400


def test_json_of_too_many_parts_is_refused_before_it_is_opened() -> None:
    assert refusal(b'{"resourceSpans": [' + b"[]," * 1_000_000 + b"[]]}").status == 413


def test_half_a_surrogate_pair_is_replaced() -> None:
    assert the_span(name="a\ud800b").name == "a?b"
    assert the_span(name="\U0001f600").name == "\U0001f600"


def test_metrics_and_logs_are_counted() -> None:
    metrics: Any = {"resourceMetrics": [{"scopeMetrics": [{"metrics": [{}, {}]}, {}]}, 5]}
    logs: Any = {"resourceLogs": [{"scopeLogs": [{"logRecords": [{}]}]}, {"scopeLogs": None}]}
    assert [count_items_of_json(json.dumps(each).encode()) for each in (metrics, logs)] == [2, 1]
    assert [count_items_of_json(each) for each in (b"{}", b"[]", b"")] == [0, 0, 0]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "resourceSpans",
                        "scopeSpans",
                        "spans",
                        "attributes",
                        "value",
                        "key",
                        "traceId",
                        "kind",
                        "events",
                        "stringValue",
                        "arrayValue",
                        "values",
                    ]
                ),
                inner,
            )
        ),
        max_leaves=30,
    )
)
def test_any_json_is_read_or_refused(document: object) -> None:
    with suppress_refusals():
        check_traces(traces_from_json(json.dumps(document).encode()))
