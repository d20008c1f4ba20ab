"""The command: its options, and the requests it sends."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated

import typer

from ...pages import urls
from ..client import Client
from ..options import check_since, refuse_beside, with_global_options
from ..output import print_json, print_rendered, read_as, write

_PAGE = 1_000
_EVERY_S = 1.0


@with_global_options
def find(
    client: Client,
    as_json: bool,
    where: Annotated[
        str,
        typer.Option(
            metavar="CONDITION", help='As "mysql.query.calls > 50 and memcache.get.misses > 3": docs/find.md.'
        ),
    ] = "",
    kind: Annotated[str, typer.Option(help="Only this kind, as `walltime top` shows it.")] = "",
    service: Annotated[str, typer.Option(help="Only this service.")] = "",
    host: Annotated[str, typer.Option(help="Only this host.")] = "",
    user: Annotated[str, typer.Option(help="Only this user.")] = "",
    status: Annotated[str, typer.Option(help="404, 5xx, or failed.")] = "",
    version: Annotated[str, typer.Option(help="Only this version.")] = "",
    environment: Annotated[str, typer.Option(help="Only this environment.")] = "",
    annotation: Annotated[str, typer.Option(metavar="KEY=VALUE", help="An attribute of the transaction.")] = "",
    since: Annotated[str, typer.Option(help="How far back: 90s, 15m, 2h, 7d.")] = "1h",
    during: Annotated[
        str, typer.Option(metavar="WINDOW", help="Instead of --since: 5m..1m, 2026-11-21T09:30:00Z..now.")
    ] = "",
    sort: Annotated[
        str,
        typer.Option(metavar="FIELD", help="time (newest first); or duration, mysql.time, memcache.get.misses …"),
    ] = "time",
    limit: Annotated[int, typer.Option(min=1, max=_PAGE, help="At most this many transactions.")] = 50,
    after: Annotated[
        str, typer.Option(metavar="KEY", help="The next page: the key that the page before ends with.")
    ] = "",
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Print those that arrive, until Ctrl-C.")] = False,
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
    filters = {
        "kind": kind,
        "service": service,
        "host": host,
        "user": user,
        "status": status,
        "version": version,
        "environment": environment,
        "annotation": annotation,
        "where": where,
    }
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
            document = client.get("/api/find", **filters, ended_within=f"{seconds}s", limit=_PAGE, after=after)
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
