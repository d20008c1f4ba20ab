"""The tools over streamable HTTP, on loopback addresses only."""

from __future__ import annotations

import socket
from dataclasses import replace

import click
import uvicorn

from ...config.settings import is_loopback
from ...errors import CommandFailed
from ...http.ports.listening import listened
from ..client import Client
from ..output import write
from .tools import make_server

PATH = "/mcp"


def serve_http(client: Client, address: str) -> None:
    """
    Serve until SIGTERM or Ctrl-C; print `ready URL` first.

    The collector gets the bearer token of each request, never the one of this command: other users of the machine can
    connect to a loopback address. Requests with a foreign Host or Origin are refused.

    Raises:
        BadParameter: The address is not one of loopback.
        CommandFailed: It cannot listen there.
    """
    host, _, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not (is_loopback(host) and port.isascii() and port.isdecimal()):
        raise click.BadParameter(f"{address!r} is not a loopback address with a port", param_hint="--http")
    try:
        listening = socket.create_server((host, int(port)), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except (OSError, OverflowError) as error:
        raise CommandFailed(f"cannot listen on {address}: {error}; choose another port") from error
    app = make_server(replace(client, token=""), is_http=True).streamable_http_app(
        streamable_http_path=PATH, stateless_http=True, json_response=True
    )
    with listening:
        write(f"ready http://{listened(listening)}{PATH}\n")
        uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listening])
