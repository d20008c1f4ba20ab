"""A page of words, some beside bars: rich draws it on a terminal; a pipe gets plain text, without importing rich."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.text import Text

_BAR: Final = 12
_WIDE: Final = 100
"""Columns from which on there are bars."""


class Words:
    """Text in styles of rich."""

    def __init__(self, text: str = "", style: str = "") -> None:
        self._parts = [(text, style)]

    def append(self, text: str, style: str = "") -> Words:
        """Add text in a style."""
        self._parts.append((text, style))
        return self

    def extend(self, words: Words) -> Words:
        """Add words in their styles."""
        self._parts += words._parts
        return self

    def __str__(self) -> str:
        return "".join([text for text, _ in self._parts])

    def __rich__(self) -> Text:
        from rich.text import Text

        return Text.assemble(*self._parts)


class Row(NamedTuple):
    """Words beside the bar of a share, and its label."""

    label: str
    share: float
    words: Words


class Page(NamedTuple):
    """Words above and below a table."""

    above: Sequence[Words]
    rows: Sequence[Row] = ()
    below: Sequence[Words] = ()

    def plain(self, width: int) -> Iterator[str]:
        """Lines of at most so many cells, with the letter of MySQL for bars."""
        for words in self.above:
            yield from _folded(words, width)
        margin = max((len(row.label) for row in self.rows), default=0)
        for at, row in enumerate(self.rows):
            letters = "m" * min(max(round(row.share * _BAR), 1), _BAR)
            bar = f"{letters:{_BAR}}  " if width >= _WIDE else ""
            left = f"{row.label:>{margin}}  {bar}"
            yield from [""] if at else []
            for line in _folded(row.words, width - len(left)):
                yield left + line
                left = " " * len(left)
        for words in self.below:
            yield from _folded(words, width)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.table import Table
        from rich.text import Text

        from .bars import COLOURS, LETTERS, is_coloured, span

        yield from self.above
        table = Table(box=None, pad_edge=False, padding=(0, 2, 1, 0), show_header=False)
        table.add_column(justify="right", no_wrap=True)
        if options.max_width >= _WIDE:
            table.add_column(width=_BAR, no_wrap=True)
        table.add_column(overflow="fold")
        for label, share, words in self.rows:
            bar = span(COLOURS["mysql"], LETTERS["mysql"], 0, share, _BAR, in_colour=is_coloured(console))
            table.add_row(Text(label), *([bar] if options.max_width >= _WIDE else []), words)
        yield from [table] if self.rows else []
        yield from self.below


def _folded(words: Words, width: int) -> Iterator[str]:
    from rich._wrap import divide_line  # what rich.text breaks lines with; it alone imports in a tenth of the time

    for line in str(words).split("\n"):
        at = 0
        for end in [*divide_line(line, max(width, 1)), len(line)]:
            yield line[at:end]
            at = end
