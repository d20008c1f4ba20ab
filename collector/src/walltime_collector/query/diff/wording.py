"""What the command and the page say about an answer of `diff`."""

from __future__ import annotations

from ...format import count, percent, plural
from ..names import shown
from ..why import wording
from ..why.answer import Contribution
from .answer import Diff, KindDifference, StatementDifference

_MOST_COMPONENTS = 3
_PERHAPS_CHANCE = 0.01


def changed(answer: Diff) -> list[KindDifference]:
    """Those that are slower or faster, or fail more or less, or have more or fewer single ones, beyond chance."""
    return [each for each in answer.kinds if each.change in ("slower", "faster") or each.failed or each.singles]


def one_sided(answer: Diff) -> list[KindDifference]:
    """Those that are new or gone."""
    return [each for each in answer.kinds if each.change in ("new", "gone")]


def change(each: KindDifference) -> str:
    """`slower`, `faster`, `more failed`, `fewer failed`, `more very long`, `fewer very long`."""
    if each.change in ("slower", "faster"):
        return each.change
    return f"{each.failed} failed" if each.failed else f"{each.singles} very long"


def relative(each: KindDifference) -> str:
    """`+38 %`."""
    return f"{'+' if each.relative > 0 else '−'}{percent(abs(each.relative))}"


def singles(each: KindDifference) -> str:
    """`beside these, 1 of 300 transactions takes far longer (0 of 1,200 before): +20.1 ms of the mean`."""
    if not (each.single_ns and each.usual and each.now):
        return ""
    now, usual = (f"{count(side.singles)} of {count(side.transactions)}" for side in (each.now, each.usual))
    moved = wording.signed(each.single_ns)
    return f"beside these, {now} transactions took far longer, before {usual}: {moved} of the mean of all"


def components(each: KindDifference) -> list[Contribution]:
    """The components that carry the difference."""
    return wording.worth_showing(each.components)[0][:_MOST_COMPONENTS]


def calls(part: Contribution) -> str:
    """`3 → 9 calls, 8.97 ms → 14.8 ms each`, of a transaction."""
    calls, per_call = wording.calls(part), wording.per_call(part)
    many = f"{calls} {'call' if calls == '1' else 'calls'}"
    return ", ".join(filter(None, (calls and many, per_call and f"{per_call} each")))


def is_perhaps_chance(each: KindDifference) -> bool:
    """Whether a kind is so rare that it may be on one side only by chance."""
    return each.p_value is not None and each.p_value >= _PERHAPS_CHANCE


def sent(each: StatementDifference) -> str:
    """`sent by 34 of 35 GET /search, on the other side by none of 1,200`."""
    return (
        f"sent by {count(each.sent)} of {count(each.of)} {shown(each.name)}, on the other side by none of"
        f" {count(each.others)}"
    )


def rest(answer: Diff) -> list[str]:
    """How many kinds were tested, and how many are not listed and why."""
    counted = [
        ("chance", "no difference beyond chance"),
        ("small", "beyond chance, but less than 5 %"),
        ("too_few", "fewer than 10 transactions on a side, or all of them at one time"),
    ]
    lines = [f"{plural(answer.tested, 'kind')} tested; chances are corrected for so many."]
    for one, what in counted:
        if many := sum(each.change == one and not (each.failed or each.singles) for each in answer.kinds):
            lines.append(f"{plural(many, 'other kind')}: {what}.")
    if moved := [each for each in answer.kinds if each.single_ns and each.change == "chance" and not each.singles]:
        most = max(moved, key=lambda each: abs(each.single_ns))
        by = f"{shown(most.name)} by {wording.signed(most.single_ns)}, typically {wording.signed(most.difference_ns)}"
        lines.append(f"Only single transactions moved the mean of {plural(len(moved), 'kind')}: {by}.")
    return lines
