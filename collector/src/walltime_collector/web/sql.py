"""POST /api/sql: one read-only statement, through the guard, for `walltime sql` and the pages."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ..clickhouse.dialect import error_code
from ..errors import BadParameter, QueryFailed, StatementRefused
from ..http.body import Arrivals
from ..http.disconnect import cancel_on_disconnect
from ..sql.askers import asker
from ..sql.guard import MAX_STATEMENT_BYTES
from ..sql.limits import THREADS, Reading

_DEADLINE_S = 30.0
# ClickHouse's codes for a statement that is right and too much: rows, time, memory, bytes; or that was stopped.
_OVER_LIMIT = frozenset({158, 159, 160, 241, 307, 394, 396})
_SETTINGS = {
    "output_format_json_quote_64bit_integers": "0",
    "output_format_json_quote_denormals": "0",
    "output_format_json_validate_utf8": "1",
}


def sql_route(reading: Reading, as_json: Callable[[Mapping[str, Any]], Response]) -> Route:
    """
    The route: its body is `{"sql": …}` as application/json, its answer `{"columns": [{name, type}], "rows": [[…]]}`.

    Only JSON is taken: a page of another site cannot send that without asking first, and is never told it may.
    """
    threads = ThreadPoolExecutor(THREADS, thread_name_prefix="sql")
    arrivals = Arrivals(
        max_request_bytes=8 * MAX_STATEMENT_BYTES, max_in_flight_bytes=32 * 1024 * 1024, deadline_s=_DEADLINE_S
    )

    async def sql(request: Request) -> Response:
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise BadParameter("Content-Type", "a statement comes as JSON", 'send {"sql": …} as application/json')
        async with arrivals.body(request.receive) as body:
            statement = _statement(body)
            name = str(uuid.uuid4())
            asked_by = asker(request.scope)
            return await cancel_on_disconnect(
                request.receive,
                threads,
                lambda: as_json(_answer(reading, statement, name, asked_by)),
                lambda: reading.stop(name),
            )

    return Route("/api/sql", sql, methods=["POST"])


def _statement(body: bytes) -> str:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict) or set(document) != {"sql"} or not isinstance(document["sql"], str):
        raise BadParameter("body", "it is not a statement", 'send {"sql": "SELECT …"}')
    sql: str = document["sql"]
    return sql


def _answer(reading: Reading, sql: str, name: str, asked_by: str) -> dict[str, Any]:
    try:
        answer = reading.answer(
            sql, name=name, parameters={}, format_name="JSONCompact", settings=_SETTINGS, asker=asked_by
        )
    except QueryFailed as error:
        said = str(error)
        where, what_now = ("limit", "ask about less") if error_code(error) in _OVER_LIMIT else ("sql", "correct it")
        raise BadParameter(where, said[max(said.find("Code: "), 0) :], what_now) from error
    if answer.format_name != "JSONCompact":
        raise StatementRefused("a FORMAT clause is not allowed here", "leave it out; walltime sql has --json and --csv")
    document = json.loads((answer.content or b'{"meta": [], "data": []}').decode("utf-8", "replace"))
    return {"columns": document["meta"], "rows": document["data"]}
