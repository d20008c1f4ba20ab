"""The command: open and recent incidents, or one with its explanation."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

import typer

from ...pages import urls
from ...query.incidents.answer import Incident, Incidents
from ..client import Client
from ..options import check_since, refuse_beside, with_global_options
from ..output import print_json, print_rendered, read_as


@with_global_options
def incidents(
    client: Client,
    as_json: bool,
    incident_id: Annotated[str, typer.Argument(metavar="[ID]", help="Show this one, with its explanation.")] = "",
    since: Annotated[str, typer.Option(help="How far back: 90s, 15m, 2h, 7d.")] = "1d",
    service: Annotated[str, typer.Option(help="Only this service.")] = "",
    is_open: Annotated[bool, typer.Option("--open", help="Only those that are open.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="At most this many.")] = 20,
) -> None:
    """
    When a kind of transaction was not as usual, and why.

    The collector looks for incidents by itself: kinds that became slower, fail more or call more than usual.
    """
    if is_open:
        refuse_beside("--open", "since")
    if incident_id:
        refuse_beside("ID", "since", "service", "is_open", "limit")
        document = client.get(f"/api/incidents/{quote(incident_id, safe='')}")
        if as_json:
            return print_json(document)
        from .text import detail

        one = read_as(Incident, document)
        return print_rendered(lambda _: detail(one), client.page(urls.incident(one.id)))
    check_since(since)
    document = client.get("/api/incidents", since=since, service=service, open="1" if is_open else "", limit=limit)
    if as_json:
        return print_json(document)
    from .text import render

    answer = read_as(Incidents, document)
    return print_rendered(lambda _: render(answer, is_open=is_open), client.page(urls.incidents()))
