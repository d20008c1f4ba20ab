"""`walltime serve`: reads the options, and says in one sentence why the collector cannot start."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import CollectorError


def serve(
    data: Annotated[
        Path | None, typer.Option(help="Directory of the spool and the embedded database. [~/.local/share/walltime]")
    ] = None,
    http: Annotated[
        str | None, typer.Option(help="Address of OTLP/HTTP; port 0 takes a free one. [127.0.0.1:4318]")
    ] = None,
    web: Annotated[str | None, typer.Option(help="Address of the pages and the API. [127.0.0.1:8464]")] = None,
    clickhouse: Annotated[
        str | None,
        typer.Option(
            help="Store in this ClickHouse server, as in http://host:8123; user and password come from"
            " WALLTIME_CLICKHOUSE_USER and WALLTIME_CLICKHOUSE_PASSWORD or …_PASSWORD_FILE. [the embedded one]"
        ),
    ] = None,
    clickhouse_http: Annotated[
        str | None,
        typer.Option(
            help="Address of a read-only ClickHouse HTTP interface for Grafana, as in 127.0.0.1:8123; its password is"
            " WALLTIME_CLICKHOUSE_HTTP_TOKEN. [off]"
        ),
    ] = None,
    slow_log: Annotated[
        list[str] | None,
        typer.Option(help="A slow log of MySQL, MariaDB or Percona Server to follow, PATH or NAME=PATH; repeatable."),
    ] = None,
    insecure: Annotated[
        bool,
        typer.Option("--insecure", help="Allow addresses that other machines can reach; nothing asks for a password."),
    ] = False,
) -> None:
    """Run the collector until Ctrl-C or SIGTERM. What is not said here comes from WALLTIME_… variables."""
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=logging.INFO, stream=sys.stderr)
    logging.getLogger("uvicorn").setLevel(logging.WARNING)  # it says "started" and "finished", once per port
    # they warn of each attempt, with all its parameters, where the loader warns once; urllib3's own level is not kept
    for name in ("clickhouse_connect", "urllib3.connectionpool"):
        logging.getLogger(name).setLevel(logging.ERROR)
    from pydantic import ValidationError

    from ..serve import serve as run
    from ..settings import Settings

    said: dict[str, Any] = {"data": data, "http": http, "web": web, "clickhouse": clickhouse}
    said |= {"clickhouse_http": clickhouse_http}
    said |= {"insecure": insecure or None, "slow_log": slow_log or None}
    try:
        settings = Settings(**{name: value for name, value in said.items() if value is not None})
    except ValidationError as error:
        first = error.errors()[0]
        name = "_".join(map(str, first["loc"]))
        raise typer.BadParameter(f"WALLTIME_{name.upper()}: {first['msg']}") from error
    try:
        run(settings)
    except CollectorError as error:
        sys.stderr.write(f"walltime: {error}\n")
        raise typer.Exit(1) from error
