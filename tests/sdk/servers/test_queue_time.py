"""Queue time from the front end's stamp, in whatever unit it comes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from walltime.servers.request.queue_time import queue_ns

NOW_NS = 1_795_251_619_373_826_213


@pytest.mark.parametrize("unit", [1e9, 1e6, 1e3, 1])
@pytest.mark.parametrize("prefix", ["", "t="])
def test_the_unit_is_told_by_the_size(unit: float, prefix: str) -> None:
    stamp = f"{prefix}{(NOW_NS - 250_000_000) / unit:.3f}"
    queued_ns = queue_ns({"HTTP_X_REQUEST_START": stamp}, NOW_NS)
    assert queued_ns == pytest.approx(250_000_000, abs=1_000_000)


def test_the_second_header_is_asked_when_the_first_says_nothing() -> None:
    environ = {"HTTP_X_REQUEST_START": "soon", "HTTP_X_QUEUE_START": str(NOW_NS / 1e9 - 1)}
    assert queue_ns(environ, NOW_NS) == pytest.approx(10**9, rel=0.01)


def test_of_several_front_ends_the_first_counts() -> None:
    stamps = f"t={NOW_NS / 1e9 - 2:.3f}, t={NOW_NS / 1e9 - 1:.3f}"
    assert queue_ns({"HTTP_X_REQUEST_START": stamps}, NOW_NS) == pytest.approx(2 * 10**9, rel=0.01)


def test_a_clock_that_is_a_little_ahead_means_no_queue() -> None:
    assert queue_ns({"HTTP_X_REQUEST_START": str(NOW_NS / 1e9 + 0.5)}, NOW_NS) == 0


@pytest.mark.parametrize(
    "stamp", ["", "t=", "-5", "1e18", "12", str(NOW_NS / 1e9 + 60), str(NOW_NS / 1e9 - 7200), "٣" * 12]
)
def test_what_cannot_be_a_stamp_is_none(stamp: str) -> None:
    assert queue_ns({"HTTP_X_REQUEST_START": stamp}, NOW_NS) is None


@given(st.text(max_size=100))
def test_no_header_can_break_it(stamp: str) -> None:
    queued_ns = queue_ns({"HTTP_X_REQUEST_START": stamp}, NOW_NS)
    assert queued_ns is None or 0 <= queued_ns <= 3600 * 10**9
