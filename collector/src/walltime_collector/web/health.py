"""How the collector is, for machines: /healthz, /readyz and /metrics; the details are for those who may know."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ..clickhouse.engine import Engine
from ..health.applications import applications
from ..health.counters import Health
from ..health.metrics import Metrics
from ..health.status import Reason, Status
from ..http.authentication import Access
from ..http.sign_in import MAY_READ

_HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


def health_routes(engine: Engine, health: Health, access: Access, tell: Callable[[], Status]) -> list[Route]:
    """
    The routes; each answers 200 or, when the claim does not hold, 503.

    /healthz  data moves: what is sent is taken, and stored soon after
    /readyz   what is sent now is taken and kept, though it may be stored later: for load balancers
    /metrics  always 200
    /api/status  always 200; for `walltime status` and `walltime doctor`
    /api/applications  what is stored of each service; for `walltime doctor`

    Args:
        tell: Says how things are; it asks the engine.
    """
    metrics = Metrics(health)

    def healthz(request: Request) -> Response:
        report = health.report()
        return _answer(_told(request, report, access), report["ok"])

    def readyz(request: Request) -> Response:
        report = health.report()
        is_told = bool(request.scope.get(MAY_READ, access.read.is_unset))
        reasons = [trouble["reason"] for trouble in report["troubles"]] if is_told else []
        return _answer({"ready": report["ready"], "troubles": reasons}, report["ready"])

    def scraped(request: Request) -> Response:
        content, content_type = metrics.render(request.headers.get("accept", ""))
        return Response(content, 200, {**_HEADERS, "Content-Type": content_type})

    def status(request: Request) -> Response:
        said = tell()
        if not access.is_admin(request.headers.get("authorization", "")):
            said = replace(
                said,
                troubles=tuple(Reason(trouble.reason) for trouble in said.troubles),
                slow_logs={},
                engine_error="it does not answer" if said.engine_error else "",
            )
        return JSONResponse(asdict(said), 200, _HEADERS)

    def of_applications(request: Request) -> Response:
        return JSONResponse(asdict(applications(engine)), 200, _HEADERS)

    return [
        Route("/api/applications", of_applications),
        Route("/healthz", healthz),
        Route("/readyz", readyz),
        Route("/metrics", scraped),
        Route("/api/status", status),
    ]


def _told(request: Request, report: dict[str, Any], access: Access) -> Mapping[str, Any]:
    """Everybody learns whether data moves, a reader the numbers too, the admin also paths and addresses."""
    if not request.scope.get(MAY_READ, access.read.is_unset):
        return {"ok": report["ok"]}
    if access.is_admin(request.headers.get("authorization", "")):
        return report
    troubles = [{"reason": trouble["reason"]} for trouble in report["troubles"]]
    return {**report, "troubles": troubles, "error": "", "slow_logs": {}}


def _answer(document: Mapping[str, Any], holds: bool) -> Response:
    return JSONResponse(document, 200 if holds else 503, _HEADERS)
