"""/api/slow-log: imports slow logs that another program has parsed and redacted; needs the admin token."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Annotated, Any, TypeVar

from pydantic import Field, TypeAdapter, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from ..errors import BadParameter
from ..http.authentication import Access
from ..http.body import Arrivals
from ..http.parameters import json_body, without_permission
from ..http.responses import json_response, problem
from ..observe.slowlog.imports import Imports, Position
from .openapi import ApiRoute

_MAX_BODY_BYTES = 8 * 1024 * 1024
_DEADLINE_S = 60.0
T = TypeVar("T")
Beginning = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


@dataclass(frozen=True)
class Sought:
    """A log."""

    beginning: Beginning
    """SHA-256 of its first bytes, see `walltime slowlog import`."""


@dataclass(frozen=True)
class Known:
    """How far the logs with this beginning are stored."""

    now_s: int
    """The collector's time: `read_at` of the rows."""
    logs: tuple[Position, ...]


@dataclass(frozen=True)
class Batch:
    """Entries of a log."""

    beginning: Beginning
    number: Annotated[int, Field(ge=0, lt=1000)]
    """Of `logs`; the next one for a log that is not in it."""
    start: Position
    end: Position
    rows: Annotated[str, Field(pattern=r"^\{[^\n]*\}\n")]
    """JSON objects, one a line: the columns of `slow_log_entries`, without the literals of the statements."""


def slow_log_routes(imports: Imports, access: Access) -> list[ApiRoute]:
    """The routes."""
    arrivals = Arrivals(
        max_request_bytes=_MAX_BODY_BYTES, max_in_flight_bytes=4 * _MAX_BODY_BYTES, deadline_s=_DEADLINE_S
    )

    def known(log: Sought) -> Response:
        return json_response(asdict(Known(int(time.time()), tuple(imports.known(log.beginning)))))

    def add(batch: Batch) -> Response:
        rows = batch.rows.encode("utf-8", "replace")
        if imports.add(batch.beginning, batch.number, batch.start, batch.end, rows):
            return json_response(asdict(batch.end))
        what_now = "nothing is lost, and nothing is stored twice: run it again when the other one has ended"
        return problem(409, "start", "another command imports the same log now", what_now)

    def changing(kind: type[T], change: Callable[[T], Response]) -> Callable[[Request], Any]:
        adapter = TypeAdapter(kind)

        def run(document: Any) -> Response:
            try:
                return change(adapter.validate_python(document))
            except ValidationError as error:
                first = error.errors()[0]
                where = ".".join(["body", *map(str, first["loc"])])
                raise BadParameter(where, first["msg"], "see /api/openapi.json") from error

        async def respond(request: Request) -> Response:
            if refused := without_permission(request, access):
                return refused
            async with json_body(request, arrivals, f"a {kind.__name__}") as document:
                return await run_in_threadpool(run, document)

        return respond

    return [
        ApiRoute(
            "/api/slow-log/known",
            changing(Sought, known),
            "How far a slow log is imported; needs the admin token.",
            Known,
            body=Sought,
        ),
        ApiRoute(
            "/api/slow-log/import",
            changing(Batch, add),
            "Store entries of a slow log, each once; needs the admin token.",
            Position,
            body=Batch,
        ),
    ]
