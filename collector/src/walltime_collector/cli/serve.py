"""`walltime serve`: reads the options and the settings, then runs the collector."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

log = logging.getLogger(__name__)


def serve(
    data: Annotated[
        Path | None, typer.Option(help="Directory of the spool and the embedded database. [~/.local/share/walltime]")
    ] = None,
    grpc: Annotated[
        str | None, typer.Option(help="Address of OTLP/gRPC; port 0: a free port. [127.0.0.1:4317]")
    ] = None,
    http: Annotated[
        str | None, typer.Option(help="Address of OTLP/HTTP; port 0: a free port. [127.0.0.1:4318]")
    ] = None,
    web: Annotated[str | None, typer.Option(help="Address of the pages and the API. [127.0.0.1:8464]")] = None,
    clickhouse: Annotated[
        str | None,
        typer.Option(
            help="Store in this ClickHouse server, as in http://host:8123; user and password are"
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
    mysql: Annotated[
        list[str] | None,
        typer.Option(
            help="A MySQL or MariaDB server to ask, [NAME=]mysql://user@host:3306; repeatable. Its password is"
            " WALLTIME_MYSQL_PASSWORD or …_PASSWORD_FILE."
        ),
    ] = None,
    mysql_setup: Annotated[
        bool, typer.Option("--mysql-setup", help="Switch on in these servers what is off and needed.")
    ] = False,
    mysql_explain: Annotated[
        bool, typer.Option("--mysql-explain", help="Look for changed plans in these servers, by EXPLAIN.")
    ] = False,
    memcached: Annotated[
        list[str] | None, typer.Option(help="A memcached server to ask, [NAME=]host:11211; repeatable.")
    ] = None,
    redis: Annotated[
        list[str] | None,
        typer.Option(
            help="A Redis or Valkey server to ask, [NAME=]redis://host:6379; repeatable. Its password is"
            " WALLTIME_REDIS_PASSWORD or …_PASSWORD_FILE."
        ),
    ] = None,
    discover_caches: Annotated[
        bool, typer.Option("--discover-caches", help="Ask the caches that the applications use as well.")
    ] = False,
    insecure: Annotated[
        bool,
        typer.Option("--insecure", help="Allow addresses that other machines can reach without a token."),
    ] = False,
    config: Annotated[
        Path | None,
        typer.Option(
            help="File of settings. [WALLTIME_CONFIG, or the first that exists of ./walltime.toml,"
            " ~/.config/walltime/walltime.toml and /etc/walltime/walltime.toml]"
        ),
    ] = None,
    print_config: Annotated[
        bool, typer.Option("--print-config", help="Print the settings in force and their sources as TOML, and exit.")
    ] = False,
) -> None:
    """
    Run the collector until Ctrl-C or SIGTERM.

    Options win over WALLTIME_… variables, and those over the file; docs/settings.md lists all settings.
    """
    from ..config.environment import forget
    from ..config.file import configure, misspelled, shown
    from ..config.logs import log_to_stderr
    from ..config.settings import SECRETS
    from ..serve import serve as run

    options: dict[str, Any] = {"data": data, "grpc": grpc, "http": http, "web": web, "clickhouse": clickhouse}
    options |= {"clickhouse_http": clickhouse_http, "insecure": insecure or None, "slow_log": slow_log or None}
    options |= {"mysql": mysql or None, "mysql_setup": mysql_setup or None, "mysql_explain": mysql_explain or None}
    options |= {"memcached": memcached or None, "redis": redis or None, "discover_caches": discover_caches or None}
    configuration = configure({name: value for name, value in options.items() if value is not None}, config)
    if print_config:
        sys.stdout.write(shown(configuration))
        return
    log_to_stderr(configuration.settings.log_format)
    for variable, meant in misspelled():
        hint = f"is {meant} meant?" if meant else "docs/settings.md lists all settings"
        log.warning("%s is no variable of Walltime and does nothing; %s", variable, hint)
    forget(f"WALLTIME_{name.upper()}" for name in SECRETS)
    run(configuration.settings)
