"""How people write which times `why` compares, and which of it is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from walltime_collector.errors import BadParameter
from walltime_collector.format import iso_time
from walltime_collector.query.windows import Comparison, Window, comparison, window

S = 1_000_000_000
NOON_NS = 1_795_262_400 * S  # 2026-11-21T12:00:00Z


@pytest.mark.parametrize(
    ("written", "start_ns", "end_ns"),
    [
        ("last 90s", NOON_NS - 90 * S, NOON_NS),
        (" Last  2h ", NOON_NS - 7200 * S, NOON_NS),
        ("5m..1m", NOON_NS - 300 * S, NOON_NS - 60 * S),
        ("5m ago .. 1m ago", NOON_NS - 300 * S, NOON_NS - 60 * S),
        ("5m..", NOON_NS - 300 * S, NOON_NS),
        ("5m..now", NOON_NS - 300 * S, NOON_NS),
        ("2026-11-21T11:00:00Z..2026-11-21T11:30:00Z", NOON_NS - 3600 * S, NOON_NS - 1800 * S),
        ("2026-11-21 11:00..2026-11-21 11:30", NOON_NS - 3600 * S, NOON_NS - 1800 * S),
        ("2026-11-21T12:30+01:30..2026-11-21T06:59:59.25-0500", NOON_NS - 3600 * S, NOON_NS - S + S // 4),
        ("2026-11-21T11:00:00.000000001Z..1m", NOON_NS - 3600 * S + 1, NOON_NS - 60 * S),
        ("2026-11-21..now", NOON_NS - 43_200 * S, NOON_NS),
    ],
)
def test_a_window_is_read_to_the_nanosecond(written: str, start_ns: int, end_ns: int) -> None:
    assert window("during", written, NOON_NS) == Window(start_ns, end_ns)


@given(
    st.tuples(*[st.integers(min_value=0, max_value=NOON_NS - 1)] * 2).map(sorted).filter(lambda ends: ends[0] < ends[1])
)
def test_printed_times_are_valid_parameters(ends: list[int]) -> None:
    assert window("during", f"{iso_time(ends[0])}..{iso_time(ends[1])}", NOON_NS) == Window(*ends)


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("yesterday", "is not a window of time; write 'last 90s' or START..END"),
        ("5m", "is not a window of time"),
        ("..5m", "is not a window of time"),
        ("5..1", "is not a window of time"),
        ("last", "is not a window of time"),
        ("last 0s", "is not a window of time"),
        ("last 500d", "is not a window of time"),
        ("5m..1m..now", "is not a window of time"),
        ("1m..5m", "ends before it starts"),
        ("now..now", "ends before it starts"),
        ("2026-13-01..now", "there is no time"),
        ("2026-02-30T10:00..now", "there is no time"),
        ("9999-01-01..9999-01-02", "there is no time"),
        ("1969-01-01..now", "there is no time"),
        ("2026-11-21T12:00:01Z..2026-11-21T12:30:00Z", "has not begun yet"),
        ("\x1b[31m\n..now", "is not a window of time"),
    ],
)
def test_what_is_no_window_is_refused_with_what_would_be_one(written: str, says: str) -> None:
    with pytest.raises(BadParameter) as caught:
        window("during", written, NOON_NS)
    assert says in str(caught.value)
    assert caught.value.where == "during"
    assert "\x1b" not in str(caught.value)


@given(st.text(max_size=40))
def test_whatever_is_written_is_a_window_or_refused(written: str) -> None:
    try:
        read = window("during", written, NOON_NS)
    except BadParameter:
        return
    assert 0 <= read.start_ns < read.end_ns


def test_without_against_a_time_is_compared_with_what_was_before_it() -> None:
    before = Window(NOON_NS - 960 * S, NOON_NS - 60 * S)
    assert comparison(NOON_NS, during="last 1m", since="15m") == Comparison(Window(before.end_ns, NOON_NS), before)


def test_without_during_the_slowest_of_the_last_hour_are_compared_with_the_others() -> None:
    hour = Window(NOON_NS - 3600 * S, NOON_NS)
    assert comparison(NOON_NS) == Comparison(hour, hour, 5.0)
    assert comparison(NOON_NS, slowest=1, since="1h") == Comparison(hour, hour, 1)


def test_a_time_can_be_compared_with_a_later_one() -> None:
    compared = comparison(NOON_NS, during="20m..10m", against="last 5m")
    assert compared.slow.end_ns < compared.usual.start_ns


@pytest.mark.parametrize(
    ("options", "where"),
    [
        ({"against": "5m..1m"}, "against"),
        ({"during": "5m..1m", "against": "2m..now"}, "against"),
        ({"during": "5m..1m", "against": "10m..now"}, "against"),
        ({"during": "5m..1m", "slowest": 5.0}, "slowest"),
        ({"slowest": 0.0}, "slowest"),
        ({"slowest": 51.0}, "slowest"),
        ({"slowest": float("nan")}, "slowest"),
        ({"since": "soon"}, "since"),
    ],
)
def test_options_that_contradict_each_other_or_make_no_sense_are_refused(options: dict[str, str], where: str) -> None:
    with pytest.raises(BadParameter) as caught:
        comparison(NOON_NS, **options)  # type: ignore[arg-type]
    assert caught.value.where == where
