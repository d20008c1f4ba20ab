"""`walltime advise`: prints advice, dismisses and restores it."""

from __future__ import annotations

import click

from ...format import printable
from ...query.advise.answer import Advised, Dismissals
from .. import addresses
from ..client import Client
from ..given import check_since, refuse_beside, refuse_without
from ..options import limit_option, since_option, text_option, with_global_options
from ..output import print_json, print_rendered, read_as, write


@click.command
@click.argument("kind", default="", metavar="[KIND]", help="Only about this transaction, as `walltime top` shows it.")
@since_option("1h")
@text_option("--service", help="Only this service.")
@limit_option(20)
@text_option("--dismiss", metavar="ID", help="Hide this advice. Needs the admin token.")
@click.option("--for", "time_hidden", default="30d", help="With --dismiss: how long.")
@text_option("--why", "reason", metavar="TEXT", help="With --dismiss: the reason.")
@click.option("--dismissed", "is_dismissed", is_flag=True, help="List the advice that is dismissed.")
@text_option("--restore", metavar="ID", help="Show a dismissed advice again.")
@with_global_options
def advise(
    client: Client,
    as_json: bool,
    kind: str,
    since: str,
    service: str,
    limit: int,
    dismiss: str,
    time_hidden: str,
    reason: str,
    is_dismissed: bool,
    restore: str,
) -> None:
    """
    What to change, with the time that each change saves.

    Each advice has a price (at p50, at p95, on average and per hour), trace ids as evidence, and a threshold.
    """
    check_since(since)
    if sum(map(bool, (dismiss, restore, is_dismissed))) > 1:
        raise click.BadParameter("choose one", param_hint="--dismiss, --dismissed, --restore")
    if not dismiss:
        refuse_without("--dismiss", "time_hidden", "reason")
    if dismiss:
        refuse_beside("--dismiss", "limit")
    if restore or is_dismissed:
        refuse_beside("--restore" if restore else "--dismissed", "kind", "since", "service", "limit")
    if dismiss or restore:
        check_since(time_hidden, "--for")
        about = {"since": since, "service": service, "kind": kind}
        decision = {"id": dismiss, "for": time_hidden, "why": reason, **about} if dismiss else {"id": restore}
        document = client.post(f"/api/advice/{'dismiss' if dismiss else 'restore'}", decision)
        if as_json:
            return print_json(document)
        done = f"dismissed until {document['until'][:10]}" if dismiss else "restored"
        return write(f"{document['id']} {done}: {printable(document['change'])}\n")
    if is_dismissed:
        document = client.get("/api/advice/dismissed")
        return print_json(document) if as_json else write(_list(read_as(Dismissals, document)))
    document = client.get("/api/advice", since=since, service=service, kind=kind, limit=limit)
    if as_json:
        return print_json(document)
    from .text import render

    answer = read_as(Advised, document)
    return print_rendered(lambda console: render(answer, console), client.page(addresses.of_advice(answer)))


def _list(answer: Dismissals) -> str:
    lines = []
    for each in answer.dismissals:
        why = f"  ({printable(each.why)})" if each.why else ""
        lines.append(f"{each.id}  until {each.until[:10]}  {printable(each.change)}{why}\n")
    return "".join(lines) or "no advice is dismissed\n"
