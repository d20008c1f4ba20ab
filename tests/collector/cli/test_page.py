"""A pipe gets the text that rich draws on a terminal without colours."""

from __future__ import annotations

import io

from hypothesis import example, given
from hypothesis import strategies as st
from rich.console import Console
from walltime_collector.cli.drawing.page import Page, Row, Words

STYLES = ("", "bold", "dim", "yellow", "bold red")
written = st.text(st.sampled_from("ab1 ,.-(漢é…µ"), max_size=60)
words = st.lists(st.tuples(st.one_of(written, st.just("\n")), st.sampled_from(STYLES)), max_size=12)
LONG = [("select ", "bold"), ("column_" * 40, ""), ("\nserver ", "dim"), ("12 logged, " * 12, "")]


def of(parts: list[tuple[str, str]]) -> Words:
    found = Words()
    for text, style in parts:
        found.append(text, style)
    return found


@given(words, st.lists(st.tuples(st.floats(0, 1), words), max_size=3), st.integers(40, 130))
@example(LONG, [(0.999, LONG), (0.0004, LONG)], 120)
def test_a_pipe_gets_what_rich_draws(
    above: list[tuple[str, str]], rows: list[tuple[float, list[tuple[str, str]]]], width: int
) -> None:
    page = Page([of(above), Words()], [Row(f"{share:.1%}", share, of(parts)) for share, parts in rows], [of(above)])
    console = Console(width=width, color_system=None, file=io.StringIO())
    with console.capture() as capture:
        console.print(page, crop=False)
    assert [line.rstrip() for line in page.plain(width)] == [line.rstrip() for line in capture.get().splitlines()]
