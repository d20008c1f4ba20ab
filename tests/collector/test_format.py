"""Formatting of durations, counts and text from outside."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from walltime_collector.format import (
    age,
    count,
    duration,
    milliseconds,
    percent,
    printable,
    ratio,
    share,
    since_s,
    size,
    time_span,
)

UNITS = {"µs": 1e3, "ms": 1e6, "s": 1e9}


@pytest.mark.parametrize(
    ("ns", "expected"),
    [
        (0, "0 ms"),
        (5, "0.01 µs"),
        (412_000, "412 µs"),
        (999_499, "999 µs"),
        (999_500, "1.00 ms"),
        (12_400_000, "12.4 ms"),
        (999_600_000, "1.00 s"),
        (1_020_000_000, "1.02 s"),
        (5_130_000_000_000, "5,130 s"),
        (-1_500_000, "−1.50 ms"),
    ],
)
def test_a_duration_has_three_significant_digits_and_the_unit_that_fits(ns: int, expected: str) -> None:
    assert duration(ns) == expected


@given(st.integers(min_value=1_000, max_value=10**15))
def test_a_duration_is_exact_to_half_a_percent_with_at_most_three_digits_below_1000_s(ns: int) -> None:
    number, unit = duration(ns).split(" ")
    said_ns = float(number.replace(",", "")) * UNITS[unit]
    assert abs(said_ns - ns) <= 0.005 * ns
    if unit != "s" or ns < 999 * UNITS["s"]:
        assert len(re.sub(r"\D", "", number)) == 3
        assert float(number) < 1000


@given(st.integers(min_value=1, max_value=10**15), st.integers(min_value=1, max_value=10**15))
def test_a_longer_duration_is_never_formatted_as_a_shorter_one(one_ns: int, other_ns: int) -> None:
    def in_ns(ns: int) -> float:
        number, unit = duration(ns).split(" ")
        return float(number.replace(",", "")) * UNITS[unit]

    shorter, longer = sorted((one_ns, other_ns))
    assert in_ns(shorter) <= in_ns(longer)


@given(st.text())
def test_text_from_outside_becomes_one_line_without_invisible_characters(text: str) -> None:
    safe = printable(text)
    assert all(unicodedata.category(letter)[0] not in "CZ" or letter == " " for letter in safe)
    assert printable(safe) == safe


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("a\x1b]0;owned\x07b", "a b"),
        ("a\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "a link"),
        ("SELECT 1\n  FROM t\t", "SELECT 1 FROM t"),
        ("c\x9b2Jd", "c 2Jd"),
        ("\u202egnp.exe", "gnp.exe"),
    ],
)
def test_escape_sequences_are_removed(text: str, expected: str) -> None:
    assert printable(text) == expected


def test_a_ratio_is_100_percent_only_without_misses() -> None:
    assert ratio(10, 10) == "100 %"
    assert ratio(99_999, 100_000) == "99.9 %"
    assert ratio(1, 100_000) == "0.1 %"
    assert ratio(0, 10) == "0 %"
    assert ratio(93, 100) == "93 %"


def test_shares_and_counts_keep_significant_digits() -> None:
    assert [share(0), share(0.0001), share(0.621), share(1)] == ["0 %", "<0.1 %", "62.1 %", "100 %"]
    assert [count(1), count(9.8), count(12345.6), count(0.04), count(0.0001)] == [
        "1",
        "9.8",
        "12,346",
        "0.04",
        "<0.001",
    ]
    assert percent(0.1) == "10 %"
    assert milliseconds(1_021_304_400) == "1,021.304"


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("15m", 900), ("2h", 7200), (" 7d ", 604_800)])
def test_a_length_of_time_has_four_units(text: str, seconds: int) -> None:
    assert since_s(text) == seconds


@pytest.mark.parametrize("text", ["", "15", "m", "-5m", "0m", "401d", "1w", "15m; DROP", "１５m", "9" * 12 + "s"])
def test_an_invalid_length_of_time_is_refused_with_valid_examples(text: str) -> None:
    with pytest.raises(ValueError, match="write 90s, 15m, 2h or 7d"):
        since_s(text)


@pytest.mark.parametrize(
    ("number_bytes", "expected"),
    [(0, "0 B"), (999, "999 B"), (1000, "0.98 KiB"), (20 * 1024**2, "20.0 MiB"), (1.5 * 1024**4, "1.50 TiB")],
)
def test_a_size_has_three_digits_and_a_unit(number_bytes: float, expected: str) -> None:
    assert size(number_bytes) == expected


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(-3, "0 s"), (0, "0 s"), (119, "119 s"), (120, "2 min"), (7_200, "2 h"), (172_799, "48 h"), (400_000, "5 days")],
)
def test_an_age_is_rounded_to_one_unit(seconds: float, expected: str) -> None:
    assert age(seconds) == expected


@pytest.mark.parametrize(
    ("until", "expected"),
    [
        ("2026-11-23T23:39:27.000000000Z", "2026-11-23 23:39:26 … 23:39:27 UTC"),
        ("2026-11-24T00:06:26.500000000Z", "2026-11-23 23:39:26 … 00:06:26 UTC"),
        ("2026-11-24T23:39:25.000000000Z", "2026-11-23 23:39:26 … 23:39:25 UTC"),
        ("2026-11-24T23:39:26.000000000Z", "2026-11-23 23:39:26 … 2026-11-24 23:39:26 UTC"),
        ("2026-12-01T00:00:00.000000000Z", "2026-11-23 23:39:26 … 2026-12-01 00:00:00 UTC"),
    ],
)
def test_a_span_of_less_than_a_day_has_one_date(until: str, expected: str) -> None:
    assert time_span("2026-11-23T23:39:26.000000000Z", until) == expected
