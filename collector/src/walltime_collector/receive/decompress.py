"""Opens a compressed body, and stops as soon as it is more than may be, whatever it would have become."""

from __future__ import annotations

import sys
import zlib

from ..errors import RequestRefused

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

ENCODINGS = (b"", b"identity", b"gzip", b"zstd")
_GZIP = 31  # zlib's number for: a gzip header and trailer, largest window
_ZSTD_WINDOW_LOG = 23  # 8 MiB: what a decoder must support, and the memory it may take


def decompress(body: bytes, encoding: bytes, max_bytes: int) -> bytes:
    """
    The content of a body in one of ENCODINGS.

    Raises:
        RequestRefused: 413 when it is more than `max_bytes`, 400 when it is not what it says or ends early.
    """
    if encoding == b"gzip":
        return _open_all(body, max_bytes, "gzip")
    if encoding == b"zstd":
        return _open_all(body, max_bytes, "zstd")
    return body


def _open_all(body: bytes, max_bytes: int, name: str) -> bytes:
    parts: list[bytes] = []
    room, rest = max_bytes, body
    while rest:  # compressed files may follow one another
        try:
            part, rest = _open(rest, room, name)
        except (zlib.error, zstd.ZstdError) as error:
            raise RequestRefused(400, f"not_{name}", f"the body says it is {name} and is not: {error}") from error
        parts.append(part)
        room -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _open(body: bytes, room: int, name: str) -> tuple[bytes, bytes]:
    inflater = (
        zlib.decompressobj(_GZIP)
        if name == "gzip"
        else zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: _ZSTD_WINDOW_LOG})
    )
    part: bytes = inflater.decompress(body, room + 1)
    if len(part) > room:
        raise RequestRefused(413, "too_large", "the body is more than may be when decompressed; send smaller batches")
    if not inflater.eof:
        raise RequestRefused(400, "truncated", f"the {name} body ends early")
    return part, inflater.unused_data
