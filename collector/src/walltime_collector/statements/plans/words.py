"""Plans in words: one line of a plan, and what is different in another one."""

from __future__ import annotations

from collections.abc import Iterator

from ...format import plural
from .shape import FULLTEXT, INDEX_SCAN, LOOKUP, RANGE, SCAN, Step

_WORDS = {
    LOOKUP: "index {key}",
    RANGE: "range of index {key}",
    INDEX_SCAN: "full scan of index {key}",
    SCAN: "full scan",
    FULLTEXT: "full-text index {key}",
}


def summary(plan: Step) -> str:
    """`products: index `category_id`; reviews: full scan`."""
    return "; ".join(f"{each.table}: {_words(each)}" for each in plan.tables())


def lines(plan: Step) -> Iterator[tuple[int, str]]:
    """The plan as a tree: depth and text of each line."""
    for step in plan.steps:
        yield from _lines(step, 0)


def _lines(step: Step, depth: int) -> Iterator[tuple[int, str]]:
    about = f"{step.table}: {_words(step)}" if step.table else step.does
    if step.parts > 1:
        about += f", {step.parts} of its columns"
    yield depth, about + (f", about {plural(step.rows, 'row')}" if step.rows else "")
    for each in step.steps:
        yield from _lines(each, depth + 1)


def change(old: Step, new: Step) -> str:
    """`index `category_id` → full scan`, of each table where there are several; in another order, their order."""
    before, after = list(old.tables()), list(new.tables())
    names = [each.table for each in before]
    if sorted(names) != sorted(each.table for each in after):
        return f"{summary(old)} → {summary(new)}"
    if names != [each.table for each in after] and len(set(names)) == len(names):
        order = f"tables in the order {', '.join(names)} → {', '.join(each.table for each in after)}"
        by_name = {each.table: each for each in after}
        pairs = [(each, by_name[each.table]) for each in before]
    else:
        order, pairs = "", list(zip(before, after, strict=True))
    changed = [
        f"{words}{f' of {one.table}' if len(names) > 1 else ''}" for one, two in pairs if (words := _changed(one, two))
    ]
    return "; ".join([*changed, *([order] if order else [])])


def _changed(one: Step, two: Step) -> str:
    before, after = _words(one), _words(two)
    if before == after and one.parts != two.parts:
        return f"{before}, {one.parts} of its columns → {two.parts}"
    return f"{before} → {after}" if before != after else ""


def _words(step: Step) -> str:
    if step.does == LOOKUP and not step.key:
        return "its only row"
    return _WORDS.get(step.does, step.does).format(key=f"`{step.key}`")
