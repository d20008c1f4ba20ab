"""The health of the collector for programs: /healthz, /readyz, /metrics, /api/status, /api/applications."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ..clickhouse.engine import Engine
from ..health.applications import Applications, applications
from ..health.checks import redacted
from ..health.counters import Health
from ..health.metrics import Metrics
from ..health.status import Status
from ..http.authentication import Access
from ..http.responses import HEADERS, json_response
from ..http.sign_in import MAY_READ
from .openapi import ApiRoute


def health_routes(engine: Engine, health: Health, access: Access, current_status: Callable[[], Status]) -> list[Route]:
    """
    Return the routes.

    /healthz  200 while data moves: it is accepted, and stored soon after; else 503
    /readyz   200 while data is accepted, though it may be stored later, for load balancers; else 503
    /metrics  always 200
    /api/status        for `walltime status` and `walltime doctor`
    /api/applications  for `walltime doctor`

    Without a read token a request gets only the claim; paths, addresses and messages need the admin token. The first
    two wait for no thread, so that slow questions do not delay them.

    Args:
        current_status: It queries the engine.
    """
    metrics = Metrics(health)

    def may_read(request: Request) -> bool:
        return bool(request.scope.get(MAY_READ, access.read.is_unset))

    def is_admin(request: Request) -> bool:
        return access.is_admin(request.headers.get("authorization", ""))

    async def healthz(request: Request) -> Response:
        report = health.report()
        status = 200 if report["ok"] else 503
        if not may_read(request):
            return json_response({"ok": report["ok"]}, status)
        if not is_admin(request):
            report |= {"troubles": [{"reason": trouble["reason"]} for trouble in report["troubles"]]}
            report |= {"error": "", "slow_logs": {}, "servers": {}}
        return json_response(report, status)

    async def readyz(request: Request) -> Response:
        report = health.report()
        reasons = [trouble["reason"] for trouble in report["troubles"]] if may_read(request) else []
        return json_response({"ready": report["ready"], "troubles": reasons}, 200 if report["ready"] else 503)

    def scrape(request: Request) -> Response:
        content, content_type = metrics.render(request.headers.get("accept", ""))
        return Response(content, 200, {**HEADERS, "Content-Type": content_type})

    def status(request: Request) -> Response:
        report = current_status()
        return json_response(asdict(report if is_admin(request) else redacted(report)))

    return [
        ApiRoute(
            "/api/applications",
            lambda _: json_response(asdict(applications(engine))),
            "The services that sent data in the last week, with what `walltime doctor` checks.",
            Applications,
        ),
        Route("/healthz", healthz),
        Route("/readyz", readyz),
        Route("/metrics", scrape),
        ApiRoute("/api/status", status, "The state of the collector: spans, spool, tables, problems.", Status),
    ]
