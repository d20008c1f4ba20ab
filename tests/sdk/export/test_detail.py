"""Which transactions keep their calls: a fair sample, the same in every service, and what went wrong, within limits."""

from __future__ import annotations

import random
from collections import Counter

import pytest
import walltime
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.sdk.trace.sampling import Decision, TraceIdRatioBased
from opentelemetry.trace import SpanContext, TraceFlags
from walltime.core.ids import Ids
from walltime.core.transaction import Transaction
from walltime.export import detail, quantile
from walltime.export.detail import Detail
from walltime.export.quantile import KindsP99, RunningP99
from walltime.propagation import propagation
from walltime.settings.settings import Settings

from tests.running import running_transaction
from tests.sdk.servers.wsgi_server import PARENT, page, serve
from tests.sdk.sink import Sink


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
        assert propagation.own_ids(parent, 0.01).trace_flags == expected


def test_the_fair_sample_and_the_callers_wish_are_told_apart(sink: Sink) -> None:
    walltime.configure(endpoint=sink.endpoint, sample_probability=0.0)
    for flags in ("00", "01"):
        serve(walltime.WSGIMiddleware(page), {"HTTP_TRACEPARENT": f"{PARENT}-{flags}"})
    assert [found.attributes.get("walltime.kept") for found in sink.transactions()] == [None, "upstream"]


