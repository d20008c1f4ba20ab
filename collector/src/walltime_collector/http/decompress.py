"""Decompresses a request body, and stops as soon as it is over the limit."""

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
"""The settings of an OpenTelemetry Collector; the name `snappy` is in use for the framed format and for one block."""
_WINDOW_OF = {"gzip": 31, "zlib": 15, "deflate": 15}
"""zlib's numbers for its formats, each with the largest window."""
_RAW_DEFLATE = -15
_ZSTD_WINDOW_LOG = 23  # 8 MiB: what a decoder must support, and the memory it may use
_SNAPPY_STREAM = b"\xff\x06\x00\x00sNaPpY"
_MAX_RATIO = {"snappy": 22, "lz4": 256}
"""Maximum compression ratio of the format: three bytes of Snappy copy at most 64, one of LZ4 255."""
_SMALL_BYTES = 64 * 1024
_MAX_MEMBERS = 32
"""Compressed members of one body: some programs write several, and each costs the copy of the rest."""


def decompress(body: bytes, encoding: bytes, max_bytes: int) -> bytes:
    """
    The content of a body in one of ENCODINGS.

    Raises:
        RequestRefused: 413 when it is over `max_bytes`, 400 when it has another encoding, ends early or has too many
            members.
    """
    if encoding in (b"", b"identity") or not body:
        return body
    if encoding == b"snappy" and not body.startswith(_SNAPPY_STREAM):
        return _decompress_block(body, max_bytes)
    if encoding in (b"snappy", b"x-snappy-framed"):
        return _decompress_into(body, max_bytes, "snappy")
    if encoding == b"lz4":
        return _decompress_into(body, max_bytes, "lz4")
    return _decompress_members(body, max_bytes, encoding.decode())


def _decompress_members(body: bytes, max_bytes: int, name: str) -> bytes:
    parts: list[bytes] = []
    left, rest = max_bytes, body
    while rest:
        if len(parts) == _MAX_MEMBERS:
            what = f"the body has more than {_MAX_MEMBERS} {name} members; compress it in one"
            raise RequestRefused(400, "members", what)
        try:
            part, rest = _decompress_member(rest, left, name)
        except (zlib.error, zstd.ZstdError) as error:
            raise _invalid(name, error) from error
        parts.append(part)
        left -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _decompress_member(body: bytes, limit: int, name: str) -> tuple[bytes, bytes]:
    if name == "zstd":
        inflater = zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: _ZSTD_WINDOW_LOG})
    else:
        is_raw = name == "deflate" and not _has_zlib_header(body)
        inflater = zlib.decompressobj(_RAW_DEFLATE if is_raw else _WINDOW_OF[name])
    part: bytes = inflater.decompress(body, limit + 1)
    if len(part) > limit:
        raise _too_large()
    if not inflater.eof:
        raise RequestRefused(400, "truncated", f"the {name} body ends early")
    return part, inflater.unused_data


def _has_zlib_header(body: bytes) -> bool:
    """Whether it begins with the header of RFC 1950, as `deflate` should; some clients omit it."""
    return len(body) > 1 and body[0] & 15 == 8 and int.from_bytes(body[:2], "big") % 31 == 0


def _decompress_block(body: bytes, max_bytes: int) -> bytes:
    try:
        if cramjam.snappy.decompress_raw_len(body) > max_bytes:
            raise _too_large()
        return bytes(cramjam.snappy.decompress_raw(body))
    except cramjam.DecompressionError as error:
        raise _invalid("snappy", error) from error


def _decompress_into(body: bytes, max_bytes: int, name: str) -> bytes:
    """For formats whose library has no limit: it cannot write beyond the buffer."""
    codec = cramjam.snappy if name == "snappy" else cramjam.lz4
    buffer = bytearray(min(max_bytes, len(body) * _MAX_RATIO[name] + _SMALL_BYTES))
    try:
        size = codec.decompress_into(body, buffer)
    except cramjam.DecompressionError as error:
        if "write whole buffer" in str(error):
            raise _too_large() from error
        raise _invalid(name, error) from error
    return bytes(memoryview(buffer)[:size])


def _too_large() -> RequestRefused:
    return RequestRefused(413, "too_large", "the decompressed body is over the limit; send smaller batches")


def _invalid(name: str, error: Exception) -> RequestRefused:
    return RequestRefused(
        400, f"not_{name}", f"the body is not valid {name}: {error}; check the compression of the sender"
    )
