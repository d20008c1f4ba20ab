"""Durations, counts and foreign text as people read them."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from walltime_collector.format import count, duration, milliseconds, percent, printable, ratio, share, since_s, size

UNITS = {"µs": 1e3, "ms": 1e6, "s": 1e9}


@pytest.mark.parametrize(
    ("ns", "said"),
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
def test_a_duration_has_three_significant_digits_and_the_unit_that_fits(ns: int, said: str) -> None:
    assert duration(ns) == said


@given(st.integers(min_value=1_000, max_value=10**15))
def test_a_duration_says_the_time_to_half_a_per_cent_with_at_most_three_digits_below_1000_s(ns: int) -> None:
    number, unit = duration(ns).split(" ")
    said_ns = float(number.replace(",", "")) * UNITS[unit]
    assert abs(said_ns - ns) <= 0.005 * ns
    if unit != "s" or ns < 999 * UNITS["s"]:
        assert len(re.sub(r"\D", "", number)) == 3
        assert float(number) < 1000


@given(st.integers(min_value=1, max_value=10**15), st.integers(min_value=1, max_value=10**15))
def test_a_longer_time_never_reads_as_a_shorter_one(one_ns: int, other_ns: int) -> None:
    def said(ns: int) -> float:
        number, unit = duration(ns).split(" ")
        return float(number.replace(",", "")) * UNITS[unit]

    shorter, longer = sorted((one_ns, other_ns))
    assert said(shorter) <= said(longer)


@given(st.text())
def test_foreign_text_reaches_the_terminal_as_one_line_without_anything_invisible(text: str) -> None:
    safe = printable(text)
    assert all(unicodedata.category(letter)[0] not in "CZ" or letter == " " for letter in safe)
    assert printable(safe) == safe


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("a\x1b]0;owned\x07b", "a b"),
        ("a\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "a link"),
        ("SELECT 1\n  FROM t\t", "SELECT 1 FROM t"),
        ("c\x9b2Jd", "c 2Jd"),
        ("\u202egnp.exe", "gnp.exe"),
    ],
)
def test_escape_sequences_go_away_whole(text: str, said: str) -> None:
    assert printable(text) == said


def test_a_ratio_is_100_per_cent_only_when_nothing_is_missing() -> None:
    assert ratio(10, 10) == "100 %"
    assert ratio(99_999, 100_000) == "99.9 %"
    assert ratio(1, 100_000) == "0.1 %"
    assert ratio(0, 10) == "0 %"
    assert ratio(93, 100) == "93 %"


def test_shares_and_counts_keep_what_says_something() -> None:
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
def test_how_far_to_look_back_is_read_in_four_units(text: str, seconds: int) -> None:
    assert since_s(text) == seconds


@pytest.mark.parametrize("text", ["", "15", "m", "-5m", "0m", "401d", "1w", "15m; DROP", "１５m", "9" * 12 + "s"])
def test_what_is_no_time_to_look_back_is_refused_with_how_to_write_it(text: str) -> None:
    with pytest.raises(ValueError, match="write 90s, 15m, 2h or 7d"):
        since_s(text)


@pytest.mark.parametrize(
    ("number_bytes", "said"),
    [(0, "0 B"), (999, "999 B"), (1000, "0.98 KiB"), (20 * 1024**2, "20.0 MiB"), (1.5 * 1024**4, "1.50 TiB")],
)
def test_a_size_has_three_digits_and_a_unit(number_bytes: float, said: str) -> None:
    assert size(number_bytes) == said
