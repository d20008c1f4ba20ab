"""OTLP over gRPC: three unary methods on raw bytes; a request is on disk before its status is 0."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from ..errors import RequestRefused
from .answers import RPC_CODES, export_response, grpc_trailers
from .http2.frames import literal_headers
from .http2.service import Headers, Response
from .intake import Arrived, Head, Intake, Signal

_PATHS = {
    f"/opentelemetry.proto.collector.{each.value}.v1.{each.value.capitalize()}Service/Export".encode(): each
    for each in Signal
}
_UNIMPLEMENTED = 12
_PREFIX_BYTES = 5
_ENCODINGS = b"identity,gzip,zstd,snappy,deflate"
_HEAD = [(b":status", b"200"), (b"content-type", b"application/grpc"), (b"grpc-accept-encoding", _ENCODINGS)]
_HEAD_BLOCK = literal_headers(_HEAD)
_ALL_TAKEN = Response(_HEAD_BLOCK, bytes(_PREFIX_BYTES), literal_headers(grpc_trailers(0, "")))
_NOT_GRPC = Response(literal_headers([(b":status", b"415"), (b"content-length", b"0")]))


class OtlpGrpc:
    """
    The service behind the gRPC port.

    What it answers: 0 when the request is on disk, UNAVAILABLE with RetryInfo when it should be sent again, and
    INVALID_ARGUMENT, UNAUTHENTICATED, RESOURCE_EXHAUSTED, UNIMPLEMENTED when it should not.
    """

    def __init__(self, intake: Intake) -> None:
        self._intake = intake
        self.in_flight = intake.in_flight
        self.max_body_bytes = intake.max_request_bytes + _PREFIX_BYTES
        self._tasks: set[asyncio.Task[None]] = set()

    def open(self, headers: Headers) -> Head | Response:
        """Judge a call by its headers."""
        fields = dict(headers)
        if fields.get(b":method") != b"POST" or not fields.get(b"content-type", b"").startswith(b"application/grpc"):
            self._intake.count_refused("content_type")
            return _NOT_GRPC
        signal, encoding = _PATHS.get(fields.get(b":path", b"")), fields.get(b"grpc-encoding", b"identity")
        try:
            return self._intake.admit(signal, fields.get(b"authorization", b""), encoding)
        except RequestRefused as refusal:
            return self.refuse(refusal)

    def run(self, head: Head, body: bytes, respond: Callable[[Response], None]) -> None:
        """Take a whole call."""
        task = asyncio.get_running_loop().create_task(self._run(head, body, respond))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def refuse(self, refusal: RequestRefused) -> Response:
        """Count a refusal and make its response."""
        self._intake.count_refused(refusal.reason)
        code = _UNIMPLEMENTED if refusal.status in (404, 405, 415) else RPC_CODES[refusal.status]
        trailers = grpc_trailers(code, str(refusal), is_retryable=refusal.status == 503)
        return Response(literal_headers([*_HEAD, *trailers]))

    async def _run(self, head: Head, body: bytes, respond: Callable[[Response], None]) -> None:
        try:
            message, encoding = _message(body, head.encoding)
            rejected = await self._intake.take(Arrived(head.signal, encoding, False, message))
        except RequestRefused as refusal:
            respond(self.refuse(refusal))
        else:
            respond(_taken(rejected) if rejected else _ALL_TAKEN)


def _message(body: bytes, encoding: bytes) -> tuple[bytes, bytes]:
    """The one message of a unary call, and how it is encoded."""
    if len(body) < _PREFIX_BYTES or int.from_bytes(body[1:_PREFIX_BYTES], "big") != len(body) - _PREFIX_BYTES:
        raise RequestRefused(400, "undecodable", "the call does not carry one whole message")
    if body[0] > 1 or (body[0] and encoding == b"identity"):
        raise RequestRefused(400, "undecodable", "the message says it is compressed and the call does not say how")
    return body[_PREFIX_BYTES:], encoding if body[0] else b""


def _taken(rejected: int) -> Response:
    message = export_response(rejected, is_json=False)
    return _ALL_TAKEN._replace(data=b"\x00" + len(message).to_bytes(4, "big") + message)
