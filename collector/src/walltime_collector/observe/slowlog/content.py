"""A log's file, compressed or not, read by position in what the server wrote."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import lzma
import os
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import BinaryIO, Final, cast

from ...zstd import zstd

_OPEN: Final[Mapping[str, Callable[[Path], object]]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".zst": zstd.open,
}
DAMAGED: Final = (EOFError, zlib.error, lzma.LZMAError, zstd.ZstdError)
"""Raised by the decompressors, beside OSError."""
_SKIP_BYTES: Final = 1024 * 1024


class Content:
    """
    An open log as the server writes it; it may grow, and may be truncated.

    Raises:
        OSError: It is not there or cannot be read; so do all methods.
    """

    def __init__(self, path: Path) -> None:
        # a FIFO would wait for its writer
        self._handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)

    def read_at(self, at: int, size: int) -> bytes:
        """At most so many bytes from a position in the text; empty at its end."""
        return os.pread(self._handle, size, at)

    def has_ended_at(self, at: int) -> bool:
        """Whether nothing is behind the position now."""
        return self.status().st_size == at

    def is_shorter_than(self, at: int) -> bool:
        """Whether less is there than up to the position."""
        return self.status().st_size < at

    def is_whole(self) -> bool:
        """Whether all of it can be read; what is being compressed now cannot."""
        return True

    def status(self) -> os.stat_result:
        return os.fstat(self._handle)

    def close(self) -> None:
        os.close(self._handle)


class CompressedContent(Content):
    """Read forwards; a position before the last one begins anew. What is damaged or not yet whole raises OSError."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._status = path.stat()
        self._open()

    def read_at(self, at: int, size: int) -> bytes:
        try:
            if at < self._at:
                self._stream.close()
                self._open()
            while self._at < at:
                skipped = len(self._stream.read(min(at - self._at, _SKIP_BYTES)))
                if not skipped:
                    return b""
                self._at += skipped
            piece = self._stream.read(size)
        except DAMAGED as error:
            raise OSError(f"{self._path} cannot be decompressed: {error}") from error
        self._at += len(piece)
        return piece

    def has_ended_at(self, at: int) -> bool:
        return not self.read_at(at, 1)

    def is_shorter_than(self, at: int) -> bool:
        return at > 0 and not self.read_at(at - 1, 1)

    def is_whole(self) -> bool:
        try:
            while self.read_at(self._at, _SKIP_BYTES):
                pass
        except OSError:
            return False
        return True

    def status(self) -> os.stat_result:
        return self._status

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._stream.close()

    def _open(self) -> None:
        self._stream, self._at = cast("BinaryIO", _OPEN[self._path.suffix](self._path)), 0


def open_content(path: Path) -> Content:
    """Open a log; by its suffix it is compressed."""
    return (CompressedContent if path.suffix in _OPEN else Content)(path)
