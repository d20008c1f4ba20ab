"""ClickHouse's HTTP interface, read-only, as Grafana and ClickHouse's own clients use it: a bare ASGI application."""

from __future__ import annotations

import asyncio
import base64
import binascii
import gzip
import json
import logging
import re
import uuid
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import parse_qsl

from .access import Door, bearer
from .attended import attended
from .engine.dialect import error_code
from .errors import (
    EngineUnavailable,
    QueryFailed,
    RequestRefused,
    StatementRefused,
    TooManyQuestions,
)
from .guard import MAX_STATEMENT_BYTES
from .guard.allowed import FORMATS
from .native import greeting
from .people import printable
from .reading import THREADS, Answer, Reading
from .receive.arrival import Arrivals, Disconnected, Message, Receive

log = logging.getLogger(__name__)

Send = Callable[[Message], Awaitable[None]]

DISPLAY_NAME = "walltime"
_GREETING = ["displayName", "version", "revision", "timezone"]
_PLAIN_GREETING = (
    f"SELECT '{DISPLAY_NAME}' AS `displayName()`, version(), toUInt32(0) AS `revision()`, timezone()"  # 0: plain blocks
)
_STATUS = {46: 404, 47: 404, 60: 404, 62: 400, 81: 404, 159: 408, 202: 429, 497: 403, 516: 401}
_NAMES = {62: "SYNTAX_ERROR", 81: "UNKNOWN_DATABASE", 202: "TOO_MANY_SIMULTANEOUS_QUERIES", 497: "ACCESS_DENIED"}
_NAMES |= {48: "NOT_IMPLEMENTED", 210: "NETWORK_ERROR", 516: "AUTHENTICATION_FAILED", 1002: "UNKNOWN_EXCEPTION"}
_CONTENT_TYPES = (
    (re.compile(r"Native|RowBinary"), b"application/octet-stream"),
    (re.compile(r"JSON\w*EachRow|JSONLines|NDJSON"), b"application/x-ndjson; charset=UTF-8"),
    (re.compile(r"JSON"), b"application/json; charset=UTF-8"),
    (re.compile(r"CSV\w*Names"), b"text/csv; charset=UTF-8; header=present"),
    (re.compile(r"CSV"), b"text/csv; charset=UTF-8; header=absent"),
    (re.compile(r"TSV|TabSeparated"), b"text/tab-separated-values; charset=UTF-8"),
    (re.compile(r""), b"text/plain; charset=UTF-8"),
)


class Refused(Exception):
    """The answer is an error, as ClickHouse says it."""

    def __init__(self, code: int, text: str, status: int = 0) -> None:
        super().__init__(text)
        self.code, self.status = code, status or _STATUS.get(code, 500)


