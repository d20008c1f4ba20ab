"""`walltime deadletter`: the requests that the database refused, to look at, to try once more, or to throw away."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from ..format import plural, printable
from ..spool.dead_letters import Letter
from .asking import DEFAULT_URL, Json, Url, asked, console, print_for_people, print_json, read_as, sent, write

deadletter = typer.Typer(
    help="Requests that the database refused for good: they are kept, with the reason.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


@dataclass(frozen=True)
class Letters:
    """What the collector answers: those there are, or those that were moved or thrown away."""

    letters: tuple[Letter, ...]


Names = Annotated[list[str] | None, typer.Argument(help="Which, by the names that `list` shows.")]
All = Annotated[bool, typer.Option("--all", help="All of them.")]


@deadletter.command("list")
def list_letters(url: Url = DEFAULT_URL, as_json: Json = False) -> None:
    """Which there are: when they came, how many spans they carry, and why they were refused."""
    document = asked(url, "/api/deadletters")
    if as_json:
        return print_json(document)
    answer = read_as(Letters, document, url)
    if not answer.letters:
        return write("no request was refused: nothing is kept in dead/\n")
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="dim", show_edge=False)
    for title, justify in (("received", "left"), ("spans", "right"), ("bytes", "right"), ("why", "left")):
        table.add_column(title, justify="right" if justify == "right" else "left", overflow="fold")
    table.add_column("name", no_wrap=True)
    for letter in answer.letters:
        received = _utc(letter.received_at_ns)
        table.add_row(received, str(letter.spans), str(letter.size_bytes), printable(letter.reason), letter.name)
    out = console()
    if not out.is_terminal:
        out.width = 100_000  # in a pipe a letter is a line
    return print_for_people(out, table)


@deadletter.command("retry")
def retry_letters(names: Names = None, everything: All = False, url: Url = DEFAULT_URL, as_json: Json = False) -> None:
    """Load them once more: after an upgrade, or of the database. What is refused again comes back."""
    document = sent(url, "/api/deadletters/retry", _chosen(names, everything))
    _say(document, "moved back to be loaded", url, as_json=as_json)


@deadletter.command("drop")
def drop_letters(
    names: Names = None,
    everything: All = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    url: Url = DEFAULT_URL,
    as_json: Json = False,
) -> None:
    """Throw them away for good."""
    chosen = _chosen(names, everything)
    if not yes:
        what = "all dead letters" if everything else plural(len(names or ()), "dead letter")
        typer.confirm(f"throw away {what} for good?", abort=True, err=True)
    document = sent(url, "/api/deadletters/drop", chosen)
    _say(document, "thrown away", url, as_json=as_json)


def _chosen(names: list[str] | None, everything: bool) -> dict[str, Any]:
    if bool(names) == everything:
        raise typer.BadParameter("say which: their names, or --all", param_hint="NAMES")
    return {"all": True} if everything else {"names": names}


def _say(document: Any, done: str, url: str, *, as_json: bool) -> None:
    if as_json:
        return print_json(document)
    letters = read_as(Letters, document, url).letters
    spans = sum(letter.spans for letter in letters)
    return write(f"{plural(len(letters), 'dead letter')} with {plural(spans, 'span')} {done}\n")


def _utc(at_ns: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime(at_ns // 1_000_000_000)) if at_ns else "unknown"
