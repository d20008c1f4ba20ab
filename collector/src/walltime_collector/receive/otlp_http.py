"""OTLP over HTTP: three paths as a bare ASGI application; a request is on disk before it is answered 200."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

from ..errors import RequestRefused
from ..http.body import Arrivals, Disconnected, Message, Receive
from .answers import RPC_CODES, export_response, rpc_status
from .intake import RETRY_AFTER_S, Arrived, Head, Intake, Signal

Send = Callable[[Message], Awaitable[None]]

PROTOBUF, JSON = b"application/x-protobuf", b"application/json"
_PATHS = {b"/v1/traces": Signal.TRACES, b"/v1/metrics": Signal.METRICS, b"/v1/logs": Signal.LOGS}


class OtlpHttp:
    """
    The receiver, as an ASGI application.

    What it answers, in the request's own type: 200 when the request is on disk, with partial_success when some of its
    spans were rejected; 400, 401, 403, 404, 405, 408, 413, 415 when the request must not be sent again; 503 with
    Retry-After when it should. Error bodies are google.rpc.Status.

    Args:
        origins: The pages in browsers that may send; None: no page may.
    """

    def __init__(self, intake: Intake, arrivals: Arrivals, origins: re.Pattern[str] | None = None) -> None:
        self._intake, self._arrivals, self._origins = intake, arrivals, origins

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Handle one request."""
        headers = dict(scope["headers"])
        content_type = headers.get(b"content-type", b"").split(b";", 1)[0].strip().lower()
        is_json = content_type == JSON
        try:
            head = self._check(scope, headers, content_type)
            async with self._arrivals.body(receive, _length(headers)) as body:
                rejected = await self._intake.take(Arrived(head.signal, head.encoding, is_json, body))
        except Disconnected:
            self._intake.count_refused("disconnected")
        except RequestRefused as refusal:
            self._intake.count_refused(refusal.reason)
            await _refuse(send, refusal, is_json=is_json)
        except MemoryError:  # while it arrived; senders try again after a 503, and not after a 500
            self._intake.count_refused("memory")
            without = RequestRefused(503, "memory", "the collector has no memory for this now; send again later")
            await _refuse(send, without, is_json=is_json)
        else:
            await _answer(send, 200, export_response(rejected, is_json=is_json), is_json=is_json)

    def _check(self, scope: Message, headers: dict[bytes, bytes], content_type: bytes) -> Head:
        """Refuse what cannot be right before its body is read."""
        # The path as it was sent: nothing that only decodes or normalises to one of ours gets past the authentication.
        signal = _PATHS.get(scope["raw_path"])
        encoding = headers.get(b"content-encoding", b"").strip().lower()
        head = self._intake.admit(signal, headers.get(b"authorization", b""), encoding)
        if b"origin" in headers and not self._may_send(
            headers[b"origin"]
        ):  # what a page in a browser sends, whatever name it reached us by
            raise RequestRefused(403, "browser", "pages in a browser may not send here")
        if scope["method"] != "POST":
            raise RequestRefused(405, "method", "only POST is allowed here")
        if content_type not in (PROTOBUF, JSON):
            raise RequestRefused(
                415, "content_type", "the content type must be application/x-protobuf or application/json"
            )
        return head

    def _may_send(self, origin: bytes) -> bool:
        return self._origins is not None and self._origins.fullmatch(origin.decode("latin-1")) is not None


def _length(headers: dict[bytes, bytes]) -> int:
    written = headers.get(b"content-length", b"")
    return int(written) if written.isdigit() and len(written) < 20 else 0


async def _refuse(send: Send, refusal: RequestRefused, *, is_json: bool) -> None:
    body = rpc_status(RPC_CODES[refusal.status], str(refusal), is_json=is_json)
    await _answer(send, refusal.status, body, is_json=is_json)


async def _answer(send: Send, status: int, body: bytes, *, is_json: bool) -> None:
    headers = [(b"content-type", JSON if is_json else PROTOBUF), (b"content-length", b"%d" % len(body))]
    if status == 401:
        headers.append((b"www-authenticate", b'Bearer realm="walltime"'))
    elif status == 405:
        headers.append((b"allow", b"POST"))
    elif status == 503:
        headers.append((b"retry-after", b"%d" % RETRY_AFTER_S))
    if status in (401, 403, 408, 413):  # the rest of the request may still be on its way
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
