"""The command: its options, its request, and the files that it writes."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from ...errors import CommandFailed
from ...query.profile.answer import Profile
from .. import addresses
from ..client import Client
from ..options import Since, check_since, checked_options, refuse_beside, with_global_options
from ..output import print_json, print_rendered, read_as


@with_global_options
def profile(
    client: Client,
    as_json: bool,
    kind: Annotated[str, typer.Argument(help="The name of a transaction, as `walltime top` shows it.")],
    during: Annotated[
        str, typer.Option(metavar="WINDOW", help="Look at this time: 'last 90s', 5m..1m. [what --since says]")
    ] = "",
    since: Since = "1h",
    service: Annotated[str, typer.Option(help="The service, when several have a kind of this name.")] = "",
    where: Annotated[str, typer.Option(metavar="CONDITION", help="Only those that match, as 'version = 2.1'.")] = "",
    state: Annotated[
        str,
        typer.Option(
            help="Only stacks that were: computing, or waiting for gil, cpu, lock, sleep, file, socket, process, loop."
        ),
    ] = "",
    speedscope: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a flame graph for speedscope.app.")
    ] = None,
    pprof: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a file for `go tool pprof`.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="How many lines, and branches of the tree, to print.")] = 20,
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
