"""OTLP over HTTP: POST /v1/traces as a bare ASGI application; a request is on disk before it is answered 200."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

from ..crashpoint import reach
from ..errors import RequestRefused, SpoolError, SpoolFull
from ..health import Health
from ..settings import Settings
from ..spool.group_commit import GroupCommit
from ..spool.segment import Record
from .arrival import Arrivals, Disconnected, Message, Receive
from .body import count_spans, gunzip

log = logging.getLogger(__name__)

Send = Callable[[Message], Awaitable[None]]

_PROTOBUF = b"application/x-protobuf"
_RETRY_AFTER_S = b"5"
_IN_THE_LOOP_BYTES = 256 * 1024
"""Bodies above this are opened in a thread, so that one large request does not hold up the others."""
_RPC_CODES = {400: 3, 404: 5, 405: 12, 408: 4, 413: 8, 415: 3, 500: 13, 503: 14}  # google.rpc.Code


class OtlpHttp:
    """
    The receiver, as an ASGI application.

    What it answers: 200 when the request is on disk; 400, 404, 405, 408, 413, 415 when the request must not be sent
    again; 503 with Retry-After when it should. Error bodies are google.rpc.Status.
    """

    def __init__(self, commit: GroupCommit, health: Health, settings: Settings) -> None:
        self._commit, self._health = commit, health
        self._max_request_bytes = settings.max_request_bytes
        self._arrivals = Arrivals(
            max_request_bytes=settings.max_request_bytes,
            max_in_flight_bytes=settings.max_in_flight_bytes,
            deadline_s=settings.request_deadline_s,
        )

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Handle one request."""
        try:
            await self._take(scope, receive)
        except Disconnected:
            self._health.add("refused_disconnected")
        except RequestRefused as refusal:
            self._health.add(f"refused_{refusal.reason}")
            await _answer(send, refusal.status, _status(refusal.status, str(refusal)))
        except SpoolError as error:
            reason = "spool_full" if isinstance(error, SpoolFull) else "spool_failed"
            self._health.add(f"refused_{reason}")
            # the path of the spool is nobody's business outside
            await _answer(send, 503, _status(503, "the collector cannot store now; send again later"))
        except Exception:
            log.exception("a request failed in a way nobody thought of; it was not acknowledged")
            self._health.add("refused_internal")
            await _answer(send, 503, _status(503, "the collector failed; send again later"))
        else:
            reach("before_answer")
            await _answer(send, 200, b"")

    async def _take(self, scope: Message, receive: Receive) -> None:
        encoding = _check(scope["path"], scope["method"], dict(scope["headers"]))
        async with self._arrivals.body(receive) as body:
            if len(body) <= _IN_THE_LOOP_BYTES:
                payload, spans = _open(body, encoding, self._max_request_bytes)
            else:
                loop = asyncio.get_running_loop()
                payload, spans = await loop.run_in_executor(None, _open, body, encoding, self._max_request_bytes)
            if spans:
                await self._commit.append(Record(time.time_ns(), spans, payload))
                self._health.add("received", spans)


def _check(path: str, method: str, headers: dict[bytes, bytes]) -> bytes:
    """Refuse what cannot be right before its body is read; returns the content encoding."""
    if path != "/v1/traces":
        raise RequestRefused(404, "unknown_path", "this collector takes POST /v1/traces and nothing else here")
    if method != "POST":
        raise RequestRefused(405, "method", "only POST is allowed here")
    content_type = headers.get(b"content-type", b"").split(b";", 1)[0].strip().lower()
    if content_type != _PROTOBUF:
        raise RequestRefused(415, "content_type", "the content type must be application/x-protobuf")
    encoding = headers.get(b"content-encoding", b"").strip().lower()
    if encoding not in (b"", b"identity", b"gzip"):
        raise RequestRefused(415, "content_encoding", "the content encoding must be gzip or none")
    return encoding


def _open(body: bytes, encoding: bytes, limit: int) -> tuple[bytes, int]:
    payload = gunzip(body, limit) if encoding == b"gzip" else body
    return payload, count_spans(payload)


async def _answer(send: Send, status: int, body: bytes) -> None:
    headers = [(b"content-type", _PROTOBUF), (b"content-length", b"%d" % len(body))]
    if status == 405:
        headers.append((b"allow", b"POST"))
    elif status == 503:
        headers.append((b"retry-after", _RETRY_AFTER_S))
    if status in (408, 413):  # the rest of the request may still be on its way
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _status(status: int, message: str) -> bytes:
    """A google.rpc.Status: code = 1, message = 2; messages are short, so one byte holds their length."""
    text = message.encode()[:127]
    return bytes([0x08, _RPC_CODES[status], 0x12, len(text)]) + text
