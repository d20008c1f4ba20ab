"""Sends a result or an error, compressed as the client accepts it, with ClickHouse's headers."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from ...http.body import Message
from ..answers import Result
from . import blocks, encodings
from .errors import Refused
from .request import Compression

Send = Callable[[Message], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

DISPLAY_NAME = "walltime"
TEXT = b"text/plain; charset=UTF-8"
_CONTENT_TYPES = (
    (
        re.compile(r"Native|RowBinary|Parquet|Arrow|ORC|Avro|MsgPack|BSON|ODBCDriver2|Npy|Buffers|RawBLOB"),
        b"application/octet-stream",
    ),
    (re.compile(r"\w*Progress"), b"application/json; charset=UTF-8"),
    (re.compile(r"(Pretty)?JSON\w*EachRow|(Pretty)?JSONLines|(Pretty)?NDJSON"), b"application/x-ndjson; charset=UTF-8"),
    (re.compile(r"JSON"), b"application/json; charset=UTF-8"),
    (re.compile(r"CSV\w*Names"), b"text/csv; charset=UTF-8; header=present"),
    (re.compile(r"CSV"), b"text/csv; charset=UTF-8; header=absent"),
    (re.compile(r"TSV|TSKV|TabSeparated|Raw|LineAsString"), b"text/tab-separated-values; charset=UTF-8"),
    (re.compile(r""), TEXT),
)
_SMALL_BYTES = 64 * 1024


@dataclass(frozen=True)
class Details:
    """
    The headers of any response to a statement.

    Args:
        query_id: The client's own, or a new one.
        timezone: Of dates without a time zone; empty when unknown.
        elapsed_ns: From the end of the request to the start of the response.
    """

    query_id: str
    timezone: str
    elapsed_ns: int = 0

    def headers(self) -> Headers:
        """The headers as a ClickHouse server sends them."""
        headers = [
            (b"x-clickhouse-query-id", self.query_id.encode()),
            (b"x-clickhouse-server-display-name", DISPLAY_NAME.encode()),
        ]
        return headers + ([(b"x-clickhouse-timezone", self.timezone.encode())] if self.timezone else [])


async def send_result(send: Send, result: Result, compression: Compression, details: Details) -> None:
    """Send status 200 and the result."""
    content_type = next(each for pattern, each in _CONTENT_TYPES if pattern.match(result.format_name))
    headers = [
        (b"x-clickhouse-format", result.format_name.encode()),
        (b"x-clickhouse-summary", _summary(result, details)),
        *details.headers(),
    ]
    await _send_compressed(send, 200, content_type, result.content, compression, headers)


async def send_error(send: Send, error: Refused, compression: Compression, details: Details | None = None) -> None:
    """Send the error's status and text."""
    headers = [(b"x-clickhouse-exception-code", str(error.code).encode()), *(details.headers() if details else [])]
    if error.status == 401:
        headers.append((b"www-authenticate", b'Basic realm="walltime"'))
    elif error.status in (429, 503):
        headers.append((b"retry-after", b"5"))
    elif error.status == 405:
        headers.append((b"allow", b"GET, POST"))
    await _send_compressed(send, error.status, TEXT, f"{error}\n".encode(), compression, headers)


async def send_plain(send: Send, status: int, content_type: bytes, content: bytes, more: Headers | None = None) -> None:
    """Send a whole response."""
    headers = [
        (b"content-type", content_type),
        (b"content-length", str(len(content)).encode()),
        (b"cache-control", b"no-store"),
        (b"x-content-type-options", b"nosniff"),
        *(more or []),
    ]
    # only where the rest of the body is not awaited; elsewhere closing would reset a client that is still sending it
    if status in (408, 413):
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})


def _summary(result: Result, details: Details) -> bytes:
    """Older JDBC drivers read no row when `result_rows` is 0."""
    numbers = {**result.summary, "result_bytes": len(result.content), "elapsed_ns": details.elapsed_ns}
    return json.dumps({name: str(number) for name, number in numbers.items()}, separators=(",", ":")).encode()


async def _send_compressed(
    send: Send, status: int, content_type: bytes, content: bytes, compression: Compression, headers: Headers
) -> None:
    if compression != Compression():
        if len(content) > _SMALL_BYTES:
            loop = asyncio.get_running_loop()
            content = await loop.run_in_executor(None, _compressed, content, compression, status)
        else:
            content = _compressed(content, compression, status)
        if compression.encoding:
            headers = [*headers, (b"content-encoding", compression.encoding.encode())]
    await send_plain(send, status, content_type, content, headers)


def _compressed(content: bytes, compression: Compression, status: int) -> bytes:
    if compression.blocks is not None:
        content = blocks.compress(content, compression.blocks) if status == 200 else blocks.readable(content)
    return encodings.encode(content, compression.encoding) if compression.encoding else content
