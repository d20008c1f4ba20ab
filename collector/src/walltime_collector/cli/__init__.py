"""The command `walltime`: reads the options of each question, and says in one line what went wrong."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from ..errors import AskedWrongly, BadParameter, CollectorError, NotAnswered
from ..format import printable, since_s
from ..query.answers import Ranking, Selected, Top, Trace
from ..query.digest.answer import Digest, DigestRanking
from ..trace_id import find_span_id, find_trace_id
from . import ask
from .asking import (
    DEFAULT_URL,
    Json,
    Url,
    asked,
    console,
    exchanged,
    print_for_people,
    print_json,
    print_version,
    read_as,
    sent,
    write,
)
from .deadletter import deadletter
from .serve import serve

app = typer.Typer(
    invoke_without_command=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """Run the command line. Exit codes: 0 answered, 1 asked and not answered, 2 asked wrongly."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]  # a terminal without UTF-8 gets "?", no traceback
    try:
        code = app(standalone_mode=False, prog_name="walltime")
    except typer.TyperException as error:
        code = _complain(error.format_message(), error.exit_code)
    except CollectorError as error:
        code = _complain(str(error), 2 if isinstance(error, AskedWrongly) else 1)
    except (KeyboardInterrupt, typer.Abort):
        code = 130
    raise SystemExit(code)


@app.callback()
def before_the_command(
    context: typer.Context,
    _version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=print_version, help="Print the version.")
    ] = False,
    token_file: Annotated[
        Path | None,
        typer.Option(envvar="WALLTIME_TOKEN_FILE", help="File of the token to show; or WALLTIME_TOKEN is the token."),
    ] = None,
    client_certificate: Annotated[
        Path | None,
        typer.Option(envvar="WALLTIME_CLIENT_CERTIFICATE", help="File of our certificate and key, to show over TLS."),
    ] = None,
) -> None:
    """Where did the wall time of this request go, and why?"""
    token = os.environ.get("WALLTIME_TOKEN", "") if token_file is None else _secret(token_file)
    if not (token.isascii() and token.isprintable()):
        raise NotAnswered("the token of WALLTIME_TOKEN or --token-file is none; it is letters and digits")
    ask.credentials = ask.Credentials(token, client_certificate)
    if context.invoked_subcommand is None:
        sys.stdout.write(context.get_help() + "\n")


app.command("serve")(serve)  # imports its engine when it runs: asking stays fast
app.add_typer(deadletter, name="deadletter")


@app.command("top")
def ask_top(
    url: Url = DEFAULT_URL,
    as_json: Json = False,
    since: Annotated[str, typer.Option(help="How far back: 90s, 15m, 2h, 7d.")] = "15m",
    service: Annotated[str, typer.Option(help="Only this service.")] = "",
    by: Annotated[Ranking, typer.Option(help="What to rank by, largest first.")] = "total",
    limit: Annotated[int, typer.Option(min=1, max=1000, help="At most this many kinds.")] = 20,
) -> None:
    """Which kinds of transaction take the time, and on what."""
    try:
        since_s(since)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--since") from error
    document = asked(url, "/api/top", since=since, service=service, by=by, limit=limit)
    if as_json:
        return print_json(document)
    answer = read_as(Top, document, url)

    from .top import render

    out = console()
    return print_for_people(out, render(answer, out))


@app.command("show")
def ask_show(
    trace_id: Annotated[
        str, typer.Argument(help="A trace id or its beginning; or a traceparent, an SQL comment, a log line.")
    ],
    url: Url = DEFAULT_URL,
    as_json: Json = False,
    span: Annotated[
        str, typer.Option(help="Show this transaction of the trace, by its span id or the beginning of it.")
    ] = "",
    calls: Annotated[int, typer.Option(min=1, max=10_000, help="At most this many calls.")] = 60,
) -> None:
    """One transaction: its bill, and its calls in time order."""
    try:
        trace, span_of_parent = find_trace_id(trace_id)
        span = find_span_id(span) if span else span_of_parent
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    document = asked(url, f"/api/transactions/{trace}")
    if as_json:
        return print_json(document)
    answer = read_as(Trace, document, url)

    from .show import choose, render

    try:
        bill = choose(answer, span)
    except LookupError as error:
        raise NotAnswered(error.args[0]) from error
    out = console()
    return print_for_people(out, render(answer, bill, out, calls))


