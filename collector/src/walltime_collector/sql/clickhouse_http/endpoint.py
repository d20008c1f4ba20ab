"""The endpoint: a bare ASGI application."""

from __future__ import annotations

import json
import logging
import time
import uuid
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from ...clickhouse.dialect import error_code
from ...clickhouse.native_format import greeting
from ...errors import EngineError, QueryFailed, RequestRefused, StatementRefused, TooManyQuestions
from ...http.authentication import Credential
from ...http.body import Arrivals, Disconnected, Message, Receive
from ...http.disconnect import cancel_on_disconnect
from ..client import describe_client
from ..runner import THREADS, Answer, QueryRunner
from .credentials import password
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
from .request import MAX_BODY_BYTES, Packing, Question, packing_of, parameters_of, query_id_of, question_of
from .response import DISPLAY_NAME, TEXT, About, Send, send_answer, send_error, send_plain

log = logging.getLogger(__name__)

_GREETING = ["displayName", "version", "revision", "timezone"]
_PLAIN_GREETING = (
    f"SELECT '{DISPLAY_NAME}' AS `displayName()`, version(), toUInt32(0) AS `revision()`, timezone()"  # 0: plain blocks
)
_METHODS = ("GET", "HEAD", "POST")


class ClickHouseHttp:
    """
    The endpoint: GET and POST / with one statement, in the URL, the body, or begun in one and continued in the other.

    An error is never sent after a 200: an answer is complete before its status is. GET /ping answers anybody.

    Args:
        credential: Its token is the password of every user.
        database: The one there is; clients that ask for `default` get it.
    """

    def __init__(self, runner: QueryRunner, *, credential: Credential, database: str, deadline_s: float) -> None:
        self._runner, self._credential, self._database = runner, credential, database
        self._arrivals = Arrivals(
            max_request_bytes=MAX_BODY_BYTES, max_in_flight_bytes=32 * 1024 * 1024, deadline_s=deadline_s
        )
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="sql")
        self._timezone = ""

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Handle one request."""
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        if scope["method"] in ("GET", "HEAD") and (
            scope["path"] == "/ping" or (scope["path"] == "/" and not scope["query_string"])
        ):
            return await send_plain(send, 200, TEXT, b"Ok.\n")
        packing = Packing()
        try:
            parameters = parameters_of(scope["query_string"])
            packing = packing_of(headers, parameters)
            self._check(scope, headers, parameters)
        except Refused as error:
            return await send_error(send, error, packing)
        about = About(query_id_of(headers, parameters), self._timezone)
        try:
            async with self._arrivals.body(receive) as body:
                question = question_of(scope["method"], body, headers, parameters, self._database)
                started_ns = time.perf_counter_ns()
                answer = await self._answer(question, receive, describe_client(scope))
        except Disconnected:
            return None
        except (Refused, RequestRefused, StatementRefused, TooManyQuestions, EngineError) as error:
            return await send_error(send, _as_clickhouse(error), packing, about)
        except Exception:
            log.exception("a statement failed in a way that is not foreseen")
            failure = refused(UNKNOWN, "the collector failed on this statement; see its log")
            return await send_error(send, failure, packing, about)
        timezone = question.settings.get("session_timezone") or self._timezone  # the guard has checked it
        about = replace(about, timezone=timezone, elapsed_ns=time.perf_counter_ns() - started_ns)
        return await send_answer(send, answer, packing, about)

    def close(self) -> None:
        """End what runs; nobody is answered any more."""
        self._runner.close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _check(self, scope: Message, headers: Mapping[bytes, str], parameters: Mapping[str, str]) -> None:
        """Refuse before the body is read what cannot be right."""
        # a page in a browser may send, though not read; what it sends says so
        if headers.get(b"origin") or headers.get(b"sec-fetch-site", "none") not in ("none", "same-origin"):
            raise refused(ACCESS_DENIED, "a page of another site may not ask; ask from a program")
        if not self._credential.accepts(password(headers, parameters)):
            raise refused(AUTHENTICATION_FAILED, "the password is not the collector's; give its clickhouse_http_token")
        if scope["path"] != "/":
            raise refused(NOT_IMPLEMENTED, "there is no such page; statements go to /", 404)
        if scope["method"] not in _METHODS:
            raise refused(NOT_IMPLEMENTED, "only GET and POST are allowed here", 405)

    async def _answer(self, question: Question, receive: Receive, asked_by: str) -> Answer:
        name = str(uuid.uuid4())
        return await cancel_on_disconnect(
            receive, self._threads, lambda: self._read(question, name, asked_by), lambda: self._runner.stop(name)
        )

    def _read(self, question: Question, name: str, asked_by: str) -> Answer:
        if not self._timezone:
            self._timezone = self._runner.timezone()
        is_greeting = "revision" in question.sql and self._runner.calls(question.sql) == _GREETING
        if is_greeting and question.is_framed:
            answer = self._runner.run(_PLAIN_GREETING, name=name, parameters={}, format_name="JSONCompact")
            return Answer(greeting(*json.loads(answer.content)["data"][0]), "Native")
        return self._runner.run(
            _PLAIN_GREETING if is_greeting else question.sql,
            name=name,
            parameters=question.values,
            format_name=question.format_name,
            seconds=question.seconds,
            url=question.settings,
            client=asked_by,
        )


def _as_clickhouse(error: Exception) -> Refused:
    """The error as a ClickHouse server would report it."""
    if isinstance(error, Refused):
        return error
    if isinstance(error, RequestRefused):
        return refused(NETWORK_ERROR, str(error), error.status)
    if isinstance(error, StatementRefused):
        return refused(ACCESS_DENIED, str(error))
    if isinstance(error, TooManyQuestions):
        return refused(TOO_MANY_QUERIES, str(error))
    if isinstance(error, QueryFailed):
        return failed(error_code(error) or UNKNOWN, str(error))
    return refused(NETWORK_ERROR, str(error), 503)
