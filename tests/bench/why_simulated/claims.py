"""What an answer of `why` claims, and which of it is false."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from walltime_collector.query.why.answer import Why

from . import changed

HARMLESS: Final = ("single", "circumstance")
"""Findings that are true by themselves: single transactions that are named, and what changed at the same time."""
_ABOUT: Final = {
    r"^Everything alike": "machine",
    r"^The mix of": "mix",
    r"^(On|For|In|With|More of|All have) ": "value",
    r"^Waiting for ": "wait",
    r"^The (garbage collector|interpreter)": "process",
    r"^Before they began": "queue",
    r"^The times alone": "calls",
    r"^[a-z.]+ on ": "servers",
}


@dataclass(frozen=True)
class Claim:
    """A sentence beyond the first one."""

    about: str
    subject: str
    sentence: str


def claims(answer: Why) -> list[Claim]:
    """In the order of the answer."""
    findings: Sequence[Any] | None = getattr(answer, "findings", None)
    if findings is not None:
        return [Claim(each.about, each.subject, each.sentence) for each in findings]
    return [Claim(_about(each), "", each) for each in answer.sentences[1:]]


def false_of_unchanged(answer: Why) -> list[str]:
    """Each is `different`, or what a sentence claims to have found."""
    verdict = ["different"] if answer.verdict == "different" else []
    return verdict + [each.about for each in claims(answer) if each.about not in HARMLESS]


def named(answer: Why, change: str, variant: int) -> bool:
    """The cause is in a sentence."""
    return any(re.search(changed.CHANGES[change].names(variant), each.sentence) for each in claims(answer))


def false_of_changed(answer: Why, change: str, variant: int) -> list[str]:
    """Sentences that speak of something else than what changed."""
    of = changed.CHANGES[change]
    allowed = re.compile(f"{of.names(variant)}|{of.true(variant)}|^The times alone")
    return [each.about for each in claims(answer) if each.about not in HARMLESS and not allowed.search(each.sentence)]


def _about(sentence: str) -> str:
    return next((about for pattern, about in _ABOUT.items() if re.search(pattern, sentence)), "component")
