"""A log from a file or stdin, read once and forwards: decompressed and taken out of JSON by content, not by name."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final

from .content import damages, decompressed

PIECE_BYTES: Final = 1024 * 1024
_MODULES: Final = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\xfd7zXZ\x00": "lzma", b"\x28\xb5\x2f\xfd": "zstd"}
_LONGEST_MAGIC: Final = max(map(len, _MODULES))
# In a string of JSON each quote has a backslash before it, so no text in a value looks like this key.
_KEY: Final = rb'"(?:message|textPayload)"\s*:\s*"'
_MESSAGE: Final = re.compile(rb'%b([^"\\]*(?:\\.[^"\\]*)*)"' % _KEY, re.DOTALL)
_KEY_STARTS: Final = re.compile(_KEY)
_LONGEST_KEY: Final = 64
_MAX_MESSAGE_BYTES: Final = 64 * 1024 * 1024


class LogText:
    """
    An open log.

    Args:
        path: `-` is stdin.

    Raises:
        OSError: It cannot be opened.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.name = "stdin" if path == "-" else path
        file = sys.stdin.buffer if path == "-" else Path(path).open("rb")  # noqa: SIM115 closed by close()
        self._raw = _Counted(file)
        self.size_bytes = Path(path).stat().st_size if path != "-" else 0
        """On the disk; 0 if that is unknown."""
        self._module = next((name for magic, name in _MODULES.items() if self._raw.head.startswith(magic)), "")
        self.is_json = not self._module and _is_json(self._raw.head)

    @property
    def is_plain(self) -> bool:
        """A file that can be read in parts: neither compressed nor JSON nor a pipe."""
        return not (self._module or self.is_json) and Path(self.path).is_file()

    @property
    def read_bytes(self) -> int:
        """How much of `size_bytes` was read."""
        return self._raw.read_bytes

    def pieces(self) -> Iterator[bytes]:
        """
        The text as the server wrote it.

        Raises:
            OSError: It cannot be read, or cannot be decompressed any further; all before has been returned.
        """
        pieces = self._decompressed()
        first = next(pieces, b"")
        if _is_json(first):
            yield from _messages(_with(first, pieces))
        else:
            yield from _with(first, pieces)

    def close(self) -> None:
        """Let go of the file."""
        self._raw.close()

    def _decompressed(self) -> Iterator[bytes]:
        stream: Any = io.BufferedReader(self._raw, 256 * 1024)
        if self._module:
            stream = decompressed(stream, self._module)
        parts: list[bytes] = []
        size, error = 0, None
        while not error:
            try:
                # not read(): it would lose what is before a damage
                part = stream.read1(PIECE_BYTES)
            except (*damages(), OSError) as damage:  # type: ignore[misc]  # it wants to know how many they are
                part, error = b"", damage
            parts.append(part)
            size += len(part)
            if size >= PIECE_BYTES or not part:
                yield b"".join(parts)
                parts, size = [], 0
            if not part:
                break
        if error:
            raise OSError(f"cannot be decompressed any further: {error}") from error


class _Counted(io.RawIOBase):
    """A file whose first bytes are known, and which counts what was read."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.head = self._unread = file.read(_LONGEST_MAGIC)
        self.read_bytes = 0

    def readable(self) -> bool:
        return True

    def readinto(self, target: memoryview) -> int:  # type: ignore[override]
        if self._unread:
            read = min(len(self._unread), len(target))
            target[:read], self._unread = self._unread[:read], self._unread[read:]
        else:
            read = self._file.readinto(target)  # type: ignore[attr-defined]
        self.read_bytes += read
        return read

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


def _messages(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """
    The texts of JSON that CloudWatch Logs (`message`) and Cloud Logging (`textPayload`) export.

    One of them is a whole entry (CloudWatch) or one line of it (Cloud SQL). Lines of JSON, arrays and nested events are
    all the same: only the two keys count.
    """
    rest = b""
    for piece in pieces:
        rest += piece
        done, texts = 0, []
        for message in _MESSAGE.finditer(rest):
            texts.append(_decoded(message[1]))
            done = message.end()
        yield b"".join(texts)
        unfinished = _KEY_STARTS.search(rest, done)
        rest = rest[unfinished.start() if unfinished else max(done, len(rest) - _LONGEST_KEY) :]
        if len(rest) > _MAX_MESSAGE_BYTES:
            raise OSError(f"has a message of more than {_MAX_MESSAGE_BYTES // 2**20} MiB")


def _decoded(written: bytes) -> bytes:
    try:
        text = str(json.loads(f'"{written.decode("utf-8", "replace")}"', strict=False))
    except ValueError as error:
        raise OSError(f"has a text that is not valid JSON: {error}") from error
    return text.rstrip("\r\n").encode("utf-8", "replace") + b"\n"


def _is_json(text: bytes) -> bool:
    return text.lstrip()[:1] in (b"{", b"[")


def _with(first: bytes, others: Iterable[bytes]) -> Iterator[bytes]:
    if first:
        yield first
    yield from others
