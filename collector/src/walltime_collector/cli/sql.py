"""The output of `walltime sql`: a table, one line per value, or CSV."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..format import count, plural, printable
from ..query.answers import Selected

MOST_ROWS = 1_000
"""--csv and --json have all rows."""
_WIDEST = 100_000
_NUMBER = re.compile(r"(Nullable\(|LowCardinality\()*(U?Int|Float|Decimal|BFloat)\d*")


def render(answer: Selected, console: Console, *, is_vertical: bool | None = None) -> RenderableType:
    """
    Return what the terminal shows; in a pipe a row is one line, however long.

    Args:
        is_vertical: One line per value; None: only if a row is wider than the terminal.
    """
    shown = answer.rows[:MOST_ROWS]
    more = len(answer.rows) - len(shown)
    end = f"{count(more)} more of {plural(len(answer.rows), 'row')}: --csv" if more > 0 else ""
    last = Text(end or plural(len(answer.rows), "row"), "dim")
    table = _table(answer, shown)
    if is_vertical is None:
        is_vertical = console.is_terminal and bool(shown) and _width(table, console) > console.width
    if is_vertical:
        return Group(*_vertical(answer, shown), last)
    if not console.is_terminal:
        console.width = _WIDEST
    return Group(table, last)


def _table(answer: Selected, rows: list[list[Any]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", show_edge=False)
    for column in answer.columns:
        is_number = bool(_NUMBER.match(column.type))
        table.add_column(Text(printable(column.name)), justify="right" if is_number else "left", overflow="fold")
    for row in rows:
        table.add_row(*(_cell(value) for value in row))
    return table


def _width(table: Table, console: Console) -> int:
    return console.measure(table, options=console.options.update_width(_WIDEST)).maximum


def _vertical(answer: Selected, rows: list[list[Any]]) -> Iterator[RenderableType]:
    for number, row in enumerate(rows, 1):
        yield Text(f"row {count(number)}", "dim")
        values = Table.grid(padding=(0, 2), pad_edge=False)
        values.add_column(style="dim", no_wrap=True)
        values.add_column(overflow="fold")
        for column, value in zip(answer.columns, row, strict=True):
            values.add_row(Text(printable(column.name)), _cell(value))
        yield values
        yield Text("")


def csv_text(answer: Selected) -> str:
    """A header and one line per row; NULL is an empty field, arrays and maps are JSON."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([column.name for column in answer.columns])
    writer.writerows([["" if value is None else _text(value) for value in row] for row in answer.rows])
    return out.getvalue()


def _cell(value: Any) -> Text:
    return Text("NULL", "dim") if value is None else Text(printable(_text(value)))


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)
