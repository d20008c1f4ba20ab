"""The output of `walltime digest`: the statements by time, for the applications and for the server."""

from __future__ import annotations

from datetime import datetime, timezone

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from ...format import count, duration, plural, printable, share, time_span
from ...query.digest import wording
from ...query.digest.answer import Day, Digest, DigestedStatement, ServerView, StatementHistory
from ...query.digest.short import shortened
from ...query.names import shown
from ..drawing.bars import COLOURS, LETTERS, is_coloured, span
from ..output import left_out

_MAX_SENDERS = 3
_MAX_WHOLE = 3
"""Up to this number of selected statements are shown whole."""
_MAX_DAYS = 7
_MIN_SHARE = 0.01
_BAR = 12


def render(digest: Digest, console: Console, *, of_files: bool = False) -> RenderableType:
    """
    Return what the terminal shows.

    Args:
        of_files: It is of slow logs alone, so nothing is known of the applications.
    """
    if not digest.statements and of_files:
        return Text("No statement is in the log; --since and --until are times of the log.")
    if not digest.statements:
        return Group(
            _headline(digest, of_files=of_files),
            Text(
                "No statement is stored for this time. --since looks further back. `walltime serve --slow-log` follows"
            ),
            Text("the slow log of the database; an instrumented application sends its statements by itself."),
        )
    in_colour = is_coloured(console)
    is_whole = bool(digest.statement) and len(digest.statements) <= _MAX_WHOLE
    table = Table(box=None, pad_edge=False, padding=(0, 2, 1, 0), show_header=False)
    table.add_column(justify="right", no_wrap=True)
    if console.width >= 100:
        table.add_column(width=_BAR, no_wrap=True)
    table.add_column(overflow="fold")
    for statement in digest.statements:
        bar = span(COLOURS["mysql"], LETTERS["mysql"], 0, statement.share, _BAR, in_colour=in_colour)
        table.add_row(
            Text(share(statement.share)),
            *([bar] if console.width >= 100 else []),
            _lines(statement, is_whole=is_whole, of_files=of_files),
        )
    left = digest.all_statements - len(digest.statements)
    more = [Text(left_out(left, "statement", len(digest.statements)), "dim")] if left else []
    if any(shortened(each.fingerprint) != each.fingerprint for each in digest.statements) and not is_whole:
        more.append(Text(f"a whole statement: walltime digest {'FILE ' if of_files else ''}ID", "dim"))
    return Group(_headline(digest, of_files=of_files), Text(), table, *more)


def _headline(digest: Digest, *, of_files: bool) -> Text:
    line = Text("Statements by total time" if digest.by == "total" else f"Statements by {digest.by}", "bold")
    if digest.service:
        line.append(f" of {printable(digest.service)}")
    if digest.statement:
        line.append(f"   like {printable(digest.statement)[:60]}", "not bold")
    if digest.client_ns:
        line.append(f"   {duration(digest.client_ns)} for the applications", "not bold")
    if digest.entries:
        line.append(
            f"   {duration(digest.server_ns)} in {plural(digest.entries, 'entry', 'entries')} of the slow log",
            "not bold",
        )
    if of_files:
        if digest.since:
            line.append(f"   {time_span(digest.since, digest.until)}", "not bold dim")
    elif digest.unsent_ns and digest.unsent_ns >= _MIN_SHARE * digest.server_ns and not digest.service:
        line.append(f", {duration(digest.unsent_ns)} of it sent by no known service", "not bold yellow")
        line.append(" (--service NAME leaves that out)", "not bold dim")
    return line


def _lines(statement: DigestedStatement, *, is_whole: bool, of_files: bool) -> Text:
    text = statement.fingerprint if is_whole else shortened(statement.fingerprint)
    words = Text(printable(text) or "(empty)", "bold")
    words.append(f"  {statement.fingerprint_id}", "not bold dim")
    if client := statement.client:
        words.append("\nclient ", "not bold dim").append(duration(client.time_ns), "not bold")
        words.append(f"   {plural(client.calls, 'call')}, {duration(client.mean_ns)} each", "not bold")
        if client.errors:
            words.append(f"   {plural(client.errors, 'error')}", "bold red")
    if server := statement.server:
        words.append("\nserver ", "not bold dim").append(duration(server.time_ns), "not bold")
        words.append(f"   {count(server.calls)} logged", "not bold")
        if server.calls != server.entries:
            words.append(f" (in {plural(server.entries, 'entry', 'entries')})", "not bold dim")
        words.append(f", {duration(server.mean_ns)} each, p95 {duration(server.p95_ns)}", "not bold")
        words.append_text(_work(server))
    if statement.history and statement.history.first_seen:
        words.append_text(_history(statement.history))
    if statement.senders:
        words.append("\nsent by ", "not bold dim")
        for at, sender in enumerate(statement.senders[:_MAX_SENDERS]):
            name = f"{shown(sender.name) if sender.name else ''}  {printable(sender.service)}".strip()
            words.append(f"{'   ' if at else ''}{name} {share(sender.share)}", "not bold")
        if statement.all_senders > _MAX_SENDERS:
            words.append(f"   and {plural(statement.all_senders - _MAX_SENDERS, 'other')}", "not bold dim")
    elif statement.is_unsent and not of_files:
        words.append("\nsent by ", "not bold dim").append("no known service", "not bold yellow")
        source = (
            "before the first transaction was stored: a migration, or the application before it was instrumented"
            if statement.is_before_applications
            else "a migration, a shell, a backup, or a program that is not instrumented"
        )
        words.append(f": {source}", "not bold dim")
    return words


def _history(history: StatementHistory) -> Text:
    words = Text("\nfirst seen ", "not bold dim").append(wording.first_seen(history), "not dim")
    for each in history.versions[:_MAX_SENDERS]:
        if each.version:
            service, version = printable(each.service), printable(each.version)
            words.append(f"   {service} {version}: {plural(each.calls, 'call')}", "not dim")
    for new in history.new_since:
        words.append(f"\n{wording.since_version(new)}", "not dim yellow")
    for day in history.days[-_MAX_DAYS:]:
        words.append(f"\n{datetime.fromtimestamp(day.day_s, timezone.utc):%Y-%m-%d} ", "dim")
        words.append(", ".join(_of_day(day)), "not dim")
    return words


def _of_day(day: Day) -> list[str]:
    said = []
    if day.calls:
        said.append(f"client {plural(day.calls, 'call')}, {duration(day.time_ns / day.calls)} each")
    if day.logged_calls:
        said.append(f"server {count(day.logged_calls)} logged, {duration(day.logged_ns / day.logged_calls)} each")
        if day.rows_examined:
            examined = day.rows_examined / max(day.rows_used, 1)
            said.append(f"{plural(examined, 'row')} examined for each sent or changed")
    return said


def _work(server: ServerView) -> Text:
    words = Text(style="not bold")
    if server.lock_share >= 0.01:
        words.append(f"   locks {share(server.lock_share)}", "bold red" if server.lock_share >= 0.2 else "dim")
    if server.rows_examined:
        style = "yellow" if server.examined_per_row >= 100 else "dim"
        words.append(f"   {plural(server.examined_per_row, 'row')} examined for each sent or changed", style)
    if server.full_scan_share:
        words.append(
            f"   full scan {share(server.full_scan_share)}", "yellow" if server.examined_per_row >= 100 else "dim"
        )
    if server.errors:
        words.append(f"   {plural(server.errors, 'error')}", "bold red")
    return words
