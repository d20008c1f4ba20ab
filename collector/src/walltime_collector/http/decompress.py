"""Opens a compressed body, and stops as soon as it is more than may be, whatever it would have become."""

from __future__ import annotations

import zlib

import cramjam

from ..errors import RequestRefused
from ..zstd import zstd

ENCODINGS = (
    b"",
    b"identity",
    b"gzip",
    b"zstd",
    b"snappy",
    b"x-snappy-framed",
    b"zlib",
    b"deflate",
    b"lz4",
)
"""What an OpenTelemetry Collector can be set to; `snappy` is framed or a block, both are in use under that name."""
_WINDOW_OF = {"gzip": 31, "zlib": 15, "deflate": 15}
"""zlib's numbers for its formats, each with the largest window."""
_RAW_DEFLATE = -15
_ZSTD_WINDOW_LOG = 23  # 8 MiB: what a decoder must support, and the memory it may take
_SNAPPY_STREAM = b"\xff\x06\x00\x00sNaPpY"
_MOST_TIMES = {"snappy": 22, "lz4": 256}
"""No body of these formats becomes more times larger: three bytes of Snappy copy at most 64, one of LZ4 255."""
_SMALL_BYTES = 64 * 1024


def decompress(body: bytes, encoding: bytes, max_bytes: int) -> bytes:
    """
    The content of a body in one of ENCODINGS.

    Raises:
        RequestRefused: 413 when it is more than `max_bytes`, 400 when it is not what it says or ends early.
    """
    if encoding in (b"", b"identity") or not body:
        return body
    if encoding == b"snappy" and not body.startswith(_SNAPPY_STREAM):
        return _open_block(body, max_bytes)
    if encoding in (b"snappy", b"x-snappy-framed"):
        return _open_into(body, max_bytes, "snappy")
    if encoding == b"lz4":
        return _open_into(body, max_bytes, "lz4")
    return _open_all(body, max_bytes, encoding.decode())


def _open_all(body: bytes, max_bytes: int, name: str) -> bytes:
    parts: list[bytes] = []
    room, rest = max_bytes, body
    while rest:  # compressed files may follow one another
        try:
            part, rest = _open(rest, room, name)
        except (zlib.error, zstd.ZstdError) as error:
            raise _not(name, error) from error
        parts.append(part)
        room -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _open(body: bytes, room: int, name: str) -> tuple[bytes, bytes]:
    if name == "zstd":
        inflater = zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: _ZSTD_WINDOW_LOG})
    else:
        is_raw = name == "deflate" and not _has_zlib_header(body)
        inflater = zlib.decompressobj(_RAW_DEFLATE if is_raw else _WINDOW_OF[name])
    part: bytes = inflater.decompress(body, room + 1)
    if len(part) > room:
        raise _too_large()
    if not inflater.eof:
        raise RequestRefused(400, "truncated", f"the {name} body ends early")
    return part, inflater.unused_data


def _has_zlib_header(body: bytes) -> bool:
    """Whether it begins as RFC 1950 says: `deflate` should, and some clients leave the header out."""
    return len(body) > 1 and body[0] & 15 == 8 and int.from_bytes(body[:2], "big") % 31 == 0


def _open_block(body: bytes, max_bytes: int) -> bytes:
    try:
        if cramjam.snappy.decompress_raw_len(body) > max_bytes:
            raise _too_large()
        return bytes(cramjam.snappy.decompress_raw(body))
    except cramjam.DecompressionError as error:
        raise _not("snappy", error) from error


def _open_into(body: bytes, max_bytes: int, name: str) -> bytes:
    """Open formats whose library has no limit of its own: it cannot write beyond the buffer it is given."""
    codec = cramjam.snappy if name == "snappy" else cramjam.lz4
    buffer = bytearray(min(max_bytes, len(body) * _MOST_TIMES[name] + _SMALL_BYTES))
    try:
        size = codec.decompress_into(body, buffer)
    except cramjam.DecompressionError as error:
        if "write whole buffer" in str(error):
            raise _too_large() from error
        raise _not(name, error) from error
    return bytes(memoryview(buffer)[:size])


def _too_large() -> RequestRefused:
    return RequestRefused(413, "too_large", "the body is more than may be when decompressed; send smaller batches")


def _not(name: str, error: Exception) -> RequestRefused:
    return RequestRefused(400, f"not_{name}", f"the body says it is {name} and is not: {error}")
