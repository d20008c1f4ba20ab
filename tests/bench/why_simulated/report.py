"""The table for docs/measurements.md, and single answers for whoever looks for a reason."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from .changed import CHANGES
from .pairs import Judged

FALSE_BAR, NAMED_BAR, INSIDE_BAR = 0.01, 0.95, 0.95


def wilson(successes: int, trials: int, z: float = 1.96) -> tuple[float, float]:
    """
    An interval of 95 % for a share.

    Source: Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22, 1927.
    """
    share, per = successes / trials, z * z / trials
    middle, half = share + per / 2, z * math.sqrt(share * (1 - share) / trials + per / trials / 4)
    return (middle - half) / (1 + per), (middle + half) / (1 + per)


def markdown(judged: Mapping[str, Sequence[Judged]]) -> str:
    """A table of the families without a change, and one of those with one."""
    unchanged = {name: answers for name, answers in judged.items() if name not in CHANGES}
    changed = {name: answers for name, answers in judged.items() if name in CHANGES}
    lines = []
    if unchanged:
        lines += ["| nothing changed | answers | false | small | which |", "|---|---|---|---|---|"]
        for name, answers in unchanged.items():
            sorts = Counter(each for answer in answers for each in sorted(set(answer.false)))
            which = ", ".join(f"{each} {times}" for each, times in sorts.most_common())
            small = sum(answer.verdict == "small" for answer in answers)
            false = _share([bool(each.false) for each in answers], most=FALSE_BAR)
            lines.append(f"| {name} | {len(answers):,} | {false} | {small} | {which} |")
    if changed:
        lines += [""] * bool(lines)
        lines += ["| changed | answers | named, nothing false | number within its interval | not named | false |"]
        lines += ["|---|---|---|---|---|---|"]
        for name, answers in changed.items():
            sorts = Counter(each for answer in answers for each in sorted(set(answer.false)))
            named = _share([each.is_true for each in answers], least=NAMED_BAR)
            inside = _share([each.is_inside for each in answers], least=INSIDE_BAR)
            not_named = sum(not each.is_named for each in answers)
            which = ", ".join(f"{each} {times}" for each, times in sorts.most_common())
            lines.append(f"| {name} | {len(answers):,} | {named} | {inside} | {not_named} | {which} |")
    return "\n".join(lines)


def example(each: Judged) -> str:
    """One answer, and how to ask for it again."""
    what = "; ".join(
        [f"false: {', '.join(each.false)}"] * bool(each.false)
        + ["not named"] * (not each.is_named)
        + ["number outside"] * (not each.is_inside)
    )
    sides = f"{each.usual:,} usual, {each.slow:,} slow"
    again = f"--family '{each.family}' --first {each.pair} --pairs 1"
    return "\n    ".join(
        [f"{again}: {what or 'true'}; {sides}", f"{each.verdict}; ms: {each.numbers}", *each.sentences]
    )


def _share(are_so: Sequence[bool], *, most: float = 1.0, least: float = 0.0) -> str:
    """With its interval; bold where it misses its bar."""
    low, high = wilson(sum(are_so), len(are_so))
    share = sum(are_so) / len(are_so)
    words = f"{share:.1%}".replace("%", " %")
    words = f"**{words}**" if share > most or share < least else words
    return f"{words} ({100 * low:.1f}–{100 * high:.1f})"
