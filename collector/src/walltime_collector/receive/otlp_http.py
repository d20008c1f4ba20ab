"""OTLP over HTTP: three paths as an ASGI application; a request is on disk before its response is 200."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

from ..errors import RequestRefused
from ..http.body import Arrivals, Disconnected, Message, Receive
from ..http.disconnect import watched
from ..http.ports.connections import limited_address
from .decode import Head, Signal
from .intake import RETRY_AFTER_S, Intake
from .responses import RPC_CODES, export_response, rpc_status

Send = Callable[[Message], Awaitable[None]]

PROTOBUF, JSON = b"application/x-protobuf", b"application/json"
_PATHS = {b"/v1/traces": Signal.TRACES, b"/v1/metrics": Signal.METRICS, b"/v1/logs": Signal.LOGS}


class OtlpHttp:
    """
    The status is 200 when the request is on disk, with partial_success when some of its spans were rejected; 503 with
    Retry-After when the client should retry; 400, 401, 403, 404, 405, 408, 413 or 415 when it should not. Bodies have
    the content type of the request; error bodies are google.rpc.Status. Web pages of `origins` may send.
    """

    def __init__(self, intake: Intake, arrivals: Arrivals, origins: re.Pattern[str] | None = None) -> None:
        self._intake, self._arrivals, self._origins = intake, arrivals, origins

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Handle one request."""
        headers = dict(scope["headers"])
        content_type = headers.get(b"content-type", b"").split(b";", 1)[0].strip().lower()
        is_json = content_type == JSON
        sender = limited_address((scope.get("client") or ("",))[0])
        try:
            head = self._check(scope, headers, content_type)._replace(is_json=is_json)
            async with self._arrivals.body(receive, _length(headers)) as body:
                with watched(receive) as is_waiting:
                    rejected = await self._intake.take(head, body, sender, is_waiting)
        except Disconnected:
            self._intake.count_refused("disconnected")
        except RequestRefused as refusal:
            await self._refuse(send, refusal, is_json=is_json)
        except MemoryError:  # while the body arrived; clients retry after a 503, not after a 500
            message = "the collector has no memory for this now; send again later"
            await self._refuse(send, RequestRefused(503, "memory", message), is_json=is_json)
        else:
            await _respond(send, 200, export_response(rejected, is_json=is_json), is_json=is_json)

    def _check(self, scope: Message, headers: dict[bytes, bytes], content_type: bytes) -> Head:
        """Refuse by the headers, before the body is read."""
        # raw_path: a path that decodes or normalises to one of ours is unknown, so it cannot avoid authentication
        signal = _PATHS.get(scope["raw_path"])
        encoding = headers.get(b"content-encoding", b"").strip().lower()
        head = self._intake.admit(signal, headers.get(b"authorization", b""), encoding)
        origin = headers.get(b"origin")  # only browsers send it
        if origin is not None and not (self._origins and self._origins.fullmatch(origin.decode("latin-1"))):
            raise RequestRefused(403, "browser", "pages in a browser may not send here")
        if scope["method"] != "POST":
            raise RequestRefused(405, "method", "only POST is allowed here")
        if content_type not in (PROTOBUF, JSON):
            message = "the content type must be application/x-protobuf or application/json"
            raise RequestRefused(415, "content_type", message)
        return head

    async def _refuse(self, send: Send, refusal: RequestRefused, *, is_json: bool) -> None:
        self._intake.count_refused(refusal.reason)
        body = rpc_status(RPC_CODES[refusal.status], str(refusal), is_json=is_json)
        await _respond(send, refusal.status, body, is_json=is_json)


def _length(headers: dict[bytes, bytes]) -> int:
    length = headers.get(b"content-length", b"")
    return int(length) if length.isdigit() and len(length) < 20 else 0


async def _respond(send: Send, status: int, body: bytes, *, is_json: bool) -> None:
    headers = [(b"content-type", JSON if is_json else PROTOBUF), (b"content-length", b"%d" % len(body))]
    if status == 401:
        headers.append((b"www-authenticate", b'Bearer realm="walltime"'))
    elif status == 405:
        headers.append((b"allow", b"POST"))
    elif status == 503:
        headers.append((b"retry-after", b"%d" % RETRY_AFTER_S))
    if status in (401, 403, 408, 413):  # the rest of the request may still arrive
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
