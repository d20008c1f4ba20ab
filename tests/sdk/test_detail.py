"""Which transactions keep their calls: a fair sample, the same in every service, and what went wrong, within limits."""

from __future__ import annotations

import random

import pytest
import walltime
from opentelemetry.sdk.trace.sampling import Decision, TraceIdRatioBased
from opentelemetry.trace import SpanContext, TraceFlags
from walltime import detail, propagation

from tests.sdk.sink import Sink
from tests.sdk.test_wsgi import PARENT, page, serve


@pytest.mark.parametrize("probability", [0.0, 0.01, 0.25, 1.0])
def test_the_sample_is_opentelemetrys(probability: float) -> None:
    theirs = TraceIdRatioBased(probability)
    source = random.Random(7)
    ids = [source.getrandbits(128) for _ in range(5000)]
    for trace_id in ids:
        expected = theirs.should_sample(None, trace_id, "x").decision is Decision.RECORD_AND_SAMPLE
        assert propagation.is_sampled(trace_id, probability) == expected


def test_the_flag_says_whether_detail_is_certain() -> None:
    sampled, not_sampled = 1, (1 << 64) - 1
    for trace_id, flags, expected in [
        (sampled, 0x00, 0x01),  # in our sample, though not in the caller's
        (not_sampled, 0x00, 0x00),
        (not_sampled, 0x01, 0x01),
        (not_sampled, 0x02, 0x02),  # the random bit stays as the caller had it
        (not_sampled, 0xFF, 0x03),  # bits without a meaning are not passed on
    ]:
        parent = SpanContext(trace_id, 5, True, TraceFlags(flags))
        assert propagation.own_span_context(parent, 0.01).trace_flags == expected


def test_the_fair_sample_and_the_callers_wish_are_told_apart(sink: Sink) -> None:
    walltime.configure(endpoint=sink.endpoint, sample_probability=0.0)
    for flags in ("00", "01"):
        serve(walltime.WSGIMiddleware(page), {"HTTP_TRACEPARENT": f"{PARENT}-{flags}"})
    assert [found.attributes.get("walltime.kept") for found in sink.transactions()] == [None, "upstream"]


def test_errors_are_kept_within_their_limit(sink: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = [1000.0]
    monkeypatch.setattr("walltime.detail.time.monotonic", lambda: now_s[0])
    allowance = detail.Allowance(6)
    assert [allowance.take() for _ in range(8)] == [True] * 6 + [False] * 2
    now_s[0] += 10
    assert [allowance.take() for _ in range(2)] == [True, False]
    monkeypatch.undo()

    walltime.configure(endpoint=sink.endpoint, sample_probability=0.0, errors_per_minute=2)
    for _ in range(5):
        with walltime.transaction("job") as transaction, walltime.component("step"):
            transaction.fail("Broken")
    kept = [found.attributes.get("walltime.kept") for found in sink.transactions()]
    assert sorted(map(str, kept)) == ["None"] * 3 + ["error"] * 2
    assert len(sink.calls("step")) == 2
