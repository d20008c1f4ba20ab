"""OTLP over gRPC: three unary methods on raw bytes, and grpc.health.v1; a request is on disk before its status is 0."""

from __future__ import annotations

from functools import partial

from ..errors import RequestRefused
from ..health.counters import Health
from ..http.body import Disconnected, check_size
from ..http.decompress import decompress
from .decode import Head, Signal
from .grpc.calls import Handler, Headers, Response, SendMessage
from .grpc_health import GrpcHealth
from .intake import Intake, check_encoding
from .responses import RPC_CODES, export_response, grpc_trailers

_PATHS = {
    f"/opentelemetry.proto.collector.{each.value}.v1.{each.value.capitalize()}Service/Export".encode(): each
    for each in Signal
}
_HEALTH = b"/grpc.health.v1.Health/"
_WATCH = _HEALTH + b"Watch"
_UNIMPLEMENTED = 12
_NOT_FOUND = 5
_MAX_HEALTH_BYTES = 4096
_PREFIX_BYTES = 5
_ENCODINGS = b"identity,gzip,zstd,snappy,deflate"
_HEAD = [(b":status", b"200"), (b"content-type", b"application/grpc"), (b"grpc-accept-encoding", _ENCODINGS)]
_NOT_GRPC = Response([(b":status", b"415"), (b"content-length", b"0")])


class OtlpGrpc:
    """
    The service behind the gRPC port.

    The status is OK when the request is on disk, UNAVAILABLE with RetryInfo when the client should retry, and
    INVALID_ARGUMENT, UNAUTHENTICATED, RESOURCE_EXHAUSTED or UNIMPLEMENTED when it should not.
    """

    def __init__(self, intake: Intake, health: Health) -> None:
        self._intake = intake
        self._health = GrpcHealth(health)
        self._health_methods = {_HEALTH + b"Check": self._health.check, _HEALTH + b"List": self._health.list_all}
        self.in_flight = intake.in_flight
        self.max_body_bytes = intake.max_request_bytes + _PREFIX_BYTES

    def open(self, headers: Headers) -> Handler | Response:
        """Check a call by its headers."""
        fields = dict(headers)
        if fields.get(b":method") != b"POST" or not fields.get(b"content-type", b"").startswith(b"application/grpc"):
            self._intake.count_refused("content_type")
            return _NOT_GRPC
        path, encoding = fields[b":path"], fields.get(b"grpc-encoding", b"identity")
        try:
            if path == _WATCH or path in self._health_methods:
                check_encoding(encoding)
                return partial(self._run_health, path, encoding)
            head = self._intake.admit(_PATHS.get(path), fields.get(b"authorization", b""), encoding)
        except RequestRefused as refusal:
            return self.refuse(refusal)
        return partial(self._export, head)

    def refuse(self, refusal: RequestRefused) -> Response:
        """Count a refusal and make its response."""
        self._intake.count_refused(refusal.reason)
        code = _UNIMPLEMENTED if refusal.status in (404, 405, 415) else RPC_CODES[refusal.status]
        return _failed(code, str(refusal), is_retryable=refusal.status == 503)

    async def _export(self, head: Head, body: bytes, send: SendMessage, sender: str) -> Response | None:
        try:
            message, encoding = _message(body, head.encoding)
            is_waiting = partial(send, (), b"")
            rejected = await self._intake.take(head._replace(encoding=encoding), message, sender, is_waiting)
        except Disconnected:
            self._intake.count_refused("disconnected")
            return None
        except RequestRefused as refusal:
            return self.refuse(refusal)
        return _OK if not rejected else _with(export_response(rejected, is_json=False))

    async def _run_health(
        self, path: bytes, encoding: bytes, body: bytes, send: SendMessage, _: str
    ) -> Response | None:
        try:
            check_size(len(body), 16 * _MAX_HEALTH_BYTES)
            request = decompress(*_message(body, encoding), _MAX_HEALTH_BYTES)
            if path == _WATCH:
                await self._health.watch(request, lambda status: send(_HEAD, _framed(status) if status else b""))
                return None
            return _with(self._health_methods[path](request))
        except RequestRefused as refusal:
            return _failed(_NOT_FOUND, str(refusal)) if refusal.status == 404 else self.refuse(refusal)


def _message(body: bytes, encoding: bytes) -> tuple[bytes, bytes]:
    """The one message of a unary call, and its encoding."""
    if len(body) < _PREFIX_BYTES or int.from_bytes(body[1:_PREFIX_BYTES], "big") != len(body) - _PREFIX_BYTES:
        raise RequestRefused(400, "undecodable", "the call does not carry one whole message")
    if body[0] > 1 or (body[0] and encoding == b"identity"):
        raise RequestRefused(400, "undecodable", "the message says it is compressed and the call does not say how")
    return body[_PREFIX_BYTES:], encoding if body[0] else b""


def _framed(message: bytes) -> bytes:
    return b"\x00" + len(message).to_bytes(4, "big") + message


def _with(message: bytes) -> Response:
    return Response(_HEAD, _framed(message), grpc_trailers(0, ""))


def _failed(code: int, message: str, *, is_retryable: bool = False) -> Response:
    return Response([*_HEAD, *grpc_trailers(code, message, is_retryable=is_retryable)])


_OK = _with(b"")
