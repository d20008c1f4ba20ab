"""OTLP over gRPC: three unary methods on raw bytes, and grpc.health.v1; a request is on disk before its status is 0."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from ..errors import RequestRefused
from ..health.counters import Health
from ..http.decompress import decompress
from .answers import RPC_CODES, export_response, grpc_trailers
from .grpc_health import HEALTH_PATHS, GrpcHealth, HealthMethod
from .http2.frames import literal_headers
from .http2.service import Headers, Respond, Response
from .intake import Arrived, Head, Intake, Signal, check_encoding

_PATHS = {
    f"/opentelemetry.proto.collector.{each.value}.v1.{each.value.capitalize()}Service/Export".encode(): each
    for each in Signal
}
_UNIMPLEMENTED = 12
_NOT_FOUND = 5
_MOST_HEALTH_BYTES = 4096
_PREFIX_BYTES = 5
_ENCODINGS = b"identity,gzip,zstd,snappy,deflate"
_HEAD = [(b":status", b"200"), (b"content-type", b"application/grpc"), (b"grpc-accept-encoding", _ENCODINGS)]
_HEAD_BLOCK = literal_headers(_HEAD)
_ALL_TAKEN = Response(_HEAD_BLOCK, bytes(_PREFIX_BYTES), literal_headers(grpc_trailers(0, "")))
_NOT_GRPC = Response(literal_headers([(b":status", b"415"), (b"content-length", b"0")]))


class HealthCall(NamedTuple):
    """A call of grpc.health.v1, by its headers."""

    method: HealthMethod
    encoding: bytes


GrpcCall = Head | HealthCall


class OtlpGrpc:
    """
    The service behind the gRPC port.

    What it answers: 0 when the request is on disk, UNAVAILABLE with RetryInfo when it should be sent again, and
    INVALID_ARGUMENT, UNAUTHENTICATED, RESOURCE_EXHAUSTED, UNIMPLEMENTED when it should not.
    """

    def __init__(self, intake: Intake, health: Health) -> None:
        self._intake = intake
        self._health = GrpcHealth(health, _answer)
        self.in_flight = intake.in_flight
        self.max_body_bytes = intake.max_request_bytes + _PREFIX_BYTES
        self._tasks: set[asyncio.Task[None]] = set()

    def open(self, headers: Headers) -> GrpcCall | Response:
        """Judge a call by its headers."""
        fields = dict(headers)
        if fields.get(b":method") != b"POST" or not fields.get(b"content-type", b"").startswith(b"application/grpc"):
            self._intake.count_refused("content_type")
            return _NOT_GRPC
        path, encoding = fields.get(b":path", b""), fields.get(b"grpc-encoding", b"identity")
        try:
            if (method := HEALTH_PATHS.get(path)) is not None:
                check_encoding(encoding)
                return HealthCall(method, encoding)
            return self._intake.admit(_PATHS.get(path), fields.get(b"authorization", b""), encoding)
        except RequestRefused as refusal:
            return self.refuse(refusal)

    def run(self, call: GrpcCall, body: bytes, respond: Respond) -> None:
        """Take a whole call."""
        if isinstance(call, HealthCall):
            self._ask(call, body, respond)
            return
        task = asyncio.get_running_loop().create_task(self._run(call, body, respond))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def refuse(self, refusal: RequestRefused) -> Response:
        """Count a refusal and make its response."""
        self._intake.count_refused(refusal.reason)
        code = _UNIMPLEMENTED if refusal.status in (404, 405, 415) else RPC_CODES[refusal.status]
        return _ended(code, str(refusal), is_retryable=refusal.status == 503)

    def _ask(self, call: HealthCall, body: bytes, respond: Respond) -> None:
        try:
            message, encoding = _message(body, call.encoding)
            self._health.run(call.method, decompress(message, encoding, _MOST_HEALTH_BYTES), respond)
        except RequestRefused as refusal:
            respond(_ended(_NOT_FOUND, str(refusal)) if refusal.status == 404 else self.refuse(refusal))

    async def _run(self, head: Head, body: bytes, respond: Respond) -> None:
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
    return _answer(export_response(rejected, is_json=False), True)


def _answer(message: bytes, is_last: bool) -> Response:
    """A message as a response, or as a part of a stream."""
    return _ALL_TAKEN._replace(data=b"\x00" + len(message).to_bytes(4, "big") + message, is_last=is_last)


def _ended(code: int, message: str, *, is_retryable: bool = False) -> Response:
    return Response(literal_headers([*_HEAD, *grpc_trailers(code, message, is_retryable=is_retryable)]))
