"""Runs the gRPC port in the event loop: accepts connections, and drains them at the end."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Sequence

from ...http.ports.connections import Connections, Slot
from ...http.ports.listener import Listener
from .calls import Limits, Service
from .connection import Connection


class GrpcServer:
    """
    Has the interface of a uvicorn server: serve() runs until `should_exit`; `started` is true while it listens.

    Args:
        grace_s: At the end, calls that run have this long to be answered.
    """

    def __init__(
        self,
        service: Service,
        connections: Connections,
        limits: Limits,
        *,
        tls: ssl.SSLContext | None,
        grace_s: float,
    ) -> None:
        self._service, self._connections, self._limits = service, connections, limits
        self._tls, self._grace_s = tls, grace_s
        self._open: set[Connection] = set()
        self.started = self.should_exit = False

    async def serve(self, sockets: Sequence[socket.socket]) -> None:
        """Accept connections until `should_exit`; then close the port, let calls end, close the connections."""
        handshake_s = self._limits.header_s
        listeners = [
            Listener("grpc", each, self._connections, self._connection, tls=self._tls, handshake_s=handshake_s)
            for each in sockets
        ]
        self.started = True
        while not self.should_exit:
            await asyncio.sleep(0.1)
        for each in listeners:
            each.close()
        for listening in sockets:
            listening.close()
        await self._drain()

    async def _drain(self) -> None:
        loop = asyncio.get_running_loop()
        for each in [*self._open]:
            each.drain()
        until_s = loop.time() + self._grace_s
        while self._open and loop.time() < until_s:
            await asyncio.sleep(0.02)
        for each in [*self._open]:
            each.abort()

    def _connection(self, slot: Slot) -> Connection:
        return Connection(self._service, slot, self._limits, self._open)
