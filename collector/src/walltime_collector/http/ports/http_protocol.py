"""uvicorn's HTTP/1.1 on httptools, with limits that it lacks: headers, bytes and time of a request, pipelining."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import httptools
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from .connections import Connections, Slot
from .deadlines import BODY_STALL_S, HEADER_STALL_S, ReadingDeadline
from .framing import MAX_HEADER_BYTES, MAX_HEADERS, MAX_URL_BYTES, TOO_LARGE, URL_TOO_LARGE, check_head, without_offer
from .port import Port
from .refusals import NO_MEMORY, NOT_HTTP, TOO_MANY, Refused, Wording, error_response

log = logging.getLogger(__name__)
log.setLevel(logging.ERROR)

_MAX_PIPELINED = 64
_MAX_CHUNK_OVERHEAD = 8
"""Bytes on the wire for each byte of a body: a chunk of one byte has five bytes of framing."""
_GRACE_S = 5.0
"""After the deadline of a body, for the application to answer 408 itself."""
_LINGER_S = 2.0
_MAX_LINGER_BYTES = 64 * 1024 * 1024
"""Read and discarded after a refusal."""
IDLE_S = 60
"""A connection without a request is closed after this time."""


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
        self.max_request_bytes = max_request_bytes
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
        self._has_data = self._is_refused = self._is_offered = False
        self._running: RequestResponseCycle | None = None
        self._last: Refused | None = None
        """Answered after the requests before it."""
        self._data = b""
        self._request_bytes = self._overhead_bytes = self._header_bytes = self._headers = 0

    # -- called by the transport

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._reading = ReadingDeadline(transport, self._port.request_s)
        self._slot.connection = self

    def connection_lost(self, error: Exception | None) -> None:
        self._slot.leave()
        super().connection_lost(error)
        self.pipeline.clear()
        if self._running is not None:  # uvicorn marks the newest request only
            self._running.disconnected = True
            self._running.message_event.set()

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
        self._data = data
        super().data_received(data)
        if self.transport.is_closing() or self._is_refused:
            return
        if self._overhead_bytes > MAX_HEADER_BYTES:
            self._refuse(Refused(*TOO_LARGE) if self._arriving == "headers" else NOT_HTTP)
        elif self._request_bytes > self._port.most_bytes:
            self.transport.close()

    # -- called by the parser

    def on_message_begin(self) -> None:
        self._begin("headers")
        self._request_bytes = self._header_bytes = self._headers = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        if len(self.url) + len(url) > MAX_URL_BYTES:
            raise Refused(*URL_TOO_LARGE)
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers += 1
        self._header_bytes += len(name) + len(value) + 4
        if self._headers > MAX_HEADERS or self._header_bytes + len(self.url) > MAX_HEADER_BYTES:
            raise Refused(*TOO_LARGE)
        if self._arriving == "headers":  # trailers are ignored
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        if len(self.pipeline) >= _MAX_PIPELINED:
            raise Refused(*TOO_MANY)
        check_head(self.parser.get_http_version(), self.headers, self._port.max_request_bytes)
        self._is_offered = self.parser.should_upgrade()
        if self._is_offered and self.parser.get_method() != b"CONNECT":
            return  # see _unsupported_upgrade_warning
        self._begin("body")
        self._overhead_bytes = 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._overhead_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        if self._is_offered:
            return
        self._begin("")
        self._overhead_bytes = 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        self._idle_since_s = self.loop.time()
        is_last = not self.pipeline
        super().on_response_complete()
        if is_last and self._last is not None and not self.transport.is_closing():
            self._answer(self._last)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    def _unsupported_upgrade_warning(self) -> None:
        """
        Go on in HTTP/1.1: the client offers another protocol beside it, as Java's does with each first request.

        The parser ends with such a head and would take the body for the other protocol. A new one reads the head again
        without the offer, then the rest.
        """
        error = sys.exc_info()[1]
        rest = self._data[error.args[0] :] if error is not None else b""
        line = b"%s %s HTTP/%s" % (self.parser.get_method(), self.url, self.parser.get_http_version().encode())
        self._data = without_offer(line, self.headers) + rest
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
        super().data_received(self._data)

    def send_400_response(self, msg: str) -> None:
        error = sys.exc_info()[1]
        cause = None if error is None else error.__context__
        # when the body does not fit into memory, the response must not be that the request is wrong
        known = cause if isinstance(cause, Refused) else NO_MEMORY if isinstance(cause, MemoryError) else NOT_HTTP
        self._refuse(known)

    # -- called by Connections

    def sweep(self, now_s: float) -> None:
        if self._reading.is_over(now_s):
            self._close_late("slow_reader")
        elif self.transport.is_closing():
            return
        elif self._is_refused:
            if self._last is None and now_s - self._since_s > _LINGER_S:
                self.transport.abort()
        elif self.flow.read_paused:  # by us: this time does not count
            self._since_s = now_s
        elif self._arriving == "headers" and now_s - self._since_s > self._port.header_s:
            self._close_late("slow_headers" if self._has_data else "silent")
        elif self._arriving == "body" and now_s - self._since_s > self._port.request_s + _GRACE_S:
            self._close_late("slow_body")

    def idle_since_s(self) -> float | None:
        if self._is_refused and self._last is None:
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

    def _refuse(self, refusal: Refused) -> None:
        self._port.count_refused(refusal.reason)
        cycle = self.cycle
        is_own = self._arriving == "body" and cycle is not None and not cycle.response_started
        if is_own and self.pipeline and self.pipeline[0][0] is cycle:
            self.pipeline.popleft()  # its body never comes
            is_own = False
        running = self._running
        if is_own or running is None or running.response_complete:
            if is_own:  # the application sees a disconnect
                cycle.disconnected = True
                cycle.message_event.set()
            self._answer(refusal)
        elif self._arriving == "body" and not self.pipeline and running is cycle:
            self.transport.close()  # its own response has begun
        else:  # first the responses to the requests before it
            self._last, self._is_refused, self._request_bytes = refusal, True, 0

    def _answer(self, refusal: Refused) -> None:
        self._last = None
        self.transport.write(error_response(refusal.status, str(refusal), self._port.wording))
        self._linger()

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
