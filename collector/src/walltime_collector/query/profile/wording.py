"""The words about a profile: the command and the page print the same words."""

from __future__ import annotations

from collections.abc import Iterator

from ...format import duration, percent, plural
from .answer import Profile


def notes(profile: Profile) -> Iterator[str]:
    """How much of the time is on a line, from how many samples, and what was counted twice."""
    yield coverage(profile)
    if profile.overlap_ns:
        yield f"{duration(profile.overlap_ns)} are counted twice: calls ran at the same time."


def coverage(profile: Profile) -> str:
    """`93.1 % of the time is on a named line (91 to 95 %): components, and lines from 812 samples.`"""
    of, samples = profile.coverage, sum(each.samples for each in profile.parts)
    words = f"{percent(of.share)} of the time is on a named line"
    if not samples:
        return f"{words}: components. No stack was sampled."
    interval = f" ({100 * of.low:.3g} to {percent(of.high)})" if of.low < of.high else ""
    return f"{words}{interval}: components, and lines from {plural(samples, 'sample')}."
