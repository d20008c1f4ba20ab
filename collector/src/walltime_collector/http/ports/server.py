"""An HTTP port: uvicorn on connections from a Listener, which counts and limits them."""

from __future__ import annotations

import contextlib
import socket
import ssl
from collections.abc import Callable, Iterator
from typing import Any

import uvicorn

from .connections import Connections, Slot
from .http_protocol import HttpLimits, Wording, error_response, guarded
from .listener import Listener

IDLE_S = 60
"""A connection without a request is closed after this time."""


class HttpServer(uvicorn.Server):
    """
    uvicorn without its signal handlers, because the process has several servers.

    Args:
        port: Its name in counters and the log.
        count_refused: See `guarded`.
        wording: See `guarded`.
        grace_s: On shutdown, running requests have this long to end.
    """

    def __init__(
        self,
        port: str,
        app: Any,
        connections: Connections,
        limits: HttpLimits,
        *,
        tls: ssl.SSLContext | None,
        count_refused: Callable[[str], None],
        wording: Wording,
        grace_s: int,
    ) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=guarded(limits, count_refused, wording),
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                proxy_headers=False,
                server_header=False,
                date_header=False,
                timeout_keep_alive=IDLE_S,
                timeout_graceful_shutdown=grace_s,
                ssl_context_factory=None if tls is None else lambda *_: tls,
            )
        )
        self._port, self._connections, self._limits, self._wording = port, connections, limits, wording

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """See uvicorn.Server; serve.py handles signals."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """See uvicorn.Server; it listens on the given sockets only."""
        await self.lifespan.startup()
        refusal = error_response(503, "too many connections; send again later", self._wording)
        self.servers = [
            Listener(  # type: ignore[misc]  # it has the methods of asyncio's Server that uvicorn calls
                self._port,
                listening,
                self._connections,
                self._protocol,
                tls=self.config.ssl,
                handshake_s=self._limits.header_s,
                refusal=refusal,
            )
            for listening in sockets or []
        ]
        self.started = True

    def _protocol(self, slot: Slot) -> Any:
        return self.config.http_protocol_class(  # type: ignore[call-arg]  # `slot` is our class's
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state, slot=slot
        )
