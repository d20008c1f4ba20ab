"""
Messages between the collector and the engine's process, on a private socket.

    message   length of the header:u32 length of the content:u64, header (JSON), content (bytes)

A connection is one such socket. It carries a request and then its response, never two requests at once.
"""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Iterable, Iterator
from typing import Any

from ..engine import Piece

CONNECTION, CLOSE = b"L", b"C"
"""What the collector sends on the control socket: a new connection (with its file descriptor), or an order to end."""

WRITE_FAILED = 75
"""The exit status of the engine's process after it could not write a file."""
KEPT_MEMORY = 76
"""Status with which the process ends to give memory back."""

_LENGTHS = struct.Struct("<IQ")
_BLOCK_BYTES = 64 * 1024


def send(connection: socket.socket, header: dict[str, Any], content: Iterable[Piece] = ()) -> None:
    """
    Send one message; large pieces of its content are not copied.

    Raises:
        OSError: The other side is gone, or does not read within the socket's timeout.
    """
    text, pieces = json.dumps(header).encode(), list(content)
    for block in _blocks([_LENGTHS.pack(len(text), sum(map(len, pieces))), text, *pieces]):
        connection.sendall(block)


def receive(connection: socket.socket) -> tuple[dict[str, Any], bytes]:
    """
    Wait for one message and return its header and its content.

    Raises:
        EOFError: The other side is gone.
        OSError: The other side is gone, or nothing came within the socket's timeout.
    """
    header_bytes, content_bytes = _LENGTHS.unpack(_read(connection, _LENGTHS.size))
    return json.loads(_read(connection, header_bytes)), _read(connection, content_bytes)


def _blocks(pieces: Iterable[Piece]) -> Iterator[Piece | bytearray]:
    """The same bytes with small pieces joined: a piece may be a few bytes or 20 MB."""
    small = bytearray()
    for piece in pieces:
        is_large = len(piece) >= _BLOCK_BYTES
        if not is_large:
            small += piece
        if small and (is_large or len(small) >= _BLOCK_BYTES):
            yield small
            small = bytearray()
        if is_large:
            yield piece
    if small:
        yield small


def _read(connection: socket.socket, size: int) -> bytes:
    parts = []
    while size:
        # MSG_WAITALL fills one bytes object; less comes when the socket has a timeout, or after a signal
        part = connection.recv(size, socket.MSG_WAITALL)
        if not part:
            raise EOFError
        parts.append(part)
        size -= len(part)
    return b"".join(parts)  # of one part: that part itself
