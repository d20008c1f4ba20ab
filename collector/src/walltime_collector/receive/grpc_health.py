"""grpc.health.v1 on the OTLP port, for load balancers and Kubernetes' gRPC probes: it follows readiness."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from google.protobuf.message import DecodeError

from ..errors import RequestRefused
from ..health.counters import Health
from .decode import Signal
from .messages import HealthCheckRequest, HealthCheckResponse, HealthListResponse

_SERVING, _NOT_SERVING, _SERVICE_UNKNOWN = 1, 2, 3
_LOOK_EVERY_S = 1.0
_SERVICES = (
    "",
    *(f"opentelemetry.proto.collector.{each.value}.v1.{each.value.capitalize()}Service" for each in Signal),
)
"""All have the same status, because all of them write to one spool."""


class GrpcHealth:
    """Needs no token, like /readyz."""

    def __init__(self, health: Health) -> None:
        self._health = health

    def check(self, request: bytes) -> bytes:
        """
        The response of Check.

        Raises:
            RequestRefused: 404 for an unknown service, 400 for what is not a HealthCheckRequest.
        """
        if _service(request) not in _SERVICES:
            raise RequestRefused(404, "unknown_service", "there is no such service here")
        return _response(self._status())

    def list_all(self, _: bytes) -> bytes:
        """The response of List."""
        response = HealthCheckResponse(status=self._status())
        content: bytes = HealthListResponse(statuses=dict.fromkeys(_SERVICES, response)).SerializeToString()
        return content

    async def watch(self, request: bytes, send: Callable[[bytes], bool]) -> None:
        """Send the response of Watch now and after every change; `send` returns whether the peer still waits."""
        is_known, last = _service(request) in _SERVICES, 0
        while True:
            status = self._status() if is_known else _SERVICE_UNKNOWN
            if not send(_response(status) if status != last else b""):
                return
            last = status
            await asyncio.sleep(_LOOK_EVERY_S)

    def _status(self) -> int:
        return _SERVING if self._health.is_ready() else _NOT_SERVING


def _service(request: bytes) -> str:
    try:
        service: str = HealthCheckRequest.FromString(request).service
    except DecodeError as error:
        raise RequestRefused(400, "undecodable", "this is no HealthCheckRequest") from error
    return service


def _response(status: int) -> bytes:
    content: bytes = HealthCheckResponse(status=status).SerializeToString()
    return content
