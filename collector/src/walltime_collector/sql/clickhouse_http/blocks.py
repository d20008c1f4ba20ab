"""
ClickHouse's own compression of a body (`compress=1`, `decompress=1`): blocks, each with a checksum.

    CityHash128 of all that follows:16, method:1, size of the block without its checksum:u32, size of the data:u32, data
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Literal

import lz4.block
from clickhouse_cityhash.cityhash import CityHash128

from ...zstd import zstd

Method = Literal["none", "lz4", "zstd"]

_BLOCK_BYTES = 1024 * 1024  # the same as a ClickHouse server
_MAX_BLOCKS = 256
_CHECKSUM_BYTES = 16
_HEADER = struct.Struct("<BII")
_ZSTD_LEVEL = 1
_ZSTD_WINDOW_LOG = 23  # 8 MiB: what a decoder must support, and the memory it may take
_NONE, _LZ4, _ZSTD = 0x02, 0x82, 0x90
_MARKS: dict[Method, int] = {"none": _NONE, "lz4": _LZ4, "zstd": _ZSTD}
_COMPRESS: dict[Method, Callable[[bytes], bytes]] = {
    "none": bytes,
    "lz4": lambda data: bytes(lz4.block.compress(data, store_size=False)),
    "zstd": lambda data: bytes(zstd.compress(data, _ZSTD_LEVEL)),
}


class BadBlocks(Exception):
    """The body is not made of such blocks, or one of them is damaged."""


def compress(content: bytes, method: Method = "lz4") -> bytes:
    """The content in blocks; without content, no block. All clients read LZ4, and some only LZ4."""
    return b"".join(_framed(_MARKS[method], _COMPRESS[method](part), len(part)) for part in _parts_of(content))


def readable(text: bytes) -> bytes:
    """
    The text in blocks of LZ4 that contain it unchanged.

    For errors: some drivers decompress the body of an error, others search the raw body for the text.
    """
    return b"".join(_framed(_LZ4, _literals(part), len(part)) for part in _parts_of(text))


def decompress(body: bytes, max_bytes: int) -> bytes:
    """
    The content of a body in blocks.

    Raises:
        BadBlocks: It is not one, or has more than `max_bytes` of content or too many blocks.
    """
    parts: list[bytes] = []
    room = max_bytes
    for part in _blocks(body, max_bytes):
        room -= len(part)
        if room < 0:
            raise BadBlocks(f"the content is larger than {max_bytes} bytes")
        parts.append(part)
        if len(parts) > _MAX_BLOCKS:
            raise BadBlocks(f"it has more than {_MAX_BLOCKS} blocks; send larger ones")
    return b"".join(parts)


def _parts_of(content: bytes) -> Iterator[bytes]:
    return (content[at : at + _BLOCK_BYTES] for at in range(0, len(content), _BLOCK_BYTES))


def _framed(mark: int, compressed: bytes, data_bytes: int) -> bytes:
    summed = _HEADER.pack(mark, _HEADER.size + len(compressed), data_bytes) + compressed
    return _checksum(summed) + summed


def _literals(data: bytes) -> bytes:
    """One LZ4 sequence without a copy: its length is in the first four bits and in the bytes that follow."""
    if len(data) < 15:
        return bytes([len(data) << 4]) + data
    more, last = divmod(len(data) - 15, 255)
    return b"\xf0" + b"\xff" * more + bytes([last]) + data


def _blocks(body: bytes, max_bytes: int) -> Iterator[bytes]:
    at = 0
    while at < len(body):
        start = at + _CHECKSUM_BYTES
        if len(body) < start + _HEADER.size:
            raise BadBlocks(f"the block at byte {at} ends early")
        mark, size, data_bytes = _HEADER.unpack_from(body, start)
        if size < _HEADER.size or len(body) < start + size:
            raise BadBlocks(f"the block at byte {at} ends early")
        if data_bytes > max_bytes:
            raise BadBlocks(f"the content is larger than {max_bytes} bytes")
        summed = body[start : start + size]
        if _checksum(summed) != body[at:start]:
            raise BadBlocks(f"the checksum of the block at byte {at} is wrong")
        yield _data(mark, summed[_HEADER.size :], data_bytes)
        at = start + size


def _data(mark: int, compressed: bytes, data_bytes: int) -> bytes:
    try:
        if mark == _LZ4:
            data = bytes(lz4.block.decompress(compressed, uncompressed_size=data_bytes))
        elif mark == _ZSTD:
            options: dict[int, int] = {zstd.DecompressionParameter.window_log_max: _ZSTD_WINDOW_LOG}
            data = bytes(zstd.ZstdDecompressor(options=options).decompress(compressed, data_bytes + 1))
        elif mark == _NONE:
            data = compressed
        else:
            raise BadBlocks(f"the method {mark:#04x} of a block is not known; use LZ4, ZSTD or NONE")
    except (lz4.block.LZ4BlockError, zstd.ZstdError) as error:
        raise BadBlocks(f"the data of a block is damaged: {error}") from error
    if len(data) != data_bytes:
        raise BadBlocks(f"a block has not the {data_bytes} bytes of its header")
    return data


def _checksum(content: bytes) -> bytes:
    # the two halves of the number in the order in which ClickHouse writes them
    number: int = CityHash128(content)
    return (number >> 64).to_bytes(8, "little") + (number & (1 << 64) - 1).to_bytes(8, "little")
