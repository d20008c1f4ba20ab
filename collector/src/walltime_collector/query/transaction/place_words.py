"""The words about the place of a transaction among the others of its kind, and of what is unusual about it."""

from __future__ import annotations

import math

from ...format import count, percent, plural, printable
from .place import FEWEST, Place, Rare, Unusual

BESIDE = ("CPU", "cpu.wait", "loop.wait", "queue")
"""What is compared besides the components of the bill."""
COUNTERS = {"time_ns": "time", "per_call_ns": "time per call"}
_LEAST_RATIO, _MOST_RATIO = 0.01, 10_000


def percentile(quantile: float, others: int, least: str = "the fastest", most: str = "the slowest") -> str:
    """`p37`, `p99.2`, `the slowest`: rounded down, with as many digits as so many others support."""
    if quantile in (0, 1):
        return most if quantile else least
    digits = 0 if others < 200 or 0.01 <= quantile < 0.99 else 2 if others >= 20_000 and quantile > 0.999 else 1
    scale = 10**digits
    return f"p{math.floor(quantile * 100 * scale + 1e-6) / scale:.{digits}f}"


def place_sentence(place: Place) -> str:
    """Its place in words, or why it has none."""
    if not place.others:
        return "No other transaction of this kind is stored around this time."
    if place.quantile is None:
        others = plural(place.others, "other transaction")
        return f"Only {others} of this kind: with fewer than {FEWEST}, no place is given and nothing is called unusual."
    if place.quantile == 1:
        return f"The slowest: all {count(place.others)} others took less time."
    if place.quantile == 0:
        return f"The fastest: all {count(place.others)} others took more time."
    return (
        f"{percentile(place.quantile, place.others)}: {count(place.shorter)} of {count(place.others)} others took less"
        " time."
    )


def ratio(unusual: Unusual) -> str:
    """`15×`; empty where it says nothing."""
    if unusual.ratio is None or not _LEAST_RATIO <= unusual.ratio <= _MOST_RATIO:
        return ""
    return f"{count(float(f'{unusual.ratio:.2g}'))}×"


def rare_sentence(rare: Rare) -> str:
    """`status 404: 1.2 % of the others have it, 98 % have 200`."""
    value, usual = printable(rare.value) or "unknown", printable(rare.usual) or "none"
    share = f"{percent(rare.share)} of the others have it" if rare.share else "none of the others has it"
    return f"{rare.name} {value}: {share}, {percent(rare.usual_share)} have {usual}"
