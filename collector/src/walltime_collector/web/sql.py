"""POST /api/sql: one read-only statement, through the guard, for `walltime sql` and the pages."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from ..clickhouse.dialect import error_code
from ..errors import BadParameter, QueryFailed, StatementRefused
from ..http.body import Arrivals
from ..http.parameters import json_body
from ..http.responses import json_response
from ..query.answers import Selected
from ..sql.client import describe_client
from ..sql.guard import MAX_STATEMENT_BYTES
from ..sql.runner import QueryRunner
from .openapi import ApiRoute

_DEADLINE_S = 30.0
# ClickHouse's codes for a valid statement over a limit (rows, time, memory, bytes), or one that was stopped
_OVER_LIMIT = frozenset({158, 159, 160, 241, 307, 394, 396})
_SETTINGS = {
    "output_format_json_quote_64bit_integers": "0",
    "output_format_json_quote_denormals": "0",
    "output_format_json_validate_utf8": "1",
}


@dataclass(frozen=True)
class SqlStatement:
    """A SELECT, SHOW, DESCRIBE or EXPLAIN."""

    sql: str


def sql_route(runner: QueryRunner) -> ApiRoute:
    """
    The route: the body is `{"sql": …}`, the response `{"columns": [{name, type}], "rows": [[…]]}`.

    The header X-ClickHouse-Summary has `read_rows`, `read_bytes` and `elapsed_ns` as texts, as ClickHouse sends it.
    """
    arrivals = Arrivals(
        max_request_bytes=8 * MAX_STATEMENT_BYTES, max_in_flight_bytes=32 * 1024 * 1024, deadline_s=_DEADLINE_S
    )

    async def sql(request: Request) -> Response:
        async with json_body(request, arrivals, '{"sql": …}') as document:
            if not isinstance(document, dict) or set(document) != {"sql"} or not isinstance(document["sql"], str):
                raise BadParameter("body", "it is not a statement", 'send {"sql": "SELECT …"}')
            client = describe_client(request.scope)
            return await runner.run_for_client(
                request.receive, lambda name: _response(runner, document["sql"], name, client)
            )

    description = "Run one read-only ClickHouse statement; SHOW TABLES lists the tables."
    return ApiRoute("/api/sql", sql, description, Selected, body=SqlStatement)


def _response(runner: QueryRunner, sql: str, name: str, client: str) -> Response:
    started_ns = time.perf_counter_ns()
    try:
        result = runner.run(sql, name=name, parameters={}, format_name="JSONCompact", settings=_SETTINGS, client=client)
    except QueryFailed as error:
        message = str(error)
        where, what_now = ("limit", "reduce the query") if error_code(error) in _OVER_LIMIT else ("sql", "correct it")
        raise BadParameter(where, message[max(message.find("Code: "), 0) :], what_now) from error
    elapsed_ns = time.perf_counter_ns() - started_ns
    if result.format_name != "JSONCompact":
        raise StatementRefused("a FORMAT clause is not allowed here", "leave it out; walltime sql has --json and --csv")
    document = json.loads((result.content or b'{"meta": [], "data": []}').decode("utf-8", "replace"))
    response = json_response({"columns": document["meta"], "rows": document["data"]})
    read = document.get("statistics", {})
    summary = {"read_rows": read.get("rows_read", 0), "read_bytes": read.get("bytes_read", 0), "elapsed_ns": elapsed_ns}
    response.headers["X-ClickHouse-Summary"] = json.dumps({name: str(number) for name, number in summary.items()})
    return response
