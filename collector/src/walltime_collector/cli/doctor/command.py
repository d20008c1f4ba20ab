"""`walltime doctor`: checks, and the exit code."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from ..client import Client
from ..options import read_token, with_global_options
from ..output import print_json, print_rendered


@with_global_options
def doctor(
    client: Client,
    as_json: bool,
    otlp: Annotated[str, typer.Option(help="Send to this OTLP/HTTP address. [the collector's own]")] = "",
    ingest_token_file: Annotated[
        Path | None,
        typer.Option(
            envvar="WALLTIME_INGEST_TOKEN_FILE",
            help="File of the token for OTLP. WALLTIME_INGEST_TOKEN is the token itself.",
        ),
    ] = None,
) -> None:
    """
    Check the collector and the applications.

    Sends a test transaction through everything. The exit code is 1 if a check fails.
    """
    from .checks import examine
    from .report import render

    token = os.environ.get("WALLTIME_INGEST_TOKEN", "") if ingest_token_file is None else read_token(ingest_token_file)
    try:
        examination = examine(client, token, otlp)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--otlp") from error
    if as_json:
        print_json(asdict(examination))
    else:
        print_rendered(lambda _: render(examination))
    if not examination.is_ok:
        raise typer.Exit(1)
