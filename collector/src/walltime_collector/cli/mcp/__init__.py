"""`walltime mcp`: the answers as tools for assistants, over stdio or HTTP."""

from __future__ import annotations

from importlib.util import find_spec

import click

from ...errors import CommandFailed
from ..client import Client
from ..options import text_option, with_global_options


@click.command
@text_option(
    "--http", metavar="ADDRESS", help="Serve streamable HTTP at a loopback address, as in 127.0.0.1:8465. [stdio]"
)
@with_global_options
def mcp(client: Client, as_json: bool, http: str) -> None:
    """
    Serve the answers as tools for assistants (Model Context Protocol).

    Over stdio, the collector gets the token of this command. Over HTTP it gets the one of each request, and the
    command prints `ready URL` when it accepts requests.
    """
    if find_spec("mcp") is None:
        raise CommandFailed("the package mcp is not installed; run: pip install 'walltime-collector[mcp]'")
    from .serve import serve_http
    from .stdio import serve_stdio
    from .tools import make_server

    if http:
        serve_http(client, http)
    else:
        serve_stdio(make_server(client))
