"""`walltime digest`: reads its words, which are slow logs or a statement."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import get_args

import click

from ...errors import BadParameter, CommandFailed
from ...format import quoted
from ...query.digest.answer import AskedPlan, Digest, DigestRanking
from ..client import Client
from ..given import check_since, checked_options, is_given, refuse_beside, refuse_without
from ..options import limit_option, text_option, with_global_options
from ..output import print_json, print_page, read_as
from ..slowlog.words import check_file

_PATH = re.compile(r"[^\s`'\"(]*[./][^\s`'\"(]*")
"""A word that can only be the name of a file."""


@click.command
@click.argument(
    "words",
    nargs=-1,
    metavar="[FILE|STATEMENT]...",
    help="Slow logs, or - for stdin: digest them without a collector. Or a statement to show whole: its id, or the"
    " beginning of id or text.",
)
@text_option(
    "--since",
    default="15m",
    help="How far back: 90s, 15m, 2h, 7d; or all, for logs of any age. [15m; of a FILE all, or an ISO time]",
)
@text_option("--until", metavar="TIME", help="Of a FILE: only what began before this time.")
@text_option("--service", help="Only what this service sends.")
@click.option(
    "--by", type=click.Choice(get_args(DigestRanking)), default="total", help="What to rank by, largest first."
)
@limit_option(20, "statements")
@click.option(
    "--plan", is_flag=True, help="Ask the MySQL servers for the plan of the statement. Needs the admin token."
)
@with_global_options
def digest(
    client: Client,
    as_json: bool,
    words: tuple[str, ...],
    since: str,
    until: str,
    service: str,
    by: DigestRanking,
    limit: int,
    plan: bool,
) -> None:
    """
    Which SQL statements take the time, and who sends them.

    A word that names a file is a slow log, of MySQL, MariaDB or Percona Server, compressed or not, also as JSON of
    CloudWatch Logs or Cloud Logging. `./NAME` is always a file, and `0x…` always an id.
    """
    files, statement = sorted_words(words)
    if plan and (files or not statement):
        raise click.BadParameter("it is of one statement: walltime digest ID --plan", param_hint="--plan")
    if files:
        return _print_of_files(
            files, statement, as_json, since if is_given("since") else "all", until, service, by, limit
        )
    refuse_without("FILE", "until")
    if since != "all":
        check_since(since)
    document = client.get("/api/digest", since=since, service=service, by=by, limit=limit, statement=statement)
    answer = read_as(Digest, document)
    if plan:
        return _print_plan(client, answer, as_json=as_json)
    if as_json:
        return print_json(document)
    from .. import addresses
    from .text import render

    return print_page(render(answer), client.page(addresses.of_digest(answer, since)))


def _print_plan(client: Client, answer: Digest, *, as_json: bool) -> None:
    if len(answer.statements) > 1:
        raise click.BadParameter("several statements begin like this; give a whole id", param_hint="--plan")
    document = client.post(f"/api/statements/{answer.statements[0].fingerprint_id}/plan", {})
    if as_json:
        return print_json(document)
    from ..drawing.page import Page
    from .text import plan_lines

    asked = read_as(AskedPlan, document)
    return print_page(Page([plan_lines(asked.plan)]))


def sorted_words(words: Sequence[str]) -> tuple[list[str], str]:
    """
    The slow logs, and the statement or nothing.

    Raises:
        CommandFailed: A word names a file that is not there, or a folder.
        click.BadParameter: There are several other words.
    """
    files: list[str] = []
    others: list[str] = []
    for word in words:
        is_file = word == "-" or os.path.exists(word)  # noqa: PTH110  Path.exists() fails for a long statement
        if is_file or _PATH.fullmatch(word):
            check_file(word)
        (files if is_file else others).append(word)
    if len(others) > 1:
        what = f"{quoted(others[0])} and {quoted(others[1])} are no files, and only one statement can be asked for"
        raise click.BadParameter(f"{what}; put a statement of several words in quotes", param_hint="STATEMENT")
    if files.count("-") > 1:
        raise click.BadParameter("stdin can be read once", param_hint="-")
    return list(dict.fromkeys(files)), others[0] if others else ""


def _print_of_files(
    files: list[str],
    statement: str,
    as_json: bool,
    since: str,
    until: str,
    service: str,
    by: DigestRanking,
    limit: int,
) -> None:
    from .files import digest_of_files
    from .sums import Wanted
    from .text import render

    refuse_beside("a FILE", "url", "token_file", "client_certificate")
    if by == "client":
        raise click.BadParameter("a slow log has the server's times only", param_hint="--by")
    now_ns = time.time_ns()
    start_us = None if since == "all" else _us("since", since, now_ns)
    wanted = Wanted(start_us, _us("until", until, now_ns) if until else None, service)
    found = digest_of_files(files, wanted, by=by, limit=limit, statement=statement)
    if as_json:
        print_json(asdict(found.digest))
    else:
        print_page(render(found.digest, of_files=True))
    for lost in found.losses:
        sys.stderr.write(f"walltime: {lost}\n")
    if found.failures:
        raise CommandFailed("; ".join(found.failures))


def _us(option: str, written: str, now_ns: int) -> int:
    from ...query.windows import moment

    with checked_options():
        try:
            return moment(option, written, now_ns) // 1_000
        except BadParameter as error:
            what_now = "write a time ago (90s, 15m, 2h, 7d) or an ISO time (2026-11-21T09:30:00Z; UTC without a zone)"
            raise BadParameter(option, f"{quoted(written)} is not a time", what_now) from error
