"""A log's file, compressed or not, read by position in what the server wrote."""

from __future__ import annotations

import contextlib
import os
from importlib import import_module
from pathlib import Path
from typing import BinaryIO, Final, cast

_MODULES: Final = {".gz": "gzip", ".bz2": "bz2", ".xz": "lzma", ".zst": "zstd"}
_SKIP_BYTES: Final = 1024 * 1024


def decompressed(file: Path | BinaryIO, module: str) -> BinaryIO:
    """Open with gzip, bz2, lzma or zstd, which is imported here: to read a small log takes less time."""
    if module == "zstd":
        from ...zstd import zstd

        return cast("BinaryIO", zstd.open(file))
    return cast("BinaryIO", import_module(module).open(file))


def damages() -> tuple[type[Exception], ...]:
    """Raised by the decompressors, beside OSError."""
    import lzma
    import zlib

    from ...zstd import zstd

    return EOFError, zlib.error, lzma.LZMAError, zstd.ZstdError


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
        except damages() as error:
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
        self._stream, self._at = decompressed(self._path, _MODULES[self._path.suffix]), 0


def open_content(path: Path) -> Content:
    """Open a log; by its suffix it is compressed."""
    return (CompressedContent if path.suffix in _MODULES else Content)(path)
