"""uvicorn's HTTP/1.1 on httptools, with limits that it lacks: headers, bytes and time of a request, pipelining."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import sys
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from .connections import Connections, Slot
from .deadlines import BODY_STALL_S, HEADER_STALL_S, ReadingDeadline
from .port import Port

log = logging.getLogger(__name__)
log.setLevel(logging.ERROR)

MAX_HEADER_BYTES = 32 * 1024
MAX_URL_BYTES = 16 * 1024
MAX_HEADERS = 100
_MAX_PIPELINED = 32
_MAX_CHUNK_OVERHEAD = 8
"""Bytes on the wire for each byte of a body: a chunk of one byte has five bytes of framing."""
_GRACE_S = 5.0
"""After the deadline of a body, for the application to answer 408 itself."""
_LINGER_S = 2.0
_MAX_LINGER_BYTES = 64 * 1024 * 1024
"""Read and discarded after a refusal."""
RETRY_AFTER_S = 5
IDLE_S = 60
"""A connection without a request is closed after this time."""

Wording = Callable[[int, str], tuple[str, bytes]]
"""Makes the body of an error from its status and a sentence; returns its content type and the body."""


class _Refused(Exception):
    """A request is refused during parsing."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.status, self.reason = status, reason


_NOT_HTTP = _Refused(400, "not_http", "this is not an HTTP request")
_NO_MEMORY = _Refused(503, "memory", "the collector has not enough memory now; send again later")


class HttpPort(Port):
    """
    A port that serves an ASGI application over HTTP/1.1.

    Args:
        header_s: From the connection, or the first byte of a later request, to the end of the headers.
        request_s: From the headers to the end of the body; also for the client to read the response.
        count_refused: Called with the reason, for each request that is refused before it reaches the application.
    """

    def __init__(
        self,
        name: str,
        listening: socket.socket,
        connections: Connections,
        app: Any,
        *,
        header_s: float,
        request_s: float,
        max_request_bytes: int,
        tls: ssl.SSLContext | None,
        grace_s: float,
        count_refused: Callable[[str], None],
        wording: Wording,
    ) -> None:
        self.header_s, self.request_s = header_s, request_s
        self.count_refused, self.wording = count_refused, wording
        self.most_bytes = max_request_bytes * _MAX_CHUNK_OVERHEAD + MAX_HEADER_BYTES
        self.state = ServerState()
        self.config = uvicorn.Config(
            app,
            http=HttpToolsProtocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            timeout_keep_alive=IDLE_S,
        )
        self.config.load()
        super().__init__(
            name,
            listening,
            connections,
            partial(HttpConnection, self),
            tls=tls,
            handshake_s=header_s,
            grace_s=grace_s,
            refusal=error_response(503, "too many connections; send again later", wording),
            tasks=self.state.tasks,
        )


