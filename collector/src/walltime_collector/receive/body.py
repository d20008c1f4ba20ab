"""Opens a request body and checks that it is what it says, before anything of it is stored."""

from __future__ import annotations

import zlib

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from ..errors import RequestRefused

MAX_MESSAGES = 50_000
_GZIP = 31  # zlib's number for: a gzip header and trailer, largest window


def gunzip(body: bytes, max_bytes: int) -> bytes:
    """
    Decompress, and stop as soon as it is more than `max_bytes`, whatever it would have become.

    Raises:
        RequestRefused: 413, or 400 when it is not gzip or ends early.
    """
    parts: list[bytes] = []
    room = max_bytes
    rest = body
    while rest:  # gzip files may follow one another
        inflater = zlib.decompressobj(_GZIP)
        try:
            part = inflater.decompress(rest, room + 1)
        except zlib.error as error:
            raise RequestRefused(400, "not_gzip", f"the body says it is gzip and is not: {error}") from error
        if len(part) > room:
            raise RequestRefused(
                413, "too_large", f"the body is more than {max_bytes} bytes when decompressed; send smaller batches"
            )
        if not inflater.eof:
            raise RequestRefused(400, "truncated", "the gzip body ends early")
        parts.append(part)
        room -= len(part)
        rest = inflater.unused_data
    return parts[0] if len(parts) == 1 else b"".join(parts)


def count_spans(body: bytes) -> int:
    """
    How many spans an ExportTraceServiceRequest carries; 0 is fine.

    Raises:
        RequestRefused: 400 when it does not parse (a string that is not UTF-8 counts), 413 when it has too many parts.
    """
    try:
        request = ExportTraceServiceRequest.FromString(body)
    except DecodeError as error:
        raise RequestRefused(
            400, "undecodable", "the body is not an ExportTraceServiceRequest, or a string in it is not UTF-8"
        ) from error
    messages = len(request.resource_spans)
    spans = 0
    # Counted level by level before the level is walked: a small body can hold a million empty messages.
    if messages <= MAX_MESSAGES:
        for resource_spans in request.resource_spans:
            messages += len(resource_spans.scope_spans)
            if messages > MAX_MESSAGES:
                break
            for scope_spans in resource_spans.scope_spans:
                spans += len(scope_spans.spans)
    if messages + spans > MAX_MESSAGES:
        raise RequestRefused(413, "too_large", f"the body has more than {MAX_MESSAGES} spans; send smaller batches")
    return spans
