"""`walltime dead-letter`: list, retry and drop the requests that the database refused."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import click

from ..format import plural, printable
from ..spool.dead_letters import Letter
from .client import Client
from .options import with_global_options
from .output import print_json, print_rendered, read_as, write


@click.group
def dead_letters() -> None:
    """Requests that the database refused for good."""


@dataclass(frozen=True)
class Letters:
    """The collector's response: the dead letters it has, or those that it moved or dropped."""

    letters: tuple[Letter, ...]


_names = click.argument("names", nargs=-1, help="Names, as `list` shows them.")
_all = click.option("--all", "everything", is_flag=True, help="All dead letters.")


@dead_letters.command("list")
@with_global_options
def list_letters(client: Client, as_json: bool) -> None:
    """List them: when they were received, how many spans they hold, and why they were refused."""
    document = client.get("/api/deadletters")
    if as_json:
        return print_json(document)
    letters = read_as(Letters, document).letters
    if not letters:
        return write("no request was refused: dead/ is empty\n")
    from rich.console import Console
    from rich.table import Table

    def render(console: Console) -> Table:
        if not console.is_terminal:
            console.width = 100_000  # in a pipe a letter is one line
        table = Table(box=None, pad_edge=False, header_style="dim", show_edge=False)
        table.add_column("received", overflow="fold")
        for title in ("spans", "bytes"):
            table.add_column(title, justify="right", overflow="fold")
        table.add_column("why", overflow="fold")
        table.add_column("name", no_wrap=True)
        for each in letters:
            received = _utc(each.received_at_ns)
            table.add_row(received, str(each.spans), str(each.size_bytes), printable(each.reason), each.name)
        return table

    return print_rendered(render)


@dead_letters.command("retry")
@_names
@_all
@with_global_options
def retry_letters(client: Client, as_json: bool, names: tuple[str, ...], everything: bool) -> None:
    """Load them again, for example after an upgrade. A letter that is refused again comes back."""
    _print_changed(
        client.post("/api/deadletters/retry", _chosen(names, everything)), "moved back to be loaded", as_json
    )


@dead_letters.command("drop")
@_names
@_all
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@with_global_options
def drop_letters(client: Client, as_json: bool, names: tuple[str, ...], everything: bool, yes: bool) -> None:
    """Delete them for good."""
    chosen = _chosen(names, everything)
    if not yes:
        what = "all dead letters" if everything else plural(len(names), "dead letter")
        click.confirm(f"throw away {what} for good?", abort=True, err=True)
    _print_changed(client.post("/api/deadletters/drop", chosen), "thrown away", as_json)


def _chosen(names: tuple[str, ...], everything: bool) -> dict[str, Any]:
    if bool(names) == everything:
        raise click.BadParameter("give names, or --all", param_hint="NAMES")
    return {"all": True} if everything else {"names": names}


def _print_changed(document: Any, done: str, as_json: bool) -> None:
    if as_json:
        return print_json(document)
    letters = read_as(Letters, document).letters
    spans = sum(letter.spans for letter in letters)
    return write(f"{plural(len(letters), 'dead letter')} with {plural(spans, 'span')} {done}\n")


def _utc(at_ns: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime(at_ns // 1_000_000_000)) if at_ns else "unknown"
