"""The output of `walltime digest`: the statements by time, for the applications and for the server."""

from __future__ import annotations

from datetime import datetime, timezone

from ...format import count, duration, plural, printable, share, time_span
from ...query.digest import wording
from ...query.digest.answer import Day, Digest, DigestedStatement, Plan, ServerView, StatementHistory
from ...query.digest.short import shortened
from ...query.names import shown
from ..drawing.page import Page, Row, Words
from ..output import left_out

_MAX_SENDERS = 3
_MAX_WHOLE = 3
"""Up to this number of selected statements are shown whole."""
_MAX_DAYS = 7
_MAX_PLANS = 3
_MIN_SHARE = 0.01
_NOTHING = """\
No statement is stored for this time. --since looks further back. `walltime serve --slow-log` follows
the log of the database, `--mysql` asks it; an instrumented application sends its own."""


def render(digest: Digest, *, of_files: bool = False) -> Page:
    """
    Return what the terminal shows.

    Args:
        of_files: It is of slow logs alone, so nothing is known of the applications.
    """
    if not digest.statements and of_files:
        return Page([Words("No statement is in the log; --since and --until are times of the log.")])
    headline = _headline(digest, of_files=of_files)
    if not digest.statements:
        return Page([headline, Words(_NOTHING)])
    is_whole = bool(digest.statement) and len(digest.statements) <= _MAX_WHOLE
    rows = [
        Row(share(each.share), each.share, _lines(each, is_whole=is_whole, of_files=of_files))
        for each in digest.statements
    ]
    left = digest.all_statements - len(digest.statements)
    more = [Words(left_out(left, "statement", len(digest.statements)), "dim")] if left else []
    if any(shortened(each.fingerprint) != each.fingerprint for each in digest.statements) and not is_whole:
        more.append(Words(f"a whole statement: walltime digest {'FILE ' if of_files else ''}ID", "dim"))
    return Page([headline, Words()], rows, more)


def _headline(digest: Digest, *, of_files: bool) -> Words:
    line = Words("Statements by total time" if digest.by == "total" else f"Statements by {digest.by}", "bold")
    if digest.service:
        line.append(f" of {printable(digest.service)}", "bold")
    if digest.statement:
        line.append(f"   like {printable(digest.statement)[:60]}")
    if digest.client_ns:
        line.append(f"   {duration(digest.client_ns)} for the applications")
    if digest.entries:
        entries = f"{plural(digest.entries, 'entry', 'entries')} of {digest.read_from}"
        line.append(f"   {duration(digest.server_ns)} in {entries}")
    if of_files:
        if digest.since:
            line.append(f"   {time_span(digest.since, digest.until)}", "dim")
    elif digest.unsent_ns and digest.unsent_ns >= _MIN_SHARE * digest.server_ns and not digest.service:
        line.append(f", {duration(digest.unsent_ns)} of it sent by no known service", "yellow")
        line.append(" (--service NAME leaves that out)", "dim")
    return line


def _lines(statement: DigestedStatement, *, is_whole: bool, of_files: bool) -> Words:
    text = statement.fingerprint if is_whole else shortened(statement.fingerprint)
    words = Words(printable(text) or "(empty)", "bold")
    words.append(f"  {statement.fingerprint_id}", "dim")
    if client := statement.client:
        words.append("\nclient ", "dim").append(duration(client.time_ns))
        words.append(f"   {plural(client.calls, 'call')}, {duration(client.mean_ns)} each")
        if client.errors:
            words.append(f"   {plural(client.errors, 'error')}", "bold red")
    if server := statement.server:
        words.append("\nserver ", "dim").append(duration(server.time_ns))
        logged = "logged" if "slow_log" in server.sources else "run"
        words.append(f"   {count(server.calls)} {logged}")
        if server.calls != server.entries:
            words.append(f" (in {plural(server.entries, 'entry', 'entries')})", "dim")
        words.append(f", {duration(server.mean_ns)} each, p95 {duration(server.p95_ns)}")
        words.extend(_work(server))
    if statement.history and statement.history.first_seen:
        words.extend(_history(statement.history))
    if statement.senders:
        words.append("\nsent by ", "dim")
        for at, sender in enumerate(statement.senders[:_MAX_SENDERS]):
            name = f"{shown(sender.name) if sender.name else ''}  {printable(sender.service)}".strip()
            words.append(f"{'   ' if at else ''}{name} {share(sender.share)}")
        if statement.all_senders > _MAX_SENDERS:
            words.append(f"   and {plural(statement.all_senders - _MAX_SENDERS, 'other')}", "dim")
    elif statement.is_unsent and not of_files:
        words.append("\nsent by ", "dim").append("no known service", "yellow")
        source = (
            "before the first transaction was stored: a migration, or the application before it was instrumented"
            if statement.is_before_applications
            else "a migration, a shell, a backup, or a program that is not instrumented"
        )
        words.append(f": {source}", "dim")
    return words


def _history(history: StatementHistory) -> Words:
    words = Words("\nfirst seen ", "dim").append(wording.first_seen(history))
    for each in history.versions[:_MAX_SENDERS]:
        if each.version:
            service, version = printable(each.service), printable(each.version)
            words.append(f"   {service} {version}: {plural(each.calls, 'call')}")
    for new in history.new_since:
        words.append(f"\n{wording.since_version(new)}", "yellow")
    for day in history.days[-_MAX_DAYS:]:
        words.append(f"\n{datetime.fromtimestamp(day.day_s, timezone.utc):%Y-%m-%d} ", "dim")
        words.append(", ".join(_of_day(day)))
    for plan in history.plans[:_MAX_PLANS]:
        words.append("\n").extend(plan_lines(plan))
    return words


def plan_lines(plan: Plan) -> Words:
    """A plan as a tree, with when it was seen and what changed."""
    words = Words("plan ", "dim").append(printable(wording.plan_seen(plan)))
    if plan.changed:
        words.append(f"   {printable(plan.changed)}", "yellow")
    for line in plan.lines:
        words.append(f"\n  {'  ' * line.depth}{printable(line.text)}")
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


def _work(server: ServerView) -> Words:
    words = Words()
    if server.lock_share >= 0.01:
        words.append(f"   locks {share(server.lock_share)}", "bold red" if server.lock_share >= 0.2 else "dim")
    if server.io_wait_ns >= 0.01 * server.time_ns > 0:
        words.append(f"   disk {share(server.io_wait_ns / server.time_ns)}", "dim")
    if server.cpu_ns:
        words.append(f"   CPU {share(server.cpu_ns / server.time_ns)}", "dim")
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
