"""The check of a payload counts what a loop over its spans counts, for any spans."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span
from walltime_collector.receive.check import check_traces, count_items
from walltime_collector.receive.decode import Head, Signal, decode, decode_soon
from walltime_collector.receive.messages import TRACES, TracesRequest
from walltime_collector.varint import varint

from tests.collector.clickhouse.spans import request, span
from tests.collector.receive.refusals import suppress_refusals

GOOD_TRACE, GOOD_SPAN = bytes(range(16)), bytes(range(8))
trace_ids = st.one_of(
    st.just(GOOD_TRACE), st.binary(max_size=33), st.just(bytes(16)), st.binary(min_size=16, max_size=16)
)
span_ids = st.one_of(st.just(GOOD_SPAN), st.binary(max_size=17), st.just(bytes(8)), st.binary(min_size=8, max_size=8))
spans = st.builds(Span, trace_id=trace_ids, span_id=span_ids, parent_span_id=span_ids, name=st.just("n"))
requests = st.lists(st.lists(st.lists(spans, max_size=5), max_size=3), max_size=3)


def nested(shape: list[list[list[Span]]]) -> ExportTraceServiceRequest:
    return ExportTraceServiceRequest(
        resource_spans=[ResourceSpans(scope_spans=[ScopeSpans(spans=each) for each in scopes]) for scopes in shape]
    )


@given(requests)
def test_spans_and_unusable_ids_are_counted_however_they_are_nested(
    shape: list[list[list[Span]]],
) -> None:
    every = [each for scopes in shape for spans in scopes for each in spans]
    bad = [each for each in every if not _is_usable(each)]
    assert check_traces(nested(shape).SerializeToString())[:2] == (len(every), len(bad))


def test_ids_of_every_length_and_ids_of_zeros() -> None:
    for size in (0, 7, 9, 15, 17, 32):
        assert check_traces(request(span(trace_id=b"\x01" * size), span()).SerializeToString())[:2] == (2, 1)
        assert check_traces(request(span(), span(span_id=b"\x01" * size)).SerializeToString())[:2] == (2, 1)
    assert check_traces(request(span(trace_id=bytes(16))).SerializeToString())[:2] == (1, 1)
    assert check_traces(request(span(span_id=bytes(8))).SerializeToString())[:2] == (1, 1)
    looks_like_none = span(trace_id=b"\x0a\x10" + bytes(13) + b"\x01", span_id=b"\x01" + bytes(7))
    assert check_traces(request(looks_like_none, looks_like_none).SerializeToString())[:2] == (2, 0)


def test_a_string_that_is_not_utf8_is_accepted() -> None:
    body = request(span(name="name-here"), span()).SerializeToString().replace(b"name-here", b"name-\xff\xfere")
    assert check_traces(body)[:2] == (2, 0)


def test_the_receiver_checks_every_message_that_the_database_opens() -> None:
    """The same text of the schema: what parses here parses there, and a field of the one is a field of the other."""
    ours = {field.name: field.number for field in TRACES["Span"].DESCRIPTOR.fields}
    theirs = {field.name: field.number for field in Span.DESCRIPTOR.fields}
    assert ours.items() <= theirs.items()
    sent = request(span({"s": "x", "i": 1, "l": [1, 2], "m": {"k": b"v"}}, status={"message": "no", "code": 2}))
    read = TracesRequest.FromString(sent.SerializeToString())
    assert read.SerializeToString(deterministic=True) == sent.SerializeToString(deterministic=True)


def test_metrics_are_counted_by_metric() -> None:
    sent = ExportMetricsServiceRequest()
    for _ in range(2):
        sent.resource_metrics.add().scope_metrics.add().metrics.add(name="m")
    assert count_items(sent.SerializeToString()) == 2
    assert count_items(b"") == 0


@given(st.binary(max_size=60))
def test_any_bytes_are_counted_or_refused(body: bytes) -> None:
    for check in (check_traces, count_items):
        with suppress_refusals():
            check(body)


def _is_usable(each: Span) -> bool:
    return len(each.trace_id) == 16 and len(each.span_id) == 8 and any(each.trace_id) and any(each.span_id)


@pytest.mark.parametrize("odd", [b"\xf0\x7f\x01", b"\x30\x07"], ids=["unknown fields", "undefined numbers"])
def test_what_is_written_again_takes_no_time_of_the_event_loop(odd: bytes) -> None:
    """100 KB of either held it for 80 ms; an ordinary request of 200 KB takes a quarter of one."""
    head, most_bytes = Head(Signal.TRACES, b""), 1024 * 1024
    ordinary = request(*[span({"fill": "x" * 300}) for _ in range(500)]).SerializeToString()
    assert 150_000 < len(ordinary) < 256 * 1024
    assert decode_soon(head, ordinary, most_bytes) == decode(head, ordinary, most_bytes)
    field = odd * (100_000 // len(odd))
    body = request(span()).SerializeToString() + (field if odd[0] == 0xF0 else spans_with(field))
    assert decode_soon(head, body, most_bytes) is None
    assert decode(head, body, most_bytes).spans >= 1
    small = request(span()).SerializeToString() + b"\xf0\x7f\x01"
    assert decode_soon(head, small, most_bytes) == decode(head, small, most_bytes)


def spans_with(fields: bytes) -> bytes:
    """A request with one span, whose ids are not usable."""
    for number in (2, 2, 1):
        fields = bytes([number << 3 | 2]) + varint(len(fields)) + fields
    return fields
