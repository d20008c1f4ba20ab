"""The statements of a bill: the client's time, and the server's from its slow log."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from ...format import count, duration, plural, printable
from ...query.answers import Bill, ServerSide

_MIN_SHARE = 0.01
"""Of the statement's time; smaller parts are not shown."""


def statements(bill: Bill) -> Table:
    """One row per statement, the most expensive first; below it the server's side, if the slow log has it."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    for _ in range(2):
        table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    is_any_logged = bool(bill.logged) or any(statement.server for statement in bill.statements)
    shared = any(statement.server and statement.server.statements > 1 for statement in bill.statements)
    for statement in sorted(bill.statements, key=lambda each: -each.time_ns):
        words = Text(printable(statement.text))
        if statement.errors:
            words.append(f"   {plural(statement.errors, 'error')}", "bold red")
        if statement.server:
            words.append("\n").append_text(server_side(statement.server))
        elif is_any_logged and not shared:
            words.append("\nnot in the server's log", "dim")
        table.add_row(Text(f"×{count(statement.calls)}"), Text(duration(statement.time_ns)), words)
    for logged in bill.logged:
        words = Text(printable(logged.text) or "(empty)", "dim").append("\n").append_text(server_side(logged.server))
        table.add_row(Text(f"×{count(logged.server.entries)}", "dim"), Text(), words)
    return table


def server_side(side: ServerSide) -> Text:
    """The server's side, large waits in colour: `server 674 ms   waited for row locks 673 ms   1 row examined`."""
    words = Text("server ", "dim").append(duration(side.query_ns), "not dim")

    def add(what: str, style: str = "dim") -> None:
        words.append("   ").append(what, style)

    if side.calls > side.entries:
        add(f"the server's log has {count(side.entries)} of {count(side.calls)}", "yellow")
    if side.statements > 1:
        add(f"of all {side.statements} statements of this form")
    least_ns = max(side.query_ns * _MIN_SHARE, 100_000)
    for name, waited_ns in (
        ("waited for locks ", side.lock_ns),
        ("waited for row locks ", side.row_lock_ns),
        ("waited in the engine, most likely for a row lock, ", side.likely_row_lock_ns),
        ("waited for the disk ", side.io_wait_ns),
    ):
        if waited_ns >= least_ns:
            is_much = waited_ns >= side.query_ns / 2
            add(f"{name}{duration(waited_ns)}", "bold red" if is_much else "dim")
    if side.rows_examined or side.rows_sent:
        is_waste = side.rows_examined >= 100 * max(side.rows_sent, side.rows_affected, 1)
        add(f"{plural(side.rows_examined, 'row')} examined", "yellow" if is_waste else "dim")
        add(f"{count(side.rows_sent)} sent")
    if side.rows_affected:
        add(f"{plural(side.rows_affected, 'row')} changed")
    for note in side.notes:
        add(note, "yellow")
    if side.errors:
        add(plural(side.errors, "error"), "bold red")
    if side.network_ns is not None:
        add(f"network and driver {duration(max(side.network_ns, 0))}")
    return words
