"""What an answer of `why` claims, and which of it is false."""

from __future__ import annotations

import re
from typing import Final

from walltime_collector.query.why.answer import Why

from . import changed

HARMLESS: Final = ("whole", "single", "circumstance")
"""Findings that are true by themselves: single transactions that are named, and what changed at the same time."""


def false_of_unchanged(answer: Why) -> list[str]:
    """Each is `different`, or what a sentence claims to have found."""
    verdict = ["different"] if answer.verdict == "different" else []
    return verdict + [each.about for each in answer.findings if each.about not in HARMLESS]


def named(answer: Why, change: str, variant: int) -> bool:
    """The cause is in a sentence."""
    return any(re.search(changed.CHANGES[change].names(variant), each.sentence) for each in answer.findings)


def false_of_changed(answer: Why, change: str, variant: int) -> list[str]:
    """Sentences that speak of something else than what changed."""
    of = changed.CHANGES[change]
    allowed = re.compile(f"{of.names(variant)}|{of.true(variant)}|^The times alone")
    return [each.about for each in answer.findings if each.about not in HARMLESS and not allowed.search(each.sentence)]
