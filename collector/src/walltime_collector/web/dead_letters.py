"""/api/deadletters: requests that the engine refused for good; retry and drop need the admin token."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from ..errors import BadParameter, NotStored
from ..format import quoted
from ..health.counters import Health
from ..http.authentication import Access
from ..http.body import Arrivals
from ..http.parameters import json_body, without_permission
from ..http.responses import json_response
from ..spool.dead_letters import Letter
from ..spool.spool import Spool
from .openapi import ApiRoute, answer_route

_MAX_BODY_BYTES = 1024 * 1024
_DEADLINE_S = 30.0


@dataclass(frozen=True)
class Letters:
    """Dead letters."""

    letters: tuple[Letter, ...]


@dataclass(frozen=True)
class Names:
    """Of dead letters."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class All:
    """All dead letters."""

    all: Literal[True]


def dead_letter_routes(spool: Spool, health: Health, access: Access) -> list[ApiRoute]:
    """The routes: GET lists; POST …/retry and …/drop take `{"names": […]}` or `{"all": true}` and return those."""
    arrivals = Arrivals(
        max_request_bytes=_MAX_BODY_BYTES, max_in_flight_bytes=4 * _MAX_BODY_BYTES, deadline_s=_DEADLINE_S
    )

    def listed(_: dict[str, str]) -> Letters:
        """The requests that the database refused for good."""
        return Letters(tuple(spool.dead_letters()))

    def changing(change: Callable[[str], Letter | None], counter: str) -> Callable[[Request], Any]:
        def run(names: list[str] | None) -> Response:
            done = []
            for name in names if names is not None else [letter.name for letter in spool.dead_letters()]:
                letter = change(name)
                if letter is not None:
                    health.add("dead", -letter.spans)
                    health.add(counter, letter.spans)
                    done.append(letter)
                elif names is not None:
                    raise NotStored("name", f"there is no dead letter {quoted(name)}", "see walltime dead-letter list")
            return json_response(asdict(Letters(tuple(done))))

        async def changed(request: Request) -> Response:
            if refused := without_permission(request, access):
                return refused
            async with json_body(request, arrivals, '{"names": […]}') as document:
                return await run_in_threadpool(run, _names(document))

        return changed

    return [
        answer_route("/api/deadletters", listed),
        ApiRoute(
            "/api/deadletters/retry",
            changing(spool.retry, "dead_retried"),
            "Move dead letters back to the spool; needs the admin token.",
            Letters,
            body=Names | All,
        ),
        # dropped ones count as rejected: the sum of the counters stays the number of received spans
        ApiRoute(
            "/api/deadletters/drop",
            changing(spool.drop, "rejected"),
            "Delete dead letters; needs the admin token.",
            Letters,
            body=Names | All,
        ),
    ]


def _names(document: Any) -> list[str] | None:
    """The names in the request; None for all."""
    if document == {"all": True}:
        return None
    names = document.get("names") if isinstance(document, dict) and set(document) == {"names"} else None
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise BadParameter("body", "it names no dead letters", 'send {"names": ["…"]} or {"all": true}')
    return names
