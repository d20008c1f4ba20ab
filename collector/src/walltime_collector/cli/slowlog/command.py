"""`walltime slowlog import`: slow logs of databases whose files the collector cannot follow."""

from __future__ import annotations

import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...errors import CommandFailed
from ...format import plural, printable, size, time_span
from ..client import Client
from ..options import with_global_options
from ..output import print_json, write
from .progress import Done, progress
from .words import NO_LOG, check_file, left_out

if TYPE_CHECKING:
    from .sending import Report


@click.group
def slow_logs() -> None:
    """Slow logs of databases whose files the collector cannot read."""


@slow_logs.command("import")
@click.argument("paths", nargs=-1, required=True, metavar="FILE...", help="Slow logs, or - for stdin.")
@click.option(
    "--server", default="imported", metavar="NAME", help="The database's address, as the applications use it."
)
@with_global_options
def import_logs(client: Client, as_json: bool, paths: tuple[str, ...], server: str) -> None:
    """
    Store slow logs: files of RDS, Aurora, Cloud SQL or Azure, and JSON of CloudWatch Logs or Cloud Logging.

    Compressed or not. Literals are removed here, before anything is sent. Needs the admin token. A log is known by its
    content: what was imported before, under whatever name, is not stored again, and a log that has grown goes on.
    """
    from .sending import import_log  # with the parser: the other commands stay fast

    paths = tuple(dict.fromkeys(paths))
    for path in paths:
        check_file(path)
    sizes = [Path(path).stat().st_size if path != "-" else 0 for path in paths]
    reports = []
    with progress("importing", sum(sizes) if all(sizes) else 0) as done:
        for at, path in enumerate(paths):
            report = import_log(client, path, server, partial(_add, done, sum(sizes[:at])))
            reports.append(report)
            if not as_json and (report.stored or not _problem(report)):
                write(f"{_line(report)}\n")
    if as_json:
        print_json({"logs": [asdict(each) for each in reports]})
    if problems := [f"{printable(each.name)}: {problem}" for each in reports if (problem := _problem(each))]:
        raise CommandFailed("; ".join(problems))
    for each in reports:
        if remark := _remark(each):
            sys.stderr.write(f"walltime: {printable(each.name)}: {remark}\n")


def _add(done: Done, before: int, read_bytes: int) -> None:
    done(before + read_bytes)


def _line(report: Report) -> str:
    words = [printable(report.name), f"{plural(report.stored, 'entry', 'entries')} stored"]
    words += [f"{plural(report.stored_before, 'entry', 'entries')} stored before"] if report.stored_before else []
    words += [time_span(report.since, report.until)] if report.since else []
    return "   ".join(words)


def _problem(report: Report) -> str:
    if report.error:
        return f"{report.error}; what is before that is stored, import it again when the file is whole"
    if not report.stored and not report.stored_before and report.skipped_bytes:
        return NO_LOG
    return ""


def _remark(report: Report) -> str:
    words = [left_out(report.malformed, report.skipped_bytes)]
    if report.unfinished_bytes:
        words.append(
            f"its last {size(report.unfinished_bytes)} are an entry without an end; import it again when it is whole"
        )
    return "; ".join(filter(None, words))
