"""The bodies of answers: OTLP's responses and google.rpc.Status, in protobuf and in JSON."""

from __future__ import annotations

import base64
import json

from ..varint import varint
from .intake import RETRY_AFTER_S

RPC_CODES = {400: 3, 401: 16, 403: 7, 404: 5, 405: 12, 408: 4, 413: 8, 414: 8, 415: 3, 431: 8, 503: 14}
"""google.rpc.Code of the HTTP statuses we answer."""
_RETRY_INFO = b"type.googleapis.com/google.rpc.RetryInfo"


def export_response(rejected: int, *, is_json: bool) -> bytes:
    """An Export…ServiceResponse; without rejected spans it is the empty one."""
    if not rejected:
        return b"{}" if is_json else b""
    message = f"{rejected} spans have no usable ids: a trace id has 16 bytes, a span id 8, and neither is all zeros"
    if is_json:
        return json.dumps({"partialSuccess": {"rejectedSpans": str(rejected), "errorMessage": message}}).encode()
    return _bytes_field(1, b"\x08" + varint(rejected) + _bytes_field(2, message.encode()))


def rpc_status(code: int, message: str, *, is_json: bool = False, is_retryable: bool = False) -> bytes:
    """
    A google.rpc.Status.

    Args:
        is_retryable: Say in its details when to try again.
    """
    if is_json:
        return json.dumps({"code": code, "message": message}).encode()
    made = b"\x08" + varint(code) + _bytes_field(2, message.encode("utf-8", "replace"))
    if is_retryable:
        delay = b"\x08" + varint(RETRY_AFTER_S)
        made += _bytes_field(3, _bytes_field(1, _RETRY_INFO) + _bytes_field(2, _bytes_field(1, delay)))
    return made


def otlp_wording(status: int, message: str) -> tuple[str, bytes]:
    """The body of an error for requests whose type is not known: its content type, and a google.rpc.Status."""
    return "application/x-protobuf", rpc_status(RPC_CODES[status], message)


def grpc_trailers(code: int, message: str, *, is_retryable: bool = False) -> list[tuple[bytes, bytes]]:
    """The trailers that end a gRPC call."""
    trailers = [(b"grpc-status", b"%d" % code)]
    if code:
        trailers.append((b"grpc-message", _percent_encoded(message)))
    if is_retryable:
        details = rpc_status(code, message, is_retryable=True)
        trailers.append((b"grpc-status-details-bin", base64.b64encode(details).rstrip(b"=")))
    return trailers


def _bytes_field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2]) + varint(len(content)) + content


def _percent_encoded(text: str) -> bytes:
    return b"".join(
        bytes([each]) if 0x20 <= each <= 0x7E and each != 0x25 else b"%%%02X" % each for each in text.encode()
    )
