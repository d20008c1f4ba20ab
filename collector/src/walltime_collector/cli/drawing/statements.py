"""The statements of a bill: the client's time, and the server's from its slow log."""

from __future__ import annotations

from collections.abc import Iterable

from rich.table import Table
from rich.text import Text

from ...format import count, duration, plural, printable
from ...query.answers import Bill
from ...query.transaction import wording
from ...query.transaction.wording import Remark

_STYLES = {"": "dim", "plain": "", "warning": "yellow", "error": "bold red"}


def statements(bill: Bill) -> Table:
    """One row per statement, the most expensive first; below it the server's side, if the slow log has it."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    for _ in range(2):
        table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    for statement, logged in wording.statements(bill):
        words = Text(printable(statement.text))
        if statement.errors:
            words.append(f"   {plural(statement.errors, 'error')}", "bold red")
        if logged:
            words.append("\n").append_text(remarks(logged))
        table.add_row(Text(f"×{count(statement.calls)}"), Text(duration(statement.time_ns)), words)
    for only_logged in bill.logged:
        words = Text(printable(only_logged.text) or "(empty)", "dim").append("\n")
        words.append_text(remarks(wording.server_side(only_logged.server)))
        table.add_row(Text(f"×{count(only_logged.server.entries)}", "dim"), Text(), words)
    return table


def remarks(several: Iterable[Remark]) -> Text:
    """Side by side, in the colours of their severity."""
    return Text("   ").join(Text(each.text, _STYLES[each.severity]) for each in several)
