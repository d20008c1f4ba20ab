"""The output of `walltime find`: one line for each transaction."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from ...format import count, duration, printable, shell_command
from ...query.components import family
from ...query.find.answer import Match, Matches
from ...query.find.wording import sort_value
from ...query.names import shown
from ..drawing.bars import COLOURS

_TRACE_DIGITS = 12
"""`walltime show` takes the beginning of a trace id."""
_WITHOUT_COLUMN = ("time", "duration", "end")


def render(matches: Matches, params: Mapping[str, str | int], console: Console) -> RenderableType:
    """Return what the terminal shows."""
    if not matches.matches:
        return Text("No transaction of this time matches. --since looks further back.")
    parts: list[RenderableType] = [table(matches.matches, matches.sort, console.width)]
    if matches.next:
        command = shell_command("walltime find", **params, after=matches.next)
        parts.append(Text(f"\nnext page: {command}", "dim", no_wrap=True, overflow="ignore"))  # to copy whole
    return Group(*parts)


def table(matches: tuple[Match, ...], sort: str, width: int) -> Table:
    """The rows; a number that they are sorted by has a column of its own."""
    has_value = sort not in _WITHOUT_COLUMN
    several = len({each.service for each in matches}) > 1
    rows = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    rows.add_column("started (UTC)", no_wrap=True)
    rows.add_column("duration", justify="right", no_wrap=True)
    if has_value:
        rows.add_column(sort, justify="right", no_wrap=True)
    rows.add_column("status", no_wrap=True)
    rows.add_column("kind", overflow="fold", min_width=12, max_width=max(width // 4, 12))
    if several:
        rows.add_column("service", overflow="fold", max_width=max(width // 8, 8))
    rows.add_column("where its time went", overflow="fold", ratio=1)
    rows.add_column("walltime show", no_wrap=True)
    for each in matches:
        value = [Text(sort_value(each.sort_value, sort))] if has_value else []
        service = [Text(printable(each.service), "dim")] if several else []
        rows.add_row(*_beginning(each), *value, *_status_and_kind(each), *service, _spent(each), _trace(each))
    return rows


def line(match: Match) -> Text:
    """One transaction on one line, for --follow."""
    parts = [*_beginning(match), *_status_and_kind(match), Text(printable(match.service), "dim")]
    return Text("  ").join([*parts, _spent(match), _trace(match)])


def _beginning(match: Match) -> tuple[Text, Text]:
    return Text(match.started_at[:23].replace("T", " ")), Text(duration(match.duration_ns), "bold")


def _status_and_kind(match: Match) -> tuple[Text, Text]:
    status = str(match.http_status) if match.http_status else "failed" if match.is_error else ""
    return Text(status, "bold red" if match.is_error else "green"), Text(shown(match.name))


def _spent(match: Match) -> Text:
    """The three most expensive components; `other` is one of them."""
    parts = [(each.time_ns, each.name, f" {duration(each.time_ns)} ×{count(each.calls)}") for each in match.components]
    parts.append((match.other_ns, "other", f" {duration(match.other_ns)}"))
    texts = [
        Text(printable(name), COLOURS[family(name)]).append(words, "default")
        for time_ns, name, words in sorted(parts, reverse=True)[:3]
        if time_ns
    ]
    return Text("  ").join(texts)


def _trace(match: Match) -> Text:
    return Text(match.trace_id[:_TRACE_DIGITS], "dim")
