"""The endpoint: a bare ASGI application."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Mapping
from dataclasses import replace

from ...clickhouse.dialect import error_code
from ...clickhouse.native_format import greeting
from ...errors import EngineError, QueryFailed, RequestRefused, StatementRefused, TooManyQuestions
from ...http.authentication import Credential
from ...http.body import Arrivals, Disconnected, Message, Receive
from ...http.guesses import Guesses
from ...http.ports.connections import limited_address
from ..answers import Result
from ..client import describe_client, password
from ..runner import QueryRunner
from .errors import (
    ACCESS_DENIED,
    AUTHENTICATION_FAILED,
    NETWORK_ERROR,
    NOT_IMPLEMENTED,
    TOO_MANY_QUERIES,
    UNKNOWN,
    Refused,
    failed,
    refused,
)
from .request import MAX_BODY_BYTES, Compression, QueryRequest, compression_of, parameters_of, query_id_of, request_of
from .response import DISPLAY_NAME, TEXT, Details, Send, send_error, send_plain, send_result

log = logging.getLogger(__name__)

_GREETING = ["displayName", "version", "revision", "timezone"]
_PLAIN_GREETING = (
    f"SELECT '{DISPLAY_NAME}' AS `displayName()`, version(), toUInt32(0) AS `revision()`, timezone()"  # 0: plain blocks
)
_METHODS = ("GET", "HEAD", "POST")


class ClickHouseHttp:
    """
    The endpoint: GET and POST / with one statement, in the URL, the body, or begun in one and continued in the other.

    The result is complete before its status is sent, so no error follows a 200. GET /ping needs no password.

    Args:
        credential: Its token is the password of every user.
        database: The only one; a client that requests `default` gets it too.
    """

    def __init__(self, runner: QueryRunner, *, credential: Credential, database: str, deadline_s: float) -> None:
        self._runner, self._credential, self._database = runner, credential, database
        self._arrivals = Arrivals(
            max_request_bytes=MAX_BODY_BYTES, max_in_flight_bytes=32 * 1024 * 1024, deadline_s=deadline_s
        )
        self._timezone = ""
        self._guesses = Guesses()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Handle one request."""
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        is_ping = scope["path"] == "/ping" or (scope["path"] == "/" and not scope["query_string"])
        if is_ping and scope["method"] in ("GET", "HEAD"):
            return await send_plain(send, 200, TEXT, b"Ok.\n")
        compression = Compression()
        try:
            parameters = parameters_of(scope["query_string"])
            compression = compression_of(headers, parameters)
            self._check(scope, headers, parameters)
        except Refused as error:
            if error.code == AUTHENTICATION_FAILED:
                address = limited_address((scope.get("client") or ("",))[0])
                await self._guesses.wrong(address, password(headers, parameters))
            return await send_error(send, error, compression)
        details = Details(query_id_of(headers, parameters), self._timezone)
        client = describe_client(scope)
        try:
            async with self._arrivals.body(receive) as body:

                def work(name: str) -> tuple[QueryRequest, int, Result]:
                    request = request_of(scope["method"], body, headers, parameters, self._database)
                    return request, time.perf_counter_ns(), self._run(request, name, client)

                request, started_ns, result = await self._runner.run_for_client(receive, work)
        except Disconnected:
            return None
        except (Refused, RequestRefused, StatementRefused, TooManyQuestions, EngineError) as error:
            return await send_error(send, _as_clickhouse(error), compression, details)
        except Exception:
            log.exception("a statement failed with an unexpected error")
            failure = refused(UNKNOWN, "the collector failed on this statement; see its log")
            return await send_error(send, failure, compression, details)
        timezone = request.settings.get("session_timezone") or self._timezone  # the guard has checked it
        details = replace(details, timezone=timezone, elapsed_ns=time.perf_counter_ns() - started_ns)
        return await send_result(send, result, compression, details)

    def _check(self, scope: Message, headers: Mapping[bytes, str], parameters: Mapping[str, str]) -> None:
        """Refuse before the body is read."""
        # a page in a browser can send a request although it cannot read the response; these headers show it
        if headers.get(b"origin") or headers.get(b"sec-fetch-site", "none") not in ("none", "same-origin"):
            raise refused(ACCESS_DENIED, "a page of another site may not ask; ask from a program")
        if not self._credential.accepts(password(headers, parameters)):
            raise refused(AUTHENTICATION_FAILED, "the password is not the collector's; give its clickhouse_http_token")
        if scope["path"] != "/":
            raise refused(NOT_IMPLEMENTED, "there is no such page; statements go to /", 404)
        if scope["method"] not in _METHODS:
            raise refused(NOT_IMPLEMENTED, "only GET and POST are allowed here", 405)

    def _run(self, request: QueryRequest, name: str, client: str) -> Result:
        if not self._timezone:
            self._timezone = self._runner.timezone()
        is_greeting = "revision" in request.sql and self._runner.calls(request.sql) == _GREETING
        if is_greeting and request.is_native_greeting:
            result = self._runner.run(_PLAIN_GREETING, name=name, parameters={}, format_name="JSONCompact")
            return Result(greeting(*json.loads(result.content)["data"][0]), "Native")
        return self._runner.run(
            _PLAIN_GREETING if is_greeting else request.sql,
            name=name,
            parameters=request.values,
            format_name=request.format_name,
            seconds=request.seconds,
            url=request.settings,
            client=client,
        )


def _as_clickhouse(error: Exception) -> Refused:
    """The error as a ClickHouse server would report it."""
    match error:
        case Refused():
            return error
        case RequestRefused():
            return refused(NETWORK_ERROR, str(error), error.status)
        case StatementRefused():
            return refused(ACCESS_DENIED, str(error))
        case TooManyQuestions():
            return refused(TOO_MANY_QUERIES, str(error))
        case QueryFailed():
            return failed(error_code(error) or UNKNOWN, str(error))
        case _:
            return refused(NETWORK_ERROR, str(error), 503)
