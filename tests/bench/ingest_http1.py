"""One kept-alive connection to a collector's OTLP/HTTP port, as light as Python has it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import httptools


class Http1Connection(asyncio.Protocol):
    """
    Sends one request at a time.

    Args:
        answered: Told the status of each answer; 0 when the connection ended without one.
    """

    def __init__(self, address: str, encoding: str, answered: Callable[[Http1Connection, int], None]) -> None:
        coding = f"Content-Encoding: {encoding}\r\n" if encoding else ""
        self._head = (
            f"POST /v1/traces HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/x-protobuf\r\n{coding}"
            "Content-Length: %d\r\n\r\n"
        ).encode()
        self._answered = answered
        self._transport: Any = None
        self._parser: Any = None
        self._waits = False

    def send(self, body: bytes) -> None:
        """Send a request; `answered` is called when its answer is there."""
        self._waits = True
        self._transport.writelines((self._head % len(body), body))

    def close(self) -> None:
        """End the connection, without a word to `answered`."""
        self._waits = False
        self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._parser = httptools.HttpResponseParser(self)

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_complete(self) -> None:
        """Called by the parser."""
        status = self._parser.get_status_code()
        self._parser = httptools.HttpResponseParser(self)
        self._end(status)

    def connection_lost(self, error: Exception | None) -> None:
        if self._waits:
            self._end(0)

    def _end(self, status: int) -> None:
        self._waits = False
        self._answered(self, status)
