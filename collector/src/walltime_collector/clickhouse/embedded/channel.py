"""
What goes between the collector and its engine's process: messages on a private socket, large ones without copies.

    message   length of what is said:u32 length of the content:u64, what is said (JSON), content (bytes)

A lane is one such socket; it carries a question and then its answer, never two questions at once.
"""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Iterable, Iterator
from typing import Any

from ..engine import Piece

LANE, CLOSE = b"L", b"C"
"""What the collector says on the control socket: here is a lane (with its file descriptor), and: end."""

_LENGTHS = struct.Struct("<IQ")
_JOINED_BYTES = 64 * 1024
_BUFFERS = 512  # the kernel takes 1,024 in one call


def send(lane: socket.socket, said: dict[str, Any], content: Iterable[Piece] = ()) -> None:
    """
    Send one message; the pieces of its content are not put together first.

    Raises:
        OSError: The other side is gone, or does not read within the socket's timeout.
    """
    words = json.dumps(said).encode()
    pieces = list(_joined(content))
    todo = [memoryview(piece) for piece in (_LENGTHS.pack(len(words), sum(map(len, pieces))), words, *pieces)]
    at = 0
    while at < len(todo):
        sent = lane.sendmsg(todo[at : at + _BUFFERS])
        while at < len(todo) and sent >= len(todo[at]):
            sent -= len(todo[at])
            at += 1
        if sent:
            todo[at] = todo[at][sent:]


def receive(lane: socket.socket) -> tuple[dict[str, Any], bytes]:
    """
    Wait for one message.

    Raises:
        EOFError: The other side is gone.
        OSError: The same, or nothing came within the socket's timeout.
    """
    words, content = _LENGTHS.unpack(_read(lane, _LENGTHS.size))
    return json.loads(_read(lane, words)), _read(lane, content)


def _joined(content: Iterable[Piece]) -> Iterator[Piece]:
    """The same bytes in pieces that are worth a buffer each: a request may be a few bytes, or 20 MB."""
    small: list[Piece] = []
    size = 0
    for piece in content:
        if len(piece) < _JOINED_BYTES:
            small.append(piece)
            size += len(piece)
        if small and (size >= _JOINED_BYTES or len(piece) >= _JOINED_BYTES):
            yield b"".join(small)
            small, size = [], 0
        if len(piece) >= _JOINED_BYTES:
            yield piece
    if small:
        yield b"".join(small)


def _read(lane: socket.socket, size: int) -> bytes:
    # MSG_WAITALL fills one bytes object; it comes short when the socket has a timeout, or for a signal
    first = lane.recv(size, socket.MSG_WAITALL) if size else b""
    if len(first) == size:
        return first
    if not first:
        raise EOFError
    whole = bytearray(size)
    whole[: len(first)] = first
    view, at = memoryview(whole), len(first)
    while at < size:
        got = lane.recv_into(view[at:])
        if not got:
            raise EOFError
        at += got
    return bytes(view)
