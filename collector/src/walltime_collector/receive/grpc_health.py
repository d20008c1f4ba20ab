"""grpc.health.v1 on the OTLP port: what load balancers and Kubernetes' gRPC probes ask; it follows readiness."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from enum import Enum
from typing import Any

from google.protobuf.message import DecodeError

from ..errors import RequestRefused
from ..health.counters import Health
from .http2.service import Respond, Response
from .intake import Signal
from .messages import compile_messages

_SERVING, _NOT_SERVING, _SERVICE_UNKNOWN = 1, 2, 3
_LOOK_EVERY_S = 1.0
_MESSAGES = compile_messages(
    "walltime_grpc_health",
    """
    message HealthCheckRequest { bytes service = 1; }
    message HealthCheckResponse { int32 status = 1; }
    message Entry { bytes key = 1; HealthCheckResponse value = 2; }
    message HealthListResponse { repeated Entry statuses = 1; }
    """,
)
_SERVICES = (
    b"",
    *(f"opentelemetry.proto.collector.{each.value}.v1.{each.value.capitalize()}Service".encode() for each in Signal),
)
"""The names that can be asked about; all have the same status, for all end in one spool."""


class HealthMethod(Enum):
    """The methods; the value is the last part of the path."""

    CHECK = "Check"
    WATCH = "Watch"
    LIST = "List"


HEALTH_PATHS = {f"/grpc.health.v1.Health/{each.value}".encode(): each for each in HealthMethod}


class GrpcHealth:
    """
    Answers without a token, as /readyz does: it says no more than yes or no.

    Args:
        answer: Makes the response of a message; with `is_last` False, more messages follow.
    """

    def __init__(self, health: Health, answer: Callable[[bytes, bool], Response]) -> None:
        self._health, self._answer = health, answer
        self._watchers: dict[Respond, int] = {}
        self._watching: asyncio.Task[None] | None = None

    def run(self, method: HealthMethod, message: bytes, respond: Respond) -> None:
        """
        Answer a call.

        Raises:
            RequestRefused: 404 for a service that is not here, 400 for what is no request.
        """
        if method is HealthMethod.LIST:
            respond(self._answer(self._all(), True))
            return
        try:
            service: bytes = _MESSAGES["HealthCheckRequest"].FromString(message).service
        except DecodeError as error:
            raise RequestRefused(400, "undecodable", "this is no HealthCheckRequest") from error
        if method is HealthMethod.WATCH:
            self._watch(service in _SERVICES, respond)
        elif service in _SERVICES:
            respond(self._answer(_response(self._status()).SerializeToString(), True))
        else:
            raise RequestRefused(404, "unknown_service", "there is no such service here")

    def _status(self) -> int:
        return _SERVING if self._health.is_ready() else _NOT_SERVING

    def _all(self) -> bytes:
        entry, response = _MESSAGES["Entry"], _response(self._status())
        listed = [entry(key=name, value=response) for name in _SERVICES]
        content: bytes = _MESSAGES["HealthListResponse"](statuses=listed).SerializeToString()
        return content

    def _watch(self, is_known: bool, respond: Respond) -> None:
        status = self._status() if is_known else _SERVICE_UNKNOWN
        respond(self._answer(_response(status).SerializeToString(), False))
        self._watchers[respond] = status
        if self._watching is None or self._watching.done():
            self._watching = asyncio.get_running_loop().create_task(self._keep_watching())

    async def _keep_watching(self) -> None:
        while self._watchers:
            await asyncio.sleep(_LOOK_EVERY_S)
            now = self._status()
            for respond, before in [*self._watchers.items()]:
                is_news = before not in (now, _SERVICE_UNKNOWN)
                if is_news:
                    self._watchers[respond] = now
                message = _response(now).SerializeToString() if is_news else None
                if not respond(None if message is None else self._answer(message, False)._replace(head=b"")):
                    del self._watchers[respond]


def _response(status: int) -> Any:
    return _MESSAGES["HealthCheckResponse"](status=status)
