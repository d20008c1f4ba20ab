"""
httpx, Client and AsyncClient: every request that is sent, redirects and authentication included, and its body.

Timed between the client and its transport, so that mounts and transports of the application's own count too; what a
connection costs is seen one floor below (httpcore.py). Waiting for a connection of the pool is part of the request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from httpx import AsyncClient, Client
from httpx._client import BoundAsyncStream, BoundSyncStream

from walltime.clients.http.requests import REQUEST, about_body, body, failed, server_of
from walltime.core.execution import current
from walltime.errors import contain
from walltime.instrumentation.measure import Measure, first
from walltime.instrumentation.patching import Patch
from walltime.propagation.propagation import outgoing_headers
from walltime.propagation.recipients import is_limited, is_recipient

if TYPE_CHECKING:
    from httpx import Request

    from walltime.instrumentation.measure import Described

REQUIRES: Final = "httpx >= 0.27, < 1"


def patches() -> list[Patch]:
    request = Measure("httpx", _describe, _begin)
    blocks = body("httpx", about_body)
    return [
        Patch(Client, "_send_single_request", request.call),
        Patch(AsyncClient, "_send_single_request", request.awaited),
        Patch(BoundSyncStream, "__iter__", blocks.iterated),
        Patch(BoundAsyncStream, "__aiter__", blocks.iterated_async),
    ]


def _begin(_client: Any, args: Any) -> tuple[Request, list[str]]:
    """Add our headers to the request and return their names."""
    request = first(args)
    added: list[str] = []
    try:
        execution = current()
        transaction = None if execution is None else execution.transaction
        if transaction is not None and (not is_limited(transaction) or is_recipient(transaction, request.url.host)):
            for name, value in outgoing_headers(transaction):
                if name not in request.headers:
                    request.headers[name] = value
                    added.append(name)
    except Exception as ours:
        contain("httpx", ours)
    return request, added


def _describe(about: tuple[Request, list[str]], _args: Any, response: Any, error: BaseException | None) -> Described:
    request, added = about
    for name in added:  # the request is the application's, which may send it again for somebody else
        request.headers.pop(name, None)
    line, subject, status = REQUEST[server_of(request.url)], (request.method, "", str(request.url)), 0
    if error is None:
        status = response.status_code
        response.stream._walltime = (line, subject)  # its body is read later
    return line, subject, failed(status), 0, status
