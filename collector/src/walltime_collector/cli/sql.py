"""`walltime sql`: the answer to one statement, as a table for people or as CSV."""

from __future__ import annotations

import csv
import io
import json
import re
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..answers import Selected
from ..people import count, plural, printable

MOST_ROWS = 1_000
"""Beyond this nobody reads; the whole answer is in --csv and --json."""
_NUMBER = re.compile(r"(Nullable\(|LowCardinality\()*(U?Int|Float|Decimal|BFloat)\d*")


def render(answer: Selected, console: Console) -> RenderableType:
    """What the terminal shows; in a pipe every row is one line, however long."""
    if not console.is_terminal:
        console.width = 100_000
    table = Table(box=None, pad_edge=False, header_style="dim", show_edge=False)
    for column in answer.columns:
        is_number = bool(_NUMBER.match(column.type))
        table.add_column(Text(printable(column.name)), justify="right" if is_number else "left", overflow="fold")
    for row in answer.rows[:MOST_ROWS]:
        table.add_row(*(_cell(value) for value in row))
    more = len(answer.rows) - MOST_ROWS
    end = f"{count(more)} more of {plural(len(answer.rows), 'row')}: --csv" if more > 0 else ""
    return Group(table, Text(end or plural(len(answer.rows), "row"), "dim"))


def csv_text(answer: Selected) -> str:
    """A line of names and a line per row; NULL is an empty field, arrays and maps are JSON."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([column.name for column in answer.columns])
    writer.writerows([["" if value is None else _plain(value) for value in row] for row in answer.rows])
    return out.getvalue()


def _cell(value: Any) -> Text:
    return Text("NULL", "dim") if value is None else Text(printable(_plain(value)))


def _plain(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)
