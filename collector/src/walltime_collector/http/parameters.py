"""Reads the parameters of the API and the pages, and JSON bodies; what is wrong with them is a BadParameter."""

from __future__ import annotations

import json
import math
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from .. import format as text
from ..errors import BadParameter
from ..format import quoted
from .authentication import Access
from .body import Arrivals
from .responses import problem

MAX_LIMIT = 1_000
_SOON_BYTES = 16 * 1024
"""Larger documents are read in a thread."""


def query_params(request: Request, defaults: Mapping[str, str]) -> dict[str, str]:
    """The query parameters, with defaults for those that are missing; others are refused."""
    params = dict(request.query_params)
    if unknown := [name for name in params if name not in defaults]:
        advice = f"use {', '.join(defaults)}" if defaults else "there are none here"
        raise BadParameter(quoted(unknown[0]), "there is no such parameter", advice)
    return {**defaults, **params}


def since_s(value: str) -> int:
    """`since` in seconds."""
    try:
        return text.since_s(value)
    except ValueError as error:
        what, _, what_now = str(error).partition("; ")
        raise BadParameter("since", what, what_now) from error


def limit(value: str) -> int:
    """`limit`, from 1 to MAX_LIMIT."""
    if not (value.isascii() and value.isdecimal() and len(value) < 10 and 1 <= int(value) <= MAX_LIMIT):
        raise BadParameter("limit", f"{quoted(value)} is not a valid number", f"use 1 to {MAX_LIMIT}")
    return int(value)


def slowest_percent(value: str) -> float | None:
    """`slowest`; None when it is empty."""
    try:
        number = float(value or 0)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise BadParameter("slowest", f"{quoted(value)} is not a percentage", "write 5 or 0.1")
    return number if value else None


def one_of(name: str, value: str, choices: tuple[str, ...]) -> Any:
    """A parameter with a fixed set of values."""
    if value not in choices:
        raise BadParameter(name, f"{quoted(value)} is not one of its values", f"use {', '.join(choices)}")
    return value


def without_permission(request: Request, access: Access) -> Response | None:
    """The response to a change that needs the admin token and does not have it."""
    if not access.is_admin_possible:
        what, what_now = "no token permits changes", "start the collector with WALLTIME_ADMIN_TOKEN"
        return problem(403, "token", what, what_now)
    if not access.is_admin(request.headers.get("authorization", "")):
        return problem(403, "token", "this token permits no changes", "send the admin token")
    return None


@asynccontextmanager
async def json_body(request: Request, arrivals: Arrivals, expected: str) -> AsyncIterator[Any]:
    """
    Read a JSON body, None when it is not JSON; its bytes count as in flight until the block ends.

    Only application/json is accepted: a page of another site cannot send that without asking first (CORS), and is
    never permitted to.

    Args:
        expected: An example, for the error message.
    """
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type != "application/json":
        raise BadParameter("Content-Type", f"it is {quoted(content_type)}", f"send {expected} as application/json")
    async with arrivals.body(request.receive) as body:
        yield _json(body) if len(body) <= _SOON_BYTES else await run_in_threadpool(_json, body)


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None
