"""Lists in lists become JSON up to a depth; cut values are counted, and nothing else changes."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from walltime_collector.errors import RequestRefused
from walltime_collector.receive.check import check_traces
from walltime_collector.receive.messages import MAX_DEPTH
from walltime_collector.receive.nested_values import MAX_VALUES, write_nested_as_json

from tests.collector.clickhouse.spans import request, span
from tests.collector.receive.taken import field

MIB = 1024 * 1024
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**63), 2**63 - 1), st.text(), st.binary(),
    st.floats(allow_nan=False, allow_infinity=False),
)  # fmt: skip
values = st.recursive(
    scalars, lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(), inner, max_size=4))
)


def depth_of(value: object) -> int:
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return 1 + max((depth_of(each) for each in inner), default=0)
    return 0


def as_json(value: Any) -> Any:
    """The value as JSON has it: bytes are base64."""
    if isinstance(value, dict):
        return {key: as_json(each) for key, each in value.items()}
    if isinstance(value, list):
        return [as_json(each) for each in value]
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def written(*sent: object, max_bytes: int = 64 * MIB) -> tuple[list[AnyValue], int]:
    body = request(span({f"k{at}": value for at, value in enumerate(sent)})).SerializeToString()
    assert check_traces(body).has_nested
    payload, cut = write_nested_as_json(body, max_bytes)
    made = ExportTraceServiceRequest.FromString(payload).resource_spans[0].scope_spans[0].spans[0]
    return [each.value for each in made.attributes], cut


@given(values)
def test_a_value_with_a_list_in_a_list_becomes_json(value: object) -> None:
    is_nested = depth_of(value) > 1
    places = [
        request(span({"k": value})),
        request(span(), resource={"k": value}),
        request(span(events=[{"name": "e", "attributes": span({"k": value}).attributes}])),
        request(span(links=[{"attributes": span({"k": value}).attributes}])),
    ]
    for sent in places:
        assert check_traces(sent.SerializeToString()).has_nested == is_nested
    if is_nested and depth_of(value) <= MAX_DEPTH:
        (made,), cut = written(value)
        assert (json.loads(made.string_value), cut) == (as_json(value), 0)


def test_values_that_are_not_nested_do_not_change() -> None:
    flat: list[object] = ["s", 1, 0.5, True, b"b", [1, "a"], {"k": None}, [], {}, None]
    made, _ = written(*flat, [[]])
    assert made[:-1] == [each.value for each in span({f"k{at}": value for at, value in enumerate(flat)}).attributes]
    assert made[-1].string_value == "[[]]"


@pytest.mark.parametrize(
    ("number", "text"), [(float("nan"), '["nan"]'), (float("-inf"), '["-inf"]'), (1e300, "[1e+300]")]
)
def test_numbers_that_json_cannot_write_are_text(number: float, text: str) -> None:
    assert written([[number]])[0][0].string_value == f"[{text}]"


def test_lists_below_the_maximum_depth_are_cut_and_counted() -> None:
    deep: list[Any] = []
    for _ in range(MAX_DEPTH):
        deep = [deep]
    (made,), cut = written([*deep, *deep, 1])
    inner = "[" * (MAX_DEPTH - 1) + "null" + "]" * (MAX_DEPTH - 1)
    assert (made.string_value, cut) == (f"[{inner},{inner},1]", 2)


def test_lists_beyond_the_maximum_number_are_cut_and_counted() -> None:
    (made,), cut = written([[0]] * MAX_VALUES)
    assert cut == MAX_VALUES - len([each for each in json.loads(made.string_value) if each is not None]) > 0


def test_a_request_that_would_become_too_large_does_not_change() -> None:
    body = request(span({"k": [["\x00" * 1_000]]})).SerializeToString()
    assert write_nested_as_json(body, len(body) + 1_000) == (body, 1)


@pytest.mark.parametrize("inner", [b"\x0a", b"\x0a\x05x", b"\xff"])
@pytest.mark.parametrize("lists", [2, 3, 10])
def test_a_nested_list_that_does_not_parse_is_refused(inner: bytes, lists: int) -> None:
    value = field(5, inner)
    for _ in range(lists - 1):
        value = field(5, field(1, value))
    one = request(span()).resource_spans[0].scope_spans[0].spans[0].SerializeToString()
    body = field(1, field(2, field(2, one + field(9, field(1, b"k") + field(2, value)))))
    with pytest.raises(RequestRefused, match="not an"):
        taken(body)


def taken(body: bytes) -> bytes:
    """As the receiver takes a request."""
    assert check_traces(body).has_nested
    return write_nested_as_json(body, MIB)[0]
