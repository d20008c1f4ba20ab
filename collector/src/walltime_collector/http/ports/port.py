"""Runs a port in the event loop; unlike asyncio's server, it counts connections before their TLS handshake."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
import ssl
from collections.abc import Callable, Collection
from functools import partial

from .connections import Connections, Slot

_MAX_PER_TURN = 64
_OUT_OF_RESOURCES = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}
_NEXT_TURN_S = 0.01
_PAUSE_S = 0.5
"""After the system had no descriptor: an immediate retry would only use CPU."""

Make = Callable[[Slot], asyncio.Protocol]


class Port:
    """
    One listening socket and its connections.

    Args:
        name: Of the port, in counters and the log.
        make: Makes the protocol of a new connection; the protocol sets `slot.connection` when it is connected and
            calls `slot.leave()` when the connection is lost.
        handshake_s: Maximum duration of a TLS handshake.
        grace_s: At the end, running requests have this long to be answered.
        refusal: Sent to a connection over the limit, on a port without TLS.
        tasks: Those that work on requests, perhaps longer than their connections are open.
    """

    def __init__(
        self,
        name: str,
        listening: socket.socket,
        connections: Connections,
        make: Make,
        *,
        tls: ssl.SSLContext | None,
        handshake_s: float,
        grace_s: float,
        refusal: bytes = b"",
        tasks: Collection[asyncio.Task[None]] = (),
    ) -> None:
        self._name, self._listening, self._connections, self._make = name, listening, connections, make
        self._tls, self._handshake_s, self._grace_s, self._refusal = tls, handshake_s, grace_s, refusal
        self._tasks = tasks
        self._opening: set[asyncio.Task[None]] = set()
        self._pause: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Accept connections in the running event loop."""
        self._loop = asyncio.get_running_loop()
        self._listening.setblocking(False)
        self._loop.add_reader(self._listening, self._accept)

    async def stop(self) -> None:
        """Close the socket and cancel handshakes; let running requests end; then close the connections."""
        self._loop.remove_reader(self._listening)
        if self._pause is not None:
            self._pause.cancel()
        self._listening.close()
        for handshake in self._opening:
            handshake.cancel()
        await asyncio.gather(*self._opening, return_exceptions=True)
        for connection in self._connections.of(self._name):
            connection.drain()
        until_s = self._loop.time() + self._grace_s
        while (self._connections.of(self._name) or self._tasks) and self._loop.time() < until_s:
            await asyncio.sleep(0.02)
        for task in [*self._tasks]:
            task.cancel()
        for connection in self._connections.of(self._name):
            connection.abort()

    def _accept(self) -> None:
        for _ in range(_MAX_PER_TURN):
            if self._connections.should_wait():
                self._wait(_NEXT_TURN_S)
                return
            try:
                connection, peer = self._listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in _OUT_OF_RESOURCES:
                    raise
                self._connections.note(self._name, "no_descriptors", "")
                self._wait(_PAUSE_S)
                return
            slot = self._connections.enter(self._name, str(peer[0]) if peer else "")
            if slot is None:
                self._refuse(connection)
                continue
            connection.setblocking(False)
            task = self._loop.create_task(self._open(slot, connection))
            slot.cancel = task.cancel
            self._opening.add(task)
            task.add_done_callback(partial(self._opened, slot, connection))

    def _wait(self, seconds: float) -> None:
        self._loop.remove_reader(self._listening)
        self._pause = self._loop.call_later(seconds, self._loop.add_reader, self._listening, self._accept)

    def _refuse(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            connection.setblocking(False)
            if self._tls is None and self._refusal:
                connection.send(self._refusal)
                connection.recv(65536)  # closing with unread bytes would reset the connection and discard the response

    async def _open(self, slot: Slot, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await self._loop.connect_accepted_socket(
            lambda: self._make(slot),
            connection,
            ssl=self._tls,
            ssl_handshake_timeout=self._handshake_s if self._tls is not None else None,
        )

    def _opened(self, slot: Slot, connection: socket.socket, task: asyncio.Task[None]) -> None:
        self._opening.discard(task)
        # cancelled by close(), or for another connection; perhaps before it began
        error = None if task.cancelled() else task.exception()
        if error is None and not task.cancelled():
            return
        connection.close()
        # a reset: load balancers that check whether a port is open close so
        if error is not None and not isinstance(error, ConnectionResetError):
            slot.note("handshake")
        slot.leave()
