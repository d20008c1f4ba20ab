"""`walltime doctor`: checks, and the exit code."""

from __future__ import annotations

import logging
import os
from dataclasses import asdict
from pathlib import Path

import click

from ..client import Client
from ..options import FILE, read_token, text_option, with_global_options
from ..output import print_json, print_rendered


@click.command
@text_option("--otlp", help="Send to this OTLP/HTTP address. [the collector's own]")
@click.option(
    "--ingest-token-file",
    type=FILE,
    envvar="WALLTIME_INGEST_TOKEN_FILE",
    show_envvar=True,
    help="File of the token for OTLP. WALLTIME_INGEST_TOKEN is the token itself.",
)
@click.option(
    "--clickhouse",
    multiple=True,
    help="Check this ClickHouse server instead, as in http://host:8123; repeatable, for the nodes of a cluster. User,"
    " password, TLS files and cluster are those of walltime serve.",
)
@with_global_options
def doctor(
    client: Client, as_json: bool, otlp: str, ingest_token_file: Path | None, clickhouse: tuple[str, ...]
) -> None:
    """
    Check the collector and the applications, or with --clickhouse a server before a collector uses it.

    Sends a test transaction through everything. In a server it creates a database of its own and removes it. The exit
    code is 1 if a check fails.
    """
    if clickhouse:
        _check_servers(clickhouse, as_json)
        return
    from .checks import examine
    from .report import render

    token = os.environ.get("WALLTIME_INGEST_TOKEN", "") if ingest_token_file is None else read_token(ingest_token_file)
    try:
        examination = examine(client, token, otlp)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--otlp") from error
    if as_json:
        print_json(asdict(examination))
    else:
        print_rendered(lambda _: render(examination))
    if not examination.is_ok:
        raise click.exceptions.Exit(1)


def _check_servers(urls: tuple[str, ...], as_json: bool) -> None:
    from ...config.file import configure
    from .clickhouse import examine_servers
    from .report import render_servers

    logging.getLogger("clickhouse_connect").setLevel(logging.CRITICAL)  # the checks report what it logs
    examinations = examine_servers(configure({}, None).settings, urls)
    is_ok = all(each.is_ok for each in examinations)
    if as_json:
        print_json({"is_ok": is_ok, "servers": [asdict(each) for each in examinations]})
    else:
        print_rendered(lambda _: render_servers(examinations))
    if not is_ok:
        raise click.exceptions.Exit(1)
