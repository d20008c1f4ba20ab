"""HTTP's own compression of a body: Content-Encoding of requests, Accept-Encoding of responses."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Mapping

import lz4.frame

from ...http.decompress import decompress as decompress_gzip_or_zstd
from ...zstd import zstd
from .errors import CANNOT_DECOMPRESS, NOT_IMPLEMENTED, refused

_LEVEL = 1
# the cheapest first
_ENCODE: Mapping[str, Callable[[bytes], bytes]] = {
    "lz4": lambda content: bytes(lz4.frame.compress(content)),
    "zstd": lambda content: bytes(zstd.compress(content, _LEVEL)),
    "gzip": lambda content: _deflate(content, 31),
    "deflate": lambda content: _deflate(content, 15),
}
_ACCEPTED = re.compile(r"\s*([\w-]+)\s*(?:;\s*q\s*=\s*([\d.]+)\s*)?")


def chosen(accept_encoding: str) -> str:
    """The encoding of a response to that Accept-Encoding header; empty when it has none that we support."""
    matches = (_ACCEPTED.fullmatch(each) for each in accept_encoding.lower().split(","))
    accepted = {each[1] for each in matches if each and (each[2] or "1").strip("0.")}
    return next((name for name in _ENCODE if name in accepted), "")


def encode(content: bytes, encoding: str) -> bytes:
    """The content in an encoding that `chosen` returned."""
    return _ENCODE[encoding](content)


def decode(body: bytes, encoding: str, max_bytes: int) -> bytes:
    """
    The content of a request's body.

    Raises:
        Refused: The encoding is not supported, or the body is not in it.
        RequestRefused: The body is not in gzip or zstd as its header says, or has more than `max_bytes`.
    """
    encoding = encoding.strip().lower()
    if encoding in ("", "identity"):
        return body
    if encoding in ("gzip", "zstd"):
        return decompress_gzip_or_zstd(body, encoding.encode(), max_bytes)
    if encoding not in _ENCODE:
        names = ", ".join(_ENCODE)
        raise refused(NOT_IMPLEMENTED, f"the Content-Encoding of the body is not one of {names}", 415)
    try:
        content, is_whole = _inflated(body, encoding, max_bytes)
    except (zlib.error, RuntimeError) as error:  # lz4.frame raises RuntimeError
        raise refused(CANNOT_DECOMPRESS, f"the body is not {encoding} as its header says: {error}") from error
    if len(content) > max_bytes:
        raise refused(CANNOT_DECOMPRESS, f"the body is more than {max_bytes} bytes when decompressed", 413)
    if not is_whole:
        raise refused(CANNOT_DECOMPRESS, f"the {encoding} body ends early")
    return content


def _inflated(body: bytes, encoding: str, max_bytes: int) -> tuple[bytes, bool]:
    """At most one byte more than `max_bytes`, and whether the body was whole."""
    if encoding == "lz4":
        unpacker = lz4.frame.LZ4FrameDecompressor()
        return bytes(unpacker.decompress(body, max_bytes + 1)), unpacker.eof
    inflater = zlib.decompressobj(15)
    return inflater.decompress(body, max_bytes + 1), inflater.eof


def _deflate(content: bytes, window_bits: int) -> bytes:
    packer = zlib.compressobj(_LEVEL, wbits=window_bits)
    return packer.compress(content) + packer.flush()
