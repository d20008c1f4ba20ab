"""/api/deadletters: what the engine refused for good, for `walltime dead-letter`; retry and drop are the admin's."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ..errors import BadParameter, NotStored
from ..format import printable
from ..health.counters import Health
from ..http.authentication import Access
from ..spool.dead_letters import Letter
from ..spool.spool import Spool

_MOST_BODY_BYTES = 4 * 1024 * 1024
_HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


def dead_letter_routes(spool: Spool, health: Health, access: Access) -> list[Route]:
    """
    The routes: GET lists; POST …/retry and …/drop take `{"names": […]}` or `{"all": true}` and answer with those.

    Only JSON is taken: a page of another site cannot send that without asking first, and is never told it may.
    """

    def listed(request: Request) -> Response:
        if request.query_params:
            raise BadParameter("query", "there are no parameters here", "leave them out")
        return _answer(spool.dead_letters())

    def changing(change: Callable[[str], Letter | None], counter: str) -> Callable[[Request], Any]:
        def run(names: list[str] | None) -> list[Letter]:
            done = []
            for name in names if names is not None else [letter.name for letter in spool.dead_letters()]:
                letter = change(name)
                if letter is None and names is not None:
                    raise NotStored(
                        "name", f"there is no dead letter {printable(name)[:80]!r}", "see walltime dead-letter list"
                    )
                if letter is not None:
                    health.add("dead", -letter.spans)
                    health.add(counter, letter.spans)
                    done.append(letter)
            return done

        async def changed(request: Request) -> Response:
            if (refused := _refused(request, access)) is not None:
                return refused
            names = _names(await _body(request))
            return _answer(await run_in_threadpool(run, names))

        return changed

    return [
        Route("/api/deadletters", listed),
        Route("/api/deadletters/retry", changing(spool.retry, "dead_retried"), methods=["POST"]),
        # dropped ones count as refused for good, so that what was received still adds up
        Route("/api/deadletters/drop", changing(spool.drop, "rejected"), methods=["POST"]),
    ]


def _refused(request: Request, access: Access) -> Response | None:
    if not access.is_admin_possible:
        what, what_now = "nobody may change anything here", "start the collector with WALLTIME_ADMIN_TOKEN"
    elif not access.admin.accepts_bearer(request.headers.get("authorization", "").encode("latin-1")):
        what, what_now = "a token for reading is no right to change anything", "send the admin token"
    else:
        return None
    return JSONResponse({"error": {"where": "token", "what": what, "what_now": what_now}}, 403, _HEADERS)


async def _body(request: Request) -> bytes:
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise BadParameter("Content-Type", "names come as JSON", 'send {"names": […]} as application/json')
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > _MOST_BODY_BYTES:
            raise BadParameter("body", "that is more names than there can be", 'send {"all": true}')
    return body


def _names(body: bytes) -> list[str] | None:
    """The names that were sent; None for all."""
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):
        said = None
    if said == {"all": True}:
        return None
    names = said.get("names") if isinstance(said, dict) and set(said) == {"names"} else None
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise BadParameter("body", "it does not say which", 'send {"names": ["…"]} or {"all": true}')
    return names


def _answer(letters: list[Letter]) -> Response:
    return JSONResponse({"letters": [asdict(letter) for letter in letters]}, headers=_HEADERS)
