"""`walltime serve`: reads the options and the settings, then runs the collector."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Any

import click

from .options import FILE

log = logging.getLogger(__name__)


@click.command
@click.option("--data", type=FILE, help="Directory of the spool and the embedded database. [~/.local/share/walltime]")
@click.option("--grpc", help="Address of OTLP/gRPC; port 0: a free port. [127.0.0.1:4317]")
@click.option("--http", help="Address of OTLP/HTTP; port 0: a free port. [127.0.0.1:4318]")
@click.option("--web", help="Address of the pages and the API. [127.0.0.1:8464]")
@click.option(
    "--clickhouse",
    help="Store in this ClickHouse server, as in http://host:8123; user and password are WALLTIME_CLICKHOUSE_USER and"
    " WALLTIME_CLICKHOUSE_PASSWORD or …_PASSWORD_FILE. [the embedded one]",
)
@click.option(
    "--clickhouse-http",
    help="Address of a read-only ClickHouse HTTP interface for Grafana, as in 127.0.0.1:8123; its password is"
    " WALLTIME_CLICKHOUSE_HTTP_TOKEN. [off]",
)
@click.option(
    "--slow-log",
    multiple=True,
    help="A slow log of MySQL, MariaDB or Percona Server to follow, PATH or NAME=PATH; repeatable.",
)
@click.option(
    "--mysql",
    multiple=True,
    help="A MySQL or MariaDB server to ask, [NAME=]mysql://user@host:3306; repeatable. Its password is"
    " WALLTIME_MYSQL_PASSWORD or …_PASSWORD_FILE.",
)
@click.option("--mysql-setup", is_flag=True, help="Switch on in these servers what is off and needed.")
@click.option("--mysql-explain", is_flag=True, help="Look for changed plans in these servers, by EXPLAIN.")
@click.option("--memcached", multiple=True, help="A memcached server to ask, [NAME=]host:11211; repeatable.")
@click.option(
    "--redis",
    multiple=True,
    help="A Redis or Valkey server to ask, [NAME=]redis://host:6379; repeatable. Its password is"
    " WALLTIME_REDIS_PASSWORD or …_PASSWORD_FILE.",
)
@click.option("--discover-caches", is_flag=True, help="Ask the caches that the applications use as well.")
@click.option("--insecure", is_flag=True, help="Allow addresses that other machines can reach without a token.")
@click.option(
    "--config",
    type=FILE,
    help="File of settings. [WALLTIME_CONFIG, or the first that exists of ./walltime.toml,"
    " ~/.config/walltime/walltime.toml and /etc/walltime/walltime.toml]",
)
@click.option("--print-config", is_flag=True, help="Print the settings in force and their sources as TOML, and exit.")
def serve(config: Path | None, print_config: bool, **options: Any) -> None:
    """
    Run the collector until Ctrl-C or SIGTERM.

    Options win over WALLTIME_… variables, and those over the file; docs/settings.md lists all settings.
    """
    from ..config.environment import forget
    from ..config.file import configure, misspelled, shown
    from ..config.logs import log_to_stderr
    from ..config.settings import SECRETS
    from ..serve import serve as run

    configuration = configure(
        {name: value for name, value in options.items() if value not in (None, False, ())}, config
    )
    if print_config:
        sys.stdout.write(shown(configuration))
        return
    log_to_stderr(configuration.settings.log_format)
    for variable, meant in misspelled():
        hint = f"is {meant} meant?" if meant else "docs/settings.md lists all settings"
        log.warning("%s is no variable of Walltime and does nothing; %s", variable, hint)
    forget(f"WALLTIME_{name.upper()}" for name in SECRETS)
    run(configuration.settings)
