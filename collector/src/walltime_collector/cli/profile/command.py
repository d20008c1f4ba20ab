"""The command: its options, its request, and the files that it writes."""

from __future__ import annotations

import time
from pathlib import Path

import click

from ...errors import CommandFailed
from ...query.profile.answer import Profile
from .. import addresses
from ..client import Client
from ..given import check_since, checked_options, refuse_beside
from ..options import FILE, LOOKED_AT, since_option, text_option, with_global_options
from ..output import print_json, print_rendered, read_as


@click.command
@click.argument("kind", help="The name of a transaction, as `walltime top` shows it.")
@text_option("--during", metavar="WINDOW", help="Look at this time: 'last 90s', 5m..1m. [what --since says]")
@since_option("1h", LOOKED_AT)
@text_option("--service", help="The service, when several have a kind of this name.")
@text_option("--where", metavar="CONDITION", help="Only those that match, as 'version = 2.1'.")
@text_option(
    "--state",
    help="Only stacks that were: computing, or waiting for gil, cpu, lock, sleep, file, socket, process, loop.",
)
@click.option("--speedscope", type=FILE, metavar="FILE", help="Write a flame graph for speedscope.app.")
@click.option("--pprof", type=FILE, metavar="FILE", help="Write a file for `go tool pprof`.")
@click.option("--limit", type=click.IntRange(1), default=20, help="How many lines, and branches of the tree, to print.")
@with_global_options
def profile(
    client: Client,
    as_json: bool,
    kind: str,
    during: str,
    since: str,
    service: str,
    where: str,
    state: str,
    speedscope: Path | None,
    pprof: Path | None,
    limit: int,
) -> None:
    """
    Where the time of a kind goes that no measured call explains.

    The lines of the application that the samples of their stacks found, the most time first: what they called, and
    whether they computed or waited. Then the bill of all its transactions as a tree: the stacks are below `other`,
    `view` and the like. Times of lines are estimates, with their standard error.

    WINDOW is described at `walltime why --help`, CONDITION in docs/find.md.
    """
    from ...query.windows import window

    check_since(since)
    if during:
        refuse_beside("--during", "since")
        with checked_options():
            window("during", during, time.time_ns())
    params = {"kind": kind, "service": service, "during": during, "since": since, "where": where, "state": state}
    document = client.get("/api/profile", **params)
    answer = read_as(Profile, document)
    if speedscope is not None:
        from .speedscope import speedscope_file

        _write(speedscope, speedscope_file(answer))
    if pprof is not None:
        from .pprof import pprof_file

        _write(pprof, pprof_file(answer))
    if as_json:
        return print_json(document)
    from .text import render

    page = client.page(addresses.of_profile(answer, where=where))
    return print_rendered(lambda console: render(answer, console, limit), page)


def _write(path: Path, content: bytes) -> None:
    try:
        path.write_bytes(content)
    except OSError as error:
        raise CommandFailed(f"{path}: cannot be written: {error.strerror}") from error