class ClickHouseHttp:
    """
    The endpoint: POST / with one statement in the body; GET /ping.

    An error is never sent after a 200: an answer is complete before its status is.

    Args:
        door: Its token is asked for as a password (Basic), X-ClickHouse-Key or Bearer.
        database: The one there is; clients that ask for `default` get it.
    """

    def __init__(self, reading: Reading, *, door: Door, database: str, deadline_s: float) -> None:
        self._reading, self._door, self._database = reading, door, database
        self._arrivals = Arrivals(
            max_request_bytes=2 * MAX_STATEMENT_BYTES, max_in_flight_bytes=32 * 1024 * 1024, deadline_s=deadline_s
        )
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="reading")

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Handle one request."""
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        try:
            if scope["method"] in ("GET", "HEAD") and scope["path"] in ("/", "/ping") and not scope["query_string"]:
                return await _send(send, 200, b"text/plain; charset=UTF-8", b"Ok.\n")
            self._check(scope, headers)
            async with self._arrivals.body(receive) as body:
                parameters = _parameters(scope["query_string"])
                answer = await self._answer(_text(body), parameters, receive)
        except Disconnected:
            return None
        except Refused as refusal:
            return await _send_error(send, refusal.status, refusal.code, str(refusal))
        except RequestRefused as refusal:
            return await _send_error(send, refusal.status, 210, _said(210, str(refusal)))
        except StatementRefused as refusal:
            return await _send_error(send, 403, 497, _said(497, str(refusal)))
        except TooManyQuestions as error:
            return await _send_error(send, 429, 202, _said(202, str(error)))
        except QueryFailed as error:
            code = error_code(error) or 1002
            text = str(error)
            return await _send_error(send, _STATUS.get(code, 500), code, text[max(text.find("Code: "), 0) :])
        except EngineUnavailable as error:
            return await _send_error(send, 503, 210, _said(210, str(error)))
        except Exception:
            log.exception("a statement failed in a way nobody thought of")
            return await _send_error(
                send, 500, 1002, _said(1002, "the collector failed on this statement; see its log")
            )
        may_zip = parameters.get("enable_http_compression") == "1" and "gzip" in headers.get(b"accept-encoding", "")
        return await _send_answer(send, answer, may_zip)

    def close(self) -> None:
        """End what runs; nobody is answered any more."""
        self._reading.close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _check(self, scope: Message, headers: Mapping[bytes, str]) -> None:
        """Refuse before the body is read what cannot be right."""
        # a page in a browser may send, though not read; what it sends says so
        if headers.get(b"origin") or headers.get(b"sec-fetch-site", "none") not in ("none", "same-origin"):
            raise Refused(497, _said(497, "a page of another site may not ask; ask from a program"), 403)
        if not self._door.admits(_secret(headers)):
            raise Refused(516, _said(516, "the password is not the collector's; give its clickhouse_http_token"))
        if scope["path"] != "/":
            raise Refused(48, _said(48, "there is no such page; statements go to POST /"), 404)
        if scope["method"] != "POST":
            raise Refused(48, _said(48, "only POST is allowed here, with the statement in the body"), 405)
        if headers.get(b"content-encoding", "identity") != "identity" or "multipart/" in headers.get(
            b"content-type", ""
        ):
            raise Refused(48, _said(48, "the body must be the statement, as it is"), 415)

    async def _answer(self, sql: str, parameters: Mapping[str, str], receive: Receive) -> Answer:
        database = parameters.get("database", "")
        if database not in ("", "default", self._database):
            raise Refused(81, _said(81, f"there is no database {printable(database)[:80]}; use {self._database}"))
        if "1" in (parameters.get("compress"), parameters.get("decompress")):
            raise Refused(48, _said(48, "blocks are not compressed here; leave out compress and decompress"), 400)
        name = str(uuid.uuid4())
        return await attended(
            receive, self._threads, lambda: self._read(sql, parameters, name), lambda: self._reading.stop(name)
        )

    def _read(self, sql: str, parameters: Mapping[str, str], name: str) -> Answer:
        is_greeting = "revision" in sql and self._reading.calls(sql) == _GREETING
        if is_greeting and "client_protocol_version" in parameters:
            answer = self._reading.answer(_PLAIN_GREETING, name=name, parameters={}, format_name="JSONCompact")
            return Answer(greeting(*json.loads(answer.content)["data"][0]), "Native")
        return self._reading.answer(
            _PLAIN_GREETING if is_greeting else sql,
            name=name,
            parameters={key[6:]: value for key, value in parameters.items() if key.startswith("param_")},
            format_name=_format(parameters),
            seconds=_seconds(parameters.get("max_execution_time", "")),
            url={key: value for key, value in parameters.items() if key != "max_execution_time"},
        )


def _text(body: bytes) -> str:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refused(62, _said(62, f"the statement is not UTF-8 at byte {error.start}")) from error


def _parameters(query_string: bytes) -> dict[str, str]:
    try:
        return dict(
            parse_qsl(query_string.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=500)
        )
    except ValueError as error:
        raise Refused(62, _said(62, "the parameters in the URL are not UTF-8, or too many")) from error


def _format(parameters: Mapping[str, str]) -> str:
    name = parameters.get("default_format") or "TabSeparated"
    if name not in FORMATS:
        raise StatementRefused(f"the format {printable(name)[:40]} is not allowed", "use Native, JSON, CSV or TSV")
    return name


def _seconds(written: str) -> float:
    try:
        return max(float(written), 0) if written else 0
    except ValueError as error:
        raise Refused(62, _said(62, "max_execution_time is not a number of seconds")) from error


def _secret(headers: Mapping[bytes, str]) -> bytes:
    """The password a request brings, in any of the three ways of ClickHouse's clients."""
    if key := headers.get(b"x-clickhouse-key"):
        return key.encode("latin-1")
    authorization = headers.get(b"authorization", "")
    if token := bearer(authorization.encode("latin-1")):
        return token
    scheme, _, credentials = authorization.partition(" ")
    try:
        return base64.b64decode(credentials, validate=True).partition(b":")[2] if scheme.lower() == "basic" else b""
    except (binascii.Error, ValueError):
        return b""


def _said(code: int, text: str) -> str:
    return f"Code: {code}. DB::Exception: {text}. ({_NAMES[code]})"


async def _send_answer(send: Send, answer: Answer, may_zip: bool) -> None:
    content_type = next(kind for pattern, kind in _CONTENT_TYPES if pattern.match(answer.format_name))
    headers = [(b"x-clickhouse-format", answer.format_name.encode())]
    content = answer.content
    if may_zip:
        content = await asyncio.get_running_loop().run_in_executor(None, gzip.compress, content, 1)
        headers.append((b"content-encoding", b"gzip"))
    await _send(send, 200, content_type, content, headers)


async def _send_error(send: Send, status: int, code: int, text: str) -> None:
    headers = [(b"x-clickhouse-exception-code", str(code).encode())]
    if status == 401:
        headers.append((b"www-authenticate", b'Basic realm="walltime"'))
    elif status in (429, 503):
        headers.append((b"retry-after", b"5"))
    elif status == 405:
        headers.append((b"allow", b"POST"))
    await _send(send, status, b"text/plain; charset=UTF-8", f"{text}\n".encode(), headers)


async def _send(
    send: Send, status: int, content_type: bytes, content: bytes, more: list[tuple[bytes, bytes]] | None = None
) -> None:
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
