"""The bodies of responses: OTLP's responses and google.rpc.Status, in protobuf and in JSON."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote

from .intake import RETRY_AFTER_S
from .messages import Detail, ExportResponse, RpcStatus

RPC_CODES = {
    **{400: 3, 401: 16, 403: 7, 404: 5, 405: 12, 408: 4, 413: 8, 414: 8, 415: 3, 417: 3, 431: 8},
    **{501: 12, 503: 14, 505: 12},
}
"""google.rpc.Code by HTTP status."""
_RETRY_INFO = Detail(type_url="type.googleapis.com/google.rpc.RetryInfo", value={"retry_delay": {"s": RETRY_AFTER_S}})
_UNQUOTED = "".join(map(chr, range(0x20, 0x7F))).replace("%", "")


def export_response(rejected: int, *, is_json: bool) -> bytes:
    """An Export…ServiceResponse; without rejected spans it is the empty one."""
    if not rejected:
        return b"{}" if is_json else b""
    message = f"{rejected} spans have no usable ids: a trace id has 16 bytes, a span id 8, and neither is all zeros"
    if is_json:
        return json.dumps({"partialSuccess": {"rejectedSpans": str(rejected), "errorMessage": message}}).encode()
    content: bytes = ExportResponse(partial_success={"rejected": rejected, "message": message}).SerializeToString()
    return content


def rpc_status(code: int, message: str, *, is_json: bool = False, is_retryable: bool = False) -> bytes:
    """A google.rpc.Status; of a retryable one the details contain the time to wait."""
    if is_json:
        return json.dumps({"code": code, "message": message}).encode()
    details = [_RETRY_INFO] if is_retryable else []
    content: bytes = RpcStatus(
        code=code, message=message.encode("utf-8", "replace"), details=details
    ).SerializeToString()
    return content


def otlp_wording(status: int, message: str) -> tuple[str, bytes]:
    """The content type and body of an error, for requests whose type is not known."""
    return "application/x-protobuf", rpc_status(RPC_CODES[status], message)


def grpc_trailers(code: int, message: str, *, is_retryable: bool = False) -> list[tuple[bytes, bytes]]:
    """The trailers that end a gRPC call."""
    trailers = [(b"grpc-status", b"%d" % code)]
    if code:
        trailers.append((b"grpc-message", quote(message, safe=_UNQUOTED, errors="replace").encode()))
    if is_retryable:
        details = rpc_status(code, message, is_retryable=True)
        trailers.append((b"grpc-status-details-bin", base64.b64encode(details).rstrip(b"=")))
    return trailers
