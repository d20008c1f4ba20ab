"""The command: its options, its request, and its exit status."""

from __future__ import annotations

import re
import time

import click

from ...errors import CommandFailed
from ...format import percent, plural, printable
from ...query.diff.answer import Diff
from ...query.names import shown
from .. import addresses
from ..client import Client
from ..given import checked_options, refuse_beside
from ..options import LOOKED_AT, limit_option, since_option, text_option, with_global_options
from ..output import MOST_ROWS, print_json, print_rendered, read_as

_PERCENT = re.compile(r"(\d{1,4}(?:\.\d+)?) ?%?", re.ASCII)


@click.command
@text_option("--during", metavar="WINDOW", help="Compare this time: 'last 90s', 5m..1m. [last 15m]")
@text_option("--against", metavar="WINDOW", help="With this time. [what is --since before --during]")
@text_option(
    "--version",
    nargs=2,
    default=("", ""),
    metavar="USUAL NEW",
    help="Compare two versions, in --during or the last --since.",
)
@text_option("--when", metavar="CONDITION", help="Compare those that match, as 'host = web-2', in the same time.")
@text_option("--against-when", metavar="CONDITION", help="With those that match this. [with all others]")
@since_option("1h", LOOKED_AT)
@text_option("--service", help="Only this service.")
@text_option("--where", metavar="CONDITION", help="Only those that match, on both sides.")
@text_option(
    "--fail-if-slower", metavar="PERCENT", help="Exit status 1 when a kind is slower beyond chance by so much: 10%."
)
@limit_option(20, "kinds")
@with_global_options
def diff(
    client: Client,
    as_json: bool,
    during: str,
    against: str,
    version: tuple[str, str],
    when: str,
    against_when: str,
    since: str,
    service: str,
    where: str,
    fail_if_slower: str,
    limit: int,
) -> None:
    """
    What got slower or faster beyond chance, of all kinds.

    Compares two windows of time (--during, --against), two versions (--version) or two conditions (--when).
    WINDOW is described at `walltime why --help`, CONDITION in docs/find.md.

    With --fail-if-slower, the exit status is 1 when a kind is slower by so much, or nothing could be compared.
    """
    from ...query.diff.sides import sides
    from ...query.scope import Filters

    if during and (against or when or any(version)):
        refuse_beside("--during and what it is compared with", "since")
    slower_by = _fraction(fail_if_slower)
    params = {"during": during, "against": against, "since": since, "when": when, "against_when": against_when}
    with checked_options():
        sides(time.time_ns(), Filters(where=where), versions=version, **params)
    params |= {"against_version": version[0], "version": version[1], "service": service, "where": where}
    document = client.get("/api/diff", **params, limit=MOST_ROWS if fail_if_slower else limit)
    answer = read_as(Diff, document)
    if as_json:
        print_json(document)
    else:
        from .text import render

        conditions = {"when": when, "against_when": against_when, "service": service, "where": where}
        page = client.page(addresses.of_diff(answer, **conditions))
        print_rendered(lambda console: render(answer, console, limit), page)
    if slower_by is not None:
        _check(answer, slower_by)


def _fraction(written: str) -> float | None:
    if not written:
        return None
    match = _PERCENT.fullmatch(written.strip())
    if match is None or not float(match[1]):
        what = f"{printable(written)!r} is not a percentage above 0; write 10%"
        raise click.BadParameter(what, param_hint="--fail-if-slower")
    return float(match[1]) / 100


def _check(answer: Diff, slower_by: float) -> None:
    """
    Raises:
        CommandFailed: A kind is slower by so much, or no kind has enough transactions.
    """
    if not answer.tested:
        raise CommandFailed(
            "nothing could be compared: no kind has 10 transactions on both sides, spread over time; compare more time"
        )
    if slower := answer.slower_by(slower_by):
        names = ", ".join(
            f"{shown(each.name)} {printable(each.service)} +{percent(each.relative)}" for each in slower[:5]
        )
        more = f" and {len(slower) - 5} more" if len(slower) > 5 else ""
        is_are = f"{plural(len(slower), 'kind')} {'is' if len(slower) == 1 else 'are'}"
        raise CommandFailed(f"{is_are} slower by {percent(slower_by)} or more, beyond chance: {names}{more}")
