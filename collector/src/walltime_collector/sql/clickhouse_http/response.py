"""What goes back: an answer or an error, compressed as the client reads it, with the headers that clients look at."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from ...http.body import Message
from ..runner import Answer
from . import blocks, encodings
from .errors import Refused
from .request import Packing

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
class About:
    """
    What the headers say of any response to a statement.

    Args:
        query_id: The client's own, or ours.
        timezone: Of the engine, in which dates without one are read and written; empty when not known.
        elapsed_ns: From the whole request to the whole answer.
    """

    query_id: str
    timezone: str
    elapsed_ns: int = 0

    def headers(self) -> Headers:
        """The headers that a ClickHouse server sends."""
        headers = [
            (b"x-clickhouse-query-id", self.query_id.encode()),
            (b"x-clickhouse-server-display-name", DISPLAY_NAME.encode()),
        ]
        return headers + ([(b"x-clickhouse-timezone", self.timezone.encode())] if self.timezone else [])


async def send_answer(send: Send, answer: Answer, packing: Packing, about: About) -> None:
    """Status 200 and the answer."""
    content_type = next(kind for pattern, kind in _CONTENT_TYPES if pattern.match(answer.format_name))
    headers = [
        (b"x-clickhouse-format", answer.format_name.encode()),
        (b"x-clickhouse-summary", _summary(answer, about)),
        *about.headers(),
    ]
    await _send_packed(send, 200, content_type, answer.content, packing, headers)


async def send_error(send: Send, error: Refused, packing: Packing, about: About | None = None) -> None:
    """The error's status and text."""
    headers = [(b"x-clickhouse-exception-code", str(error.code).encode()), *(about.headers() if about else [])]
    if error.status == 401:
        headers.append((b"www-authenticate", b'Basic realm="walltime"'))
    elif error.status in (429, 503):
        headers.append((b"retry-after", b"5"))
    elif error.status == 405:
        headers.append((b"allow", b"GET, POST"))
    await _send_packed(send, error.status, TEXT, f"{error}\n".encode(), packing, headers)


async def send_plain(send: Send, status: int, content_type: bytes, content: bytes, more: Headers | None = None) -> None:
    """Send a whole response."""
    headers = [
        (b"content-type", content_type),
        (b"content-length", str(len(content)).encode()),
        (b"cache-control", b"no-store"),
        (b"x-content-type-options", b"nosniff"),
        *(more or []),
    ]
    if status in (401, 403, 404, 405, 408, 413, 415):  # the body may not have been read
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})


def _summary(answer: Answer, about: About) -> bytes:
    """What was done for the answer; older JDBC drivers read no row when it says that there is none."""
    numbers = {**answer.summary, "result_bytes": len(answer.content), "elapsed_ns": about.elapsed_ns}
    return json.dumps({name: str(number) for name, number in numbers.items()}, separators=(",", ":")).encode()


async def _send_packed(
    send: Send, status: int, content_type: bytes, content: bytes, packing: Packing, headers: Headers
) -> None:
    if packing != Packing():
        if len(content) > _SMALL_BYTES:
            content = await asyncio.get_running_loop().run_in_executor(None, _packed, content, packing, status)
        else:
            content = _packed(content, packing, status)
        if packing.encoding:
            headers = [*headers, (b"content-encoding", packing.encoding.encode())]
    await send_plain(send, status, content_type, content, headers)


def _packed(content: bytes, packing: Packing, status: int) -> bytes:
    if packing.blocks is not None:
        content = blocks.compress(content, packing.blocks) if status == 200 else blocks.readable(content)
    return encodings.encode(content, packing.encoding) if packing.encoding else content