class HttpConnection(HttpToolsProtocol):
    """A connection that uvicorn serves, within the limits of its port."""

    def __init__(self, port: HttpPort, slot: Slot) -> None:
        super().__init__(port.config, port.state, {})
        self.logger = log  # uvicorn's logs each request that is not HTTP; here they are counted
        self._port, self._slot = port, slot
        self._arriving = "headers"
        """The part of a request that is arriving: `headers`, `body` or nothing."""
        self._since_s = self._idle_since_s = self._data_s = self.loop.time()
        self._has_data = self._is_refused = False
        self._request_bytes = self._overhead_bytes = self._header_bytes = self._headers = 0

    # -- called by the transport

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._reading = ReadingDeadline(transport, self._port.request_s)
        self._slot.connection = self

    def connection_lost(self, error: Exception | None) -> None:
        self._slot.leave()
        super().connection_lost(error)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        if self._is_refused:
            self._discard(data)
            return
        self._has_data, self._data_s = True, self.loop.time()
        if not self._arriving:
            self._begin("headers")
            self._request_bytes = self._overhead_bytes = 0
        self._request_bytes += len(data)
        # with every packet the parser copies what it has of an unfinished header or trailer
        self._overhead_bytes += len(data)
        super().data_received(data)
        if self.transport.is_closing() or self._is_refused:
            return
        if self._overhead_bytes > MAX_HEADER_BYTES:
            self._refuse(_too_large() if self._arriving == "headers" else _NOT_HTTP)
        elif self._request_bytes > self._port.most_bytes:
            self.transport.close()

    # -- called by the parser

    def on_message_begin(self) -> None:
        self._begin("headers")
        self._request_bytes = self._header_bytes = self._headers = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        if len(self.url) + len(url) > MAX_URL_BYTES:
            raise _Refused(414, "url", f"the URL is longer than {MAX_URL_BYTES} bytes; send less of it in the URL")
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers += 1
        self._header_bytes += len(name) + len(value) + 4
        if self._headers > MAX_HEADERS or self._header_bytes + len(self.url) > MAX_HEADER_BYTES:
            raise _too_large()
        if self._arriving == "headers":  # trailers are ignored
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        if len(self.pipeline) >= _MAX_PIPELINED:
            raise _Refused(400, "pipelined", "too many requests at once on one connection; wait for the answers")
        self._begin("body")
        self._overhead_bytes = 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._overhead_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._begin("")
        self._overhead_bytes = 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        self._idle_since_s = self.loop.time()
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        error = sys.exc_info()[1]
        cause = None if error is None else error.__context__
        # when the body does not fit into memory, the response must not be that the request is wrong
        known = cause if isinstance(cause, _Refused) else _NO_MEMORY if isinstance(cause, MemoryError) else _NOT_HTTP
        self._refuse(known)

    # -- called by Connections

    def sweep(self, now_s: float) -> None:
        if self._reading.is_over(now_s):
            self._close_late("slow_reader")
        elif self.transport.is_closing():
            return
        elif self._is_refused:
            if now_s - self._since_s > _LINGER_S:
                self.transport.abort()
        elif self.flow.read_paused:  # by us: this time does not count
            self._since_s = now_s
        elif self._arriving == "headers" and now_s - self._since_s > self._port.header_s:
            self._close_late("slow_headers" if self._has_data else "silent")
        elif self._arriving == "body" and now_s - self._since_s > self._port.request_s + _GRACE_S:
            self._close_late("slow_body")

    def idle_since_s(self) -> float | None:
        if self._is_refused:
            return self._since_s
        if self._arriving and self._has_data:  # a stalled request may be dropped for others
            patience_s = HEADER_STALL_S if self._arriving == "headers" else BODY_STALL_S
            has_stalled = not self.flow.read_paused and self.loop.time() - self._data_s > patience_s
            return self._data_s if has_stalled and not self.pipeline else None
        is_answering = self.cycle is not None and not self.cycle.response_complete
        return None if is_answering or self.pipeline else self._idle_since_s

    def unread_bytes(self) -> int:
        return self._reading.unread_bytes

    def drain(self) -> None:
        self.shutdown()

    def abort(self) -> None:
        self.transport.abort()

    def _begin(self, arriving: str) -> None:
        if arriving != self._arriving:
            self._arriving, self._since_s = arriving, self.loop.time()

    def _close_late(self, reason: str) -> None:
        self._slot.note(reason)
        self.transport.abort()

    def _refuse(self, refusal: _Refused) -> None:
        self._port.count_refused(refusal.reason)
        cycle = self.cycle
        is_own = self._arriving == "body" and cycle is not None and not cycle.response_started
        # otherwise the client would take it for the response to an earlier request
        if not self.pipeline and (cycle is None or cycle.response_complete or is_own):
            self.transport.write(error_response(refusal.status, str(refusal), self._port.wording))
            if is_own:  # the application sees a disconnect
                cycle.disconnected = True
                cycle.message_event.set()
            self._linger()
        else:
            self.transport.close()

    def _linger(self) -> None:
        """Read on for a while: closing now would reset the connection, and the response could be lost."""
        self._is_refused, self._since_s, self._request_bytes = True, self.loop.time(), 0
        self.flow.resume_reading()
        if self.transport.can_write_eof():
            self.transport.write_eof()

    def _discard(self, data: bytes) -> None:
        self._request_bytes += len(data)
        if self._request_bytes > _MAX_LINGER_BYTES:
            self.transport.abort()


def error_response(status: int, message: str, wording: Wording) -> bytes:
    """A complete error response, after which the connection is closed."""
    content_type, body = wording(status, message)
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", "connection: close"]
    lines += [f"content-type: {content_type}", f"content-length: {len(body)}"]
    if status == 503:
        lines.append(f"retry-after: {RETRY_AFTER_S}")
    return "\r\n".join([*lines, "", ""]).encode() + body


def _too_large() -> _Refused:
    what = f"the headers are more than {MAX_HEADER_BYTES} bytes or more than {MAX_HEADERS}"
    return _Refused(431, "headers", f"{what}; send fewer")