def test_errors_are_kept_within_their_limit(sink: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = [1000.0]
    monkeypatch.setattr("walltime.export.detail.time.monotonic", lambda: now_s[0])
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


# ---- each reason, and that none gets in the way of the fair sample ----

SAMPLED, NOT_SAMPLED = 1, (1 << 64) - 1


def finished(trace_id: int, flags: int = 0, name: str = "job", duration_ns: int = 1000) -> Transaction:
    made = Transaction(name, "internal", Ids(trace_id, 5, flags), 0, 0)
    made.duration_ns = duration_ns
    return made


def test_a_header_or_the_code_forces_detail_and_what_is_called_next_knows_it(sink: Sink) -> None:
    walltime.configure(endpoint=sink.endpoint, sample_probability=0.0)
    with walltime.transaction("job"), walltime.component("step"):
        transaction = running_transaction()
        assert propagation.outgoing_headers(transaction)[0][1].endswith("-02")
        walltime.current().keep()
        assert propagation.outgoing_headers(transaction)[0][1].endswith("-03")
    assert sink.transaction().attributes["walltime.kept"] == "forced"
    assert len(sink.calls("step")) == 1
    walltime.current().keep()  # outside of a transaction it does nothing


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        pytest.param("random_per_minute", "random", marks=pytest.mark.setting("random_per_minute")),
        pytest.param("forced_per_minute", "forced", marks=pytest.mark.setting("forced_per_minute")),
        pytest.param("upstream_per_minute", "upstream", marks=pytest.mark.setting("upstream_per_minute")),
        pytest.param("errors_per_minute", "error", marks=pytest.mark.setting("errors_per_minute")),
        pytest.param("slow_per_minute", "slow", marks=pytest.mark.setting("slow_per_minute")),
    ],
)
def test_each_reason_has_its_own_limit(setting: str, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = [1000.0]
    monkeypatch.setattr("walltime.export.detail.time.monotonic", lambda: now_s[0])
    decide = Detail(Settings(sample_probability=0.5, **{setting: 3})).why_kept  # type: ignore[arg-type]
    for _ in range(quantile.WARM_UP):
        decide(finished(NOT_SAMPLED))

    def one() -> str:
        made = finished(
            SAMPLED if reason == "random" else NOT_SAMPLED,
            flags=1 if reason == "upstream" else 0,
            duration_ns=10**9 if reason == "slow" else 1000,
        )
        made.is_error = reason == "error"
        made.is_forced = reason == "forced"
        return decide(made)

    assert [one() for _ in range(5)] == [reason] * 3 + [""] * 2
    now_s[0] += 20
    assert [one() for _ in range(2)] == [reason, ""]


def test_the_fair_sample_is_exact_by_trace_id_whatever_else_is_kept() -> None:
    source = random.Random(3)
    ids = [source.getrandbits(128) for _ in range(20_000)]
    fair = {trace_id for trace_id in ids if propagation.is_sampled(trace_id, 0.1)}
    alone = Detail(Settings(sample_probability=0.1))
    crowded = Detail(Settings(sample_probability=0.1, errors_per_minute=10**6, forced_per_minute=10**6))
    reasons: Counter[str] = Counter()
    for trace_id in ids:
        assert (alone.why_kept(finished(trace_id)) == "random") == (trace_id in fair)
        made = finished(trace_id, flags=source.randint(0, 1), duration_ns=source.randint(1, 10**9))
        made.is_error, made.is_forced = source.random() < 0.3, source.random() < 0.1
        reason = crowded.why_kept(made)
        assert (reason == "random") == (trace_id in fair)
        reasons[reason] += 1
    assert reasons["random"] == len(fair)
    assert abs(len(fair) - 2000) < 5 * (2000 * 0.9) ** 0.5
    assert set(reasons) == {"random", "forced", "upstream", "error", "slow", ""}


def test_the_slow_ones_of_each_name_are_kept(sink: Sink) -> None:
    decide = Detail(Settings(sample_probability=0.0)).why_kept
    for _ in range(1000):
        assert decide(finished(NOT_SAMPLED, name="quick", duration_ns=10**6)) == ""
        assert decide(finished(NOT_SAMPLED, name="long", duration_ns=10**9)) == ""
    assert decide(finished(NOT_SAMPLED, name="quick", duration_ns=2 * 10**6)) == "slow"
    assert decide(finished(NOT_SAMPLED, name="long", duration_ns=10**9)) == ""
    assert decide(finished(NOT_SAMPLED, name="long", duration_ns=2 * 10**9)) == "slow"
    assert decide(finished(NOT_SAMPLED, name="new", duration_ns=10**12)) == "", "there is nothing to compare it with"

    walltime.configure(endpoint=sink.endpoint, sample_probability=0.0)
    for number in range(quantile.WARM_UP + 1):
        with walltime.transaction("job"), walltime.component("step"):
            if number == quantile.WARM_UP:
                transaction = running_transaction()
                transaction.started_ns -= 10**9
    assert [found.attributes.get("walltime.kept") for found in sink.transactions()][-1] == "slow"


# ---- the running percentile ----


@given(st.integers(0, 1 << 62))
def test_a_bucket_is_never_wider_than_a_32nd(value: int) -> None:
    end = quantile._end_ns(quantile._bucket(value))
    assert value < end <= value + max(1, value // 32 + 1)
    assert quantile._bucket(end) == quantile._bucket(value) + 1


@settings(max_examples=40)
@given(
    values=st.lists(st.integers(1, 10**12), min_size=quantile.WARM_UP, max_size=quantile.WARM_UP),
)
def test_the_bound_is_the_percentile_within_a_32nd(values: list[int]) -> None:
    running = RunningP99()
    for value in values[:-1]:
        running.add(value)
        assert running.bound_ns is None, "too early to say"
    running.add(values[-1])
    assert running.bound_ns is not None
    ordered = sorted(values)
    exact = ordered[len(values) - len(values) // 100 - 1]
    assert exact < running.bound_ns <= exact + exact // 32 + 1
    assert sum(value >= running.bound_ns for value in values) <= len(values) / 100


@settings(max_examples=25)
@given(seed=st.integers(0, 1000), sigma=st.sampled_from([0.1, 1.0, 2.0]))
def test_about_a_hundredth_of_a_steady_kind_is_slow(seed: int, sigma: float) -> None:
    source = random.Random(seed)
    kinds = KindsP99()
    values = [max(1, round(source.lognormvariate(15, sigma))) for _ in range(4000)]
    slow = sum(kinds.is_slow("x", value) for value in values)
    assert 5 <= slow <= 100  # 38 are expected; most of the spread is of the percentile itself, from 2,000 values


@pytest.mark.parametrize("factor", [10, 0.1])
def test_a_change_is_the_usual_after_a_while(factor: float) -> None:
    source = random.Random(1)
    kinds = KindsP99()

    def slow(count: int, scale: float) -> int:
        return sum(kinds.is_slow("x", round(source.uniform(1, 2) * scale)) for _ in range(count))

    assert slow(5000, 10**6) < 150
    assert slow(200, 10**6 * factor) <= 150
    slow(20_000, 10**6 * factor)
    assert slow(1000, 10**6 * factor) < 40
    assert slow(100, 10**7 * factor) >= 20, "what is slow now is seen again"


def test_names_and_memory_are_bounded_and_the_frequent_ones_stay() -> None:
    kinds = KindsP99(limit=8)
    for number in range(5000):
        kinds.is_slow("frequent", 1000)
        kinds.is_slow(f"junk {number}", 1000)
        assert len(kinds._kinds) <= 8
    assert kinds.is_slow("frequent", 2000)
    running = RunningP99()
    source = random.Random(1)
    for _ in range(50_000):
        running.add(round(10 ** source.uniform(3, 12)))
    assert len(running._counts) < 40 * 32
