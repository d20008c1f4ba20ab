"""The bytes we write are the OTLP that opentelemetry-proto's own classes read."""

from __future__ import annotations

import math
from typing import Any

import pytest
from google.protobuf.internal.encoder import _VarintBytes  # type: ignore[attr-defined]
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from walltime.core.bill import Bill
from walltime.core.call import Call, lines
from walltime.core.ids import Ids
from walltime.core.transaction import Transaction
from walltime.export import otlp, protobuf
from walltime.export.otlp_bill import without_literals
from walltime.redaction.redact import Redaction

from tests.sdk.core.generated_calls import calls
from tests.sdk.sink import attributes_of

TEXTS = st.text(st.characters(), max_size=200)
VALUES = st.one_of(TEXTS, st.booleans(), st.integers(-(1 << 63), (1 << 63) - 1), st.floats(allow_nan=False))


def read(transaction: Transaction, bill: Bill, kept: str = "") -> Any:
    encoder = otlp.Encoder(protobuf.resource_attribute("service.name", "shop"), "1.2", 0.01, Redaction(b"salt"))
    request = ExportTraceServiceRequest.FromString(encoder.request(encoder.transaction(transaction, bill, kept), {}))
    (resource_spans,) = request.resource_spans
    assert attributes_of(resource_spans.resource.attributes) == {"service.name": "shop"}
    (scope_spans,) = resource_spans.scope_spans
    assert (scope_spans.scope.name, scope_spans.scope.version) == ("walltime", "1.2")
    return list(scope_spans.spans)


@given(st.integers(0, (1 << 64) - 1))
def test_varints_are_protobufs(n: int) -> None:
    assert protobuf.varint(n) == _VarintBytes(n)


@given(st.lists(st.integers(-2, (1 << 63) - 1), min_size=1, max_size=60))
def test_numbers_read_as_protobufs_and_what_is_negative_as_zero(numbers: list[int]) -> None:
    assert read_numbers(protobuf.counts("key", numbers)) == [max(0, n) for n in numbers]
    assert read_numbers(protobuf.count("key", numbers[0])) == max(0, numbers[0])


def read_numbers(attribute: bytes) -> Any:
    (read,) = attributes_of(Span.FromString(attribute).attributes).values()
    return read


@given(
    st.lists(calls(), max_size=40), st.sampled_from([None, 0, 7]), st.sampled_from([None, 0, 1 << 50, 1 << 60, 1 << 70])
)
def test_a_bill_reads_back_as_it_was(made: list[Call], queue_ns: int | None, cpu_ns: int | None) -> None:
    transaction = Transaction("job", "internal", Ids(1, 2), 0, 0)
    transaction.calls.extend(made)
    transaction.duration_ns, transaction.queue_ns = 1, queue_ns
    transaction.cpu_user_ns = transaction.cpu_system_ns = cpu_ns
    bill = transaction.add_up(detail=True)
    (span,) = read(transaction, bill)
    said = attributes_of(span.attributes)
    assert said["walltime.covered_ns"] == bill.covered_ns
    assert said.get("walltime.queue_ns") == queue_ns
    assert said.get("walltime.cpu_user_ns") == (None if cpu_ns is None else min(cpu_ns, (1 << 63) - 1))
    for component, cell in bill.components.items():
        for name in ("calls", "time_ns", "max_ns", "errors", "keys", "hits", "misses", "not_stored", "rows"):
            assert said.get(f"walltime.{component}.{name}", 0) == getattr(cell, name)
    statements = without_literals(bill.statements)
    for of, cells in (("target", bill.targets), ("statement", statements)):
        for name in ("calls", "time_ns", "errors") + (("hits", "misses") if of == "target" else ()):
            counts = [getattr(cell, name) for cell in cells.values()]
            assert said.get(f"walltime.{of}.{name}", [0] * len(cells)) == counts
    assert said.get("walltime.statement.text", []) == list(statements)


@given(
    name=TEXTS,
    trace_id=st.integers(1, (1 << 128) - 1),
    span_id=st.integers(1, (1 << 64) - 1),
    parent=st.integers(0, (1 << 64) - 1),
    annotations=st.dictionaries(TEXTS.map(lambda key: "app." + key), VALUES, max_size=8),
    duration_ns=st.integers(1, 1 << 50),
)
def test_any_transaction_reads_back_as_it_was(
    name: str, trace_id: int, span_id: int, parent: int, annotations: dict[str, Any], duration_ns: int
) -> None:
    transaction = Transaction(name, "server", Ids(trace_id, span_id, 2), parent, 5)
    transaction.duration_ns = duration_ns
    transaction.annotations = annotations
    (span,) = read(transaction, Bill())
    assert span.name == name.encode("utf-8", "replace").decode()
    assert int.from_bytes(span.trace_id, "big") == trace_id
    assert int.from_bytes(span.span_id, "big") == span_id
    assert int.from_bytes(span.parent_span_id, "big") == parent
    assert span.end_time_unix_nano - span.start_time_unix_nano == duration_ns
    attributes = attributes_of(span.attributes)
    for key, value in annotations.items():
        value = Redaction(b"salt").annotation(key, value)  # noqa: PLW2901  # a name such as `app.Cvv` promises a secret
        expected = value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
        assert attributes[key.encode("utf-8", "replace").decode()] == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [("\udcff lone", "? lone"), ("x" * 10_000, "x" * 4096), (1 << 80, (1 << 63) - 1), (-(1 << 80), -(1 << 63)),
     (math.inf, math.inf), (object(), "(object)"), (None, "(NoneType)")],
)  # fmt: skip
def test_hostile_values_are_sent_as_something_harmless(value: Any, expected: Any) -> None:
    transaction = Transaction("job", "internal", Ids(1, 2), 0, 0)
    transaction.duration_ns = 1
    transaction.annotate("app.value", value)
    (span,) = read(transaction, Bill())
    assert attributes_of(span.attributes)["app.value"] == expected


def test_kept_calls_have_ids_of_their_own_and_the_transaction_as_parent() -> None:
    transaction = Transaction("job", "internal", Ids(1, (1 << 64) - 1), 0, 0)
    for n in range(1000):
        transaction.record(lines("memcache.get")["cache", 11211], f"k{n}", n, n + 1, 0, None, 1, 1)
    transaction.duration_ns = 2000
    bill = Bill()
    bill.add(transaction.calls)
    root, *kept = read(transaction, bill, "random")
    assert len({call.span_id for call in kept} | {root.span_id, bytes(8)}) == 1002
    assert {call.parent_span_id for call in kept} == {root.span_id}
    assert attributes_of(root.attributes)["walltime.kept"] == "random"