@app.command("why")
def ask_why(
    kind: Annotated[str, typer.Argument(help="The name of a transaction, as `walltime top` shows it.")],
    url: Url = DEFAULT_URL,
    as_json: Json = False,
    during: Annotated[
        str, typer.Option(metavar="WINDOW", help="Explain this time: 'last 90s', 5m..1m, 2026-11-21T09:30:00Z..now.")
    ] = "",
    against: Annotated[
        str, typer.Option(metavar="WINDOW", help="Compare it with this time. [what is --since before --during]")
    ] = "",
    slowest: Annotated[
        float | None,
        typer.Option(metavar="PERCENT", help="Without --during: explain so many per cent of --since by the rest. [5]"),
    ] = None,
    since: Annotated[str, typer.Option(help="How much time to look at: 90s, 15m, 2h, 7d.")] = "1h",
    service: Annotated[str, typer.Option(help="Whose, when several services have a kind of this name.")] = "",
) -> None:
    """
    What makes the slow transactions of a kind different from the usual ones.

    Compares either two windows of time (--during, --against), or the slowest of one window with all others (--slowest).
    A transaction belongs to the time it started in, and all of them count, not only those with detail.

    A WINDOW is 'last LENGTH' or START..END, where a LENGTH is 90s, 15m, 2h or 7d, and an end is a LENGTH ago, an ISO
    time (UTC unless it says otherwise) or now, which may be left out: 'last 90s', 10m..5m, 5m.., and
    2026-11-21T09:30..2026-11-21T09:31:30.
    """
    from ..query.why.windows import comparison

    try:
        comparison(time.time_ns(), during=during, against=against, slowest=slowest, since=since)
    except BadParameter as error:
        raise typer.BadParameter(f"{error.what}; {error.what_now}", param_hint=f"--{error.where}") from error
    question = {"kind": kind, "during": during, "against": against, "since": since, "service": service}
    document = asked(url, "/api/why", **question, slowest="" if slowest is None else repr(slowest))
    if as_json:
        return print_json(document)
    from ..query.why.answer import Why

    answer = read_as(Why, document, url)
    from .why import render

    out = console()
    return print_for_people(out, render(answer, out))


@app.command("digest")
def ask_digest(
    statement: Annotated[
        str,
        typer.Argument(
            help="Only this statement, whole: its id, or the beginning of id or text.", metavar="[STATEMENT]"
        ),
    ] = "",
    url: Url = DEFAULT_URL,
    as_json: Json = False,
    since: Annotated[str, typer.Option(help="How far back: 90s, 15m, 2h, 7d; all: also a log of years ago.")] = "15m",
    service: Annotated[str, typer.Option(help="Only what this service sends.")] = "",
    by: Annotated[DigestRanking, typer.Option(help="What to rank by, largest first.")] = "total",
    limit: Annotated[int, typer.Option(min=1, max=1000, help="At most this many statements.")] = 20,
) -> None:
    """Which statements take the time, for those who send them and for the server, and who sends them."""
    try:
        since == "all" or since_s(since)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--since") from error
    document = asked(url, "/api/digest", since=since, service=service, by=by, limit=limit, statement=statement)
    if as_json:
        return print_json(document)
    answer = read_as(Digest, document, url)

    from .digest import render

    out = console()
    return print_for_people(out, render(answer, out))


@app.command("sql")
def ask_sql(
    statement: Annotated[str, typer.Argument(help="A SELECT over Walltime's tables, or - to read it from stdin.")],
    url: Url = DEFAULT_URL,
    as_json: Json = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="CSV on stdout, nothing else.")] = False,
    is_vertical: Annotated[
        bool | None,
        typer.Option("--vertical/--table", help="A line for each value. [if a row is wider than the terminal]"),
    ] = None,
) -> None:
    """ClickHouse SQL, read-only; SHOW TABLES says what there is."""
    if as_json and as_csv:
        raise typer.BadParameter("choose one", param_hint="--json, --csv")
    sql = sys.stdin.read() if statement == "-" else statement
    document = sent(url, "/api/sql", {"sql": sql})
    if as_json:
        return print_json(document)
    answer = read_as(Selected, document, url)

    from .sql import csv_text, render

    if as_csv:
        return write(csv_text(answer))
    out = console()
    return print_for_people(out, render(answer, out, is_vertical=is_vertical))


@app.command("status")
def ask_status(url: Url = DEFAULT_URL, as_json: Json = False) -> None:
    """How the collector is: what it received, stored and lost, what waits, and what the tables hold."""
    document = asked(url, "/api/status")
    if as_json:
        return print_json(document)
    from ..health.status import Status
    from .status import render

    out = console()
    return print_for_people(out, render(read_as(Status, document, url), out))


@app.command("doctor")
def doctor(
    url: Url = DEFAULT_URL,
    as_json: Json = False,
    otlp: Annotated[str, typer.Option(help="Send to this OTLP/HTTP address. [where the collector says]")] = "",
    ingest_token_file: Annotated[
        Path | None,
        typer.Option(
            envvar="WALLTIME_INGEST_TOKEN_FILE", help="File of the token to send with; or WALLTIME_INGEST_TOKEN is it."
        ),
    ] = None,
) -> None:
    """Look at collector and applications, send a transaction through everything; exit code 1 when one is ill."""
    from .doctor.command import examine
    from .doctor.report import as_document, render

    token = os.environ.get("WALLTIME_INGEST_TOKEN", "") if ingest_token_file is None else _secret(ingest_token_file)
    examination = exchanged(lambda: examine(url, token, otlp))
    if as_json:
        print_json(as_document(examination))
    else:
        print_for_people(console(), render(examination))
    if not examination.is_ok:
        raise typer.Exit(1)


def _secret(path: Path) -> str:
    try:
        return path.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise NotAnswered(f"{path}: cannot be read: {getattr(error, 'strerror', 'not a token')}") from error


def _complain(message: str, code: int) -> int:
    sys.stderr.write(f"walltime: {printable(message)}\n")
    return code
