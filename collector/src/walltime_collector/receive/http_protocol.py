"""uvicorn's HTTP/1.1 on the OTLP port, with the limits it lacks: of connections, of headers, of a request's bytes."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from .answers import RPC_CODES, rpc_status
from .connections import Connections
from .intake import RETRY_AFTER_S

log = logging.getLogger(__name__)
log.setLevel(logging.ERROR)

_MAX_HEADER_BYTES = 64 * 1024
_ROOM_FOR_CHUNKS = 8
"""A body may take so many times its limit on the wire: chunks have sizes, and one of a byte has five bytes of them."""


def guarded(
    connections: Connections, count_refused: Callable[[str], None], *, header_s: float, max_request_bytes: int
) -> type[HttpToolsProtocol]:
    """
    The protocol class to hand to uvicorn.

    Args:
        header_s: From the connection, or the first byte of a later request, to the end of its headers.
    """
    max_bytes = max_request_bytes * _ROOM_FOR_CHUNKS + _MAX_HEADER_BYTES
    too_many = _answer(503, "too many connections; send again later")
    no_memory = _answer(503, "the collector has no memory for this now; send again later")
    not_http = _answer(400, "this is not an HTTP request")

    class Guarded(HttpToolsProtocol):
        def __init__(self, *arguments: Any, **named: Any) -> None:
            super().__init__(*arguments, **named)
            self.logger = log  # uvicorn's has a line for each request that is not HTTP; here they are counted
            self._head_since_s: float | None = self.loop.time()
            self._request_bytes = 0

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            if not connections.enter(self, transport):
                transport.write(too_many)
                transport.close()

        def connection_lost(self, error: Exception | None) -> None:
            connections.leave(self)
            super().connection_lost(error)

        def data_received(self, data: bytes) -> None:
            if self.transport.is_closing():
                return
            if self._head_since_s is None and (self.cycle is None or self.cycle.response_complete):
                self._head_since_s = self.loop.time()
                self._request_bytes = 0
            self._request_bytes += len(data)
            if self._request_bytes > (max_bytes if self._head_since_s is None else max(_MAX_HEADER_BYTES, len(data))):
                self.transport.close()
                return
            super().data_received(data)

        def send_400_response(self, msg: str) -> None:
            error = sys.exc_info()[1]
            # when the body did not fit into memory, what a sender hears must not be that its request is wrong
            has_no_memory = error is not None and isinstance(error.__context__, MemoryError)
            count_refused("memory" if has_no_memory else "not_http")
            self.transport.write(no_memory if has_no_memory else not_http)
            self.transport.close()

        def on_message_begin(self) -> None:
            self._request_bytes = 0
            super().on_message_begin()

        def on_headers_complete(self) -> None:
            self._head_since_s = None
            super().on_headers_complete()

        def sweep(self, now_s: float) -> None:
            if self._head_since_s is not None and now_s - self._head_since_s > header_s:
                self.transport.abort()

    return Guarded


def _answer(status: int, message: str) -> bytes:
    body = rpc_status(RPC_CODES[status], message)
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", "connection: close"]
    lines += ["content-type: application/x-protobuf", f"content-length: {len(body)}"]
    if status == 503:
        lines.append(f"retry-after: {RETRY_AFTER_S}")
    return "\r\n".join([*lines, "", ""]).encode() + body
