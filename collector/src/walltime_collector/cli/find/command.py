"""The command: its options, and the requests it sends."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import asdict

import click

from ...pages import urls
from ..client import Client
from ..given import check_since, refuse_beside
from ..options import limit_option, since_option, text_option, with_global_options
from ..output import MOST_ROWS, print_json, print_rendered, read_as, write

_EVERY_S = 1.0


@click.command
@text_option(
    "--where", metavar="CONDITION", help='As "mysql.query.calls > 50 and memcache.get.misses > 3": docs/find.md.'
)
@text_option("--kind", help="Only this kind, as `walltime top` shows it.")
@text_option("--service", help="Only this service.")
@text_option("--host", help="Only this host.")
@text_option("--user", help="Only this user.")
@text_option("--status", help="404, 5xx, or failed.")
@text_option("--version", help="Only this version.")
@text_option("--environment", help="Only this environment.")
@text_option("--annotation", metavar="KEY=VALUE", help="An attribute of the transaction.")
@since_option("1h")
@text_option("--during", metavar="WINDOW", help="Instead of --since: 5m..1m, 2026-11-21T09:30:00Z..now.")
@click.option(
    "--sort",
    default="time",
    metavar="FIELD",
    help="time (newest first); or duration, mysql.time, memcache.get.misses …",
)
@limit_option(50, "transactions")
@text_option("--after", metavar="KEY", help="The next page: the key that the page before ends with.")
@click.option("--follow", "-f", is_flag=True, help="Print those that arrive, until Ctrl-C.")
@with_global_options
def find(
    client: Client,
    as_json: bool,
    since: str,
    during: str,
    sort: str,
    limit: int,
    after: str,
    follow: bool,
    **filters: str,
) -> None:
    """
    Single transactions, by any combination of conditions.

    The newest come first, or with --sort those with the largest number. --follow prints each transaction once, soon
    after it is stored, and with --json one document a line; it begins now.
    """
    check_since(since)
    if follow:
        refuse_beside("--follow", "since", "during", "sort", "limit", "after")
    if during:
        refuse_beside("--during", "since")
    if follow:
        return _follow(client, as_json, filters)
    params: dict[str, str | int] = {
        **filters,
        **({"during": during} if during else {"since": since}),
        "sort": sort,
        "limit": limit,
    }
    document = client.get("/api/find", **params, after=after)
    if as_json:
        return print_json(document)
    from ...query.find.answer import Matches
    from .rows import render

    answer = read_as(Matches, document)
    shown_time = {"time": f"{answer.since}..{answer.until}", "sort": "" if sort == "time" else sort, "after": after}
    page = client.page(urls.transactions({**filters, **shown_time}))
    return print_rendered(lambda console: render(answer, params, console), page)


def _follow(client: Client, as_json: bool, filters: dict[str, str]) -> None:
    from rich.console import Console

    from ...query.find.answer import Match, Matches
    from .follow import arrivals
    from .rows import line

    def ended_within(seconds: int) -> Iterator[Match]:
        after = ""
        while True:
            document = client.get("/api/find", **filters, ended_within=f"{seconds}s", limit=MOST_ROWS, after=after)
            page = read_as(Matches, document)
            yield from page.matches
            after = page.next
            if not after:
                return

    console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
    for match in arrivals(ended_within, lambda: time.sleep(_EVERY_S)):
        if as_json:
            write(json.dumps(asdict(match)) + "\n")
        else:
            console.print(line(match))
