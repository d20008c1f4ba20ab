"""The command: open and recent incidents, or one with its explanation."""

from __future__ import annotations

from urllib.parse import quote

import click

from ...pages import urls
from ...query.incidents.answer import Incident, Incidents
from ..client import Client
from ..given import check_since, refuse_beside
from ..options import limit_option, since_option, text_option, with_global_options
from ..output import print_json, print_rendered, read_as


@click.command
@click.argument("incident_id", default="", metavar="[ID]", help="Show this one, with its explanation.")
@since_option("1d")
@text_option("--service", help="Only this service.")
@click.option("--open", "is_open", is_flag=True, help="Only those that are open.")
@limit_option(20)
@with_global_options
def incidents(
    client: Client, as_json: bool, incident_id: str, since: str, service: str, is_open: bool, limit: int
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
