"""`top`, `show`, `why`, `sql` and `status`: each asks the collector one question and prints the answer."""

from __future__ import annotations

import sys
import time
from typing import get_args

import click

from ..query.answers import Ranking, Selected, Top, Trace
from ..query.why.answer import Why
from ..trace_id import find_span_id, find_trace_id
from . import addresses
from .client import Client
from .given import check_since, checked_options, refuse_beside
from .options import LOOKED_AT, limit_option, since_option, text_option, with_global_options
from .output import print_json, print_rendered, read_as, write


@click.command
@since_option("15m")
@text_option("--service", help="Only this service.")
@click.option("--by", type=click.Choice(get_args(Ranking)), default="total", help="What to rank by, largest first.")
@limit_option(20, "kinds")
@with_global_options
def top(client: Client, as_json: bool, since: str, service: str, by: Ranking, limit: int) -> None:
    """Which kinds of transaction take the time, and on what."""
    check_since(since)
    document = client.get("/api/top", since=since, service=service, by=by, limit=limit)
    if as_json:
        return print_json(document)
    from .top import render

    answer = read_as(Top, document)
    return print_rendered(lambda console: render(answer, console), client.page(addresses.of_top(answer, since)))


@click.command
@click.argument("trace_id", help="A trace id or its beginning; or a traceparent, an SQL comment, a log line.")
@text_option("--span", help="Show this transaction of the trace, by its span id or the beginning of it.")
@click.option("--calls", type=click.IntRange(1, 10_000), default=60, help="At most this many calls.")
@with_global_options
def show(client: Client, as_json: bool, trace_id: str, span: str, calls: int) -> None:
    """One transaction: its bill, and its calls in time order."""
    try:
        trace, span_of_parent = find_trace_id(trace_id)
        span = find_span_id(span) if span else span_of_parent
    except ValueError as error:
        raise click.BadParameter(str(error)) from error
    if as_json:
        refuse_beside("--json", "span")  # not --calls: what only changes the text is ignored
    document = client.get(f"/api/transactions/{trace}")
    if as_json:
        return print_json(document)
    from .show import chosen, render

    answer = read_as(Trace, document)
    bill = chosen(answer, span)
    page = client.page(addresses.of_show(answer, bill))
    return print_rendered(lambda console: render(answer, bill, console, calls), page)


@click.command
@click.argument("kind", help="The name of a transaction, as `walltime top` shows it.")
@text_option("--during", metavar="WINDOW", help="Explain this time: 'last 90s', 5m..1m, 2026-11-21T09:30:00Z..now.")
@text_option("--against", metavar="WINDOW", help="Compare it with this time. [what is --since before --during]")
@click.option(
    "--slowest",
    type=float,
    metavar="PERCENT",
    help="Without --during: compare this share of --since, the slowest, with the rest. [5]",
)
@since_option("1h", LOOKED_AT)
@text_option("--service", help="The service, when several have a kind of this name.")
@text_option("--when", metavar="CONDITION", help="Compare those that match, as 'version = 2.1', with the others.")
@click.option("--evidence", is_flag=True, help="Below each sentence the SQL that yields its numbers, and transactions.")
@with_global_options
def why(
    client: Client,
    as_json: bool,
    kind: str,
    during: str,
    against: str,
    slowest: float | None,
    since: str,
    service: str,
    when: str,
    evidence: bool,
) -> None:
    """
    What makes the slow transactions of a kind different.

    Compares either two windows of time (--during, --against), or the slowest of one window with all others (--slowest),
    or those for which a condition is true with all others (--when).
    A transaction belongs to the time it started in, and all of them count, not only those with detail.

    A WINDOW is 'last LENGTH' or START..END. A LENGTH is 90s, 15m, 2h or 7d. START and END are a LENGTH ago, an ISO
    time (UTC without an offset) or now; END can be left out. Examples: 'last 90s', 10m..5m, 5m.., and
    2026-11-21T09:30..2026-11-21T09:31:30.
    """
    from ..query.windows import comparison

    if during and (against or when):
        refuse_beside("--during and what it is compared with", "since")
    with checked_options():
        comparison(time.time_ns(), during=during, against=against, slowest=slowest, since=since, when=when)
    params = {"kind": kind, "during": during, "against": against, "since": since, "service": service, "when": when}
    document = client.get("/api/why", **params, slowest="" if slowest is None else repr(slowest))
    if as_json:
        return print_json(document)
    from .why import render

    answer = read_as(Why, document)
    page = client.page(addresses.of_why(answer))
    return print_rendered(lambda console: render(answer, console, has_evidence=evidence), page)


@click.command
@click.argument("statement", help="A SELECT over Walltime's tables, or - to read it from stdin.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@click.option(
    "--vertical/--table",
    "is_vertical",
    default=None,
    help="One line per value. [if a row is wider than the terminal]",
)
@with_global_options
def sql(client: Client, as_json: bool, statement: str, as_csv: bool, is_vertical: bool | None) -> None:
    """Run a read-only ClickHouse statement; SHOW TABLES lists the tables."""
    if as_json and as_csv:
        raise click.BadParameter("choose one", param_hint="--json, --csv")
    document = client.post("/api/sql", {"sql": sys.stdin.read() if statement == "-" else statement})
    if as_json:
        return print_json(document)
    from .sql import csv_text, render

    answer = read_as(Selected, document)
    if as_csv:
        return write(csv_text(answer))
    return print_rendered(lambda console: render(answer, console, is_vertical=is_vertical))


@click.command
@with_global_options
def status(client: Client, as_json: bool) -> None:
    """The state of the collector: spans, spool, tables, problems."""
    document = client.get("/api/status")
    if as_json:
        return print_json(document)
    from ..health.status import Status
    from .status import render

    status = read_as(Status, document)
    return print_rendered(lambda console: render(status, console), client.page(addresses.COLLECTOR))
