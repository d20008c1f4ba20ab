"""
One append-only file of the spool: a header, then framed records, each with its own checksums.

    header   b"WTSPOOL" version:u8 spool:16 bytes                                         24 bytes
    record   b"WREC" length:u32 received_at_ns:u64 spans:u32 crc(payload):u32 crc(these):u32, payload
                                                                                          28 bytes + length

Integers are little-endian. The checksum of a record's header starts from the spool's id, so nothing inside a payload
can pass for a record when damage makes the reader look for the next one.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

from ..errors import SegmentCorrupt

VERSION = 1
_MAGIC = b"WTSPOOL"
_MARK = b"WREC"
_FIELDS = struct.Struct("<4sIQII")
_CRC = struct.Struct("<I")
FRAME_BYTES = _FIELDS.size + _CRC.size
HEADER_BYTES = len(_MAGIC) + 1 + 16


class Record(NamedTuple):
    """A request as it was received, uncompressed; `spans` is how many it carries, for counting only."""

    received_at_ns: int
    spans: int
    payload: bytes


class Damage(NamedTuple):
    """Bytes between two readable records, or after the last one (`is_tail`: a write that a crash cut short)."""

    at: int
    content: bytes
    is_tail: bool


def segment_header(spool_id: bytes) -> bytes:
    """The first bytes of a segment."""
    return _MAGIC + bytes([VERSION]) + spool_id


def frame(record: Record, spool_id: bytes) -> bytes:
    """What stands in front of the record's payload."""
    fields = _FIELDS.pack(_MARK, len(record.payload), record.received_at_ns, record.spans, zlib.crc32(record.payload))
    return fields + _CRC.pack(zlib.crc32(fields, zlib.crc32(spool_id)))


def read_segment(content: bytes, spool_id: bytes) -> Iterator[Record | Damage]:
    """
    Everything that is in a segment, in order; damage costs the damaged records and no other.

    Raises:
        SegmentCorrupt: It is not a segment of this spool, or its version is unknown here; nothing was yielded.
    """
    _check_header(content, spool_id)
    seed = zlib.crc32(spool_id)
    at = HEADER_BYTES
    while at < len(content):
        found = _record_at(content, at, seed)
        if isinstance(found, Record):
            yield found
            at += FRAME_BYTES + len(found.payload)
            continue
        beyond = found if found is not None else _next_frame(content, at + 1, seed)
        yield Damage(at, content[at:beyond], is_tail=beyond >= len(content) and _is_torn(content, at, seed))
        at = beyond


def _check_header(content: bytes, spool_id: bytes) -> None:
    if not content.startswith(_MAGIC) or len(content) < HEADER_BYTES:
        raise SegmentCorrupt("this is not a segment")
    if content[len(_MAGIC)] != VERSION:
        raise SegmentCorrupt(
            f"segment format {content[len(_MAGIC)]} is not {VERSION}, the one this collector reads; "
            "the collector that wrote it can load it"
        )
    if content[len(_MAGIC) + 1 : HEADER_BYTES] != spool_id:
        raise SegmentCorrupt("this segment belongs to another spool")


def _record_at(content: bytes, at: int, seed: int) -> Record | int | None:
    """The record; or where the next one starts when only its payload is damaged; or None when its header is."""
    header = _header_at(content, at, seed)
    if header is None:
        return None
    length, received_at_ns, spans, payload_crc = header
    start = at + FRAME_BYTES
    payload = content[start : start + length]
    if len(payload) == length and zlib.crc32(payload) == payload_crc:
        return Record(received_at_ns, spans, payload)
    # Step over a damaged payload only where its length leads to the next frame or the end; bytes may be missing.
    following = start + length
    if len(payload) == length and (following == len(content) or _header_at(content, following, seed)):
        return following
    return None


def _header_at(content: bytes, at: int, seed: int) -> tuple[int, int, int, int] | None:
    header = content[at : at + FRAME_BYTES]
    if len(header) < FRAME_BYTES:
        return None
    fields, (crc,) = header[: _FIELDS.size], _CRC.unpack(header[_FIELDS.size :])
    if zlib.crc32(fields, seed) != crc:
        return None
    mark, length, received_at_ns, spans, payload_crc = _FIELDS.unpack(fields)
    return (length, received_at_ns, spans, payload_crc) if mark == _MARK else None


def _next_frame(content: bytes, at: int, seed: int) -> int:
    while (at := content.find(_MARK, at)) >= 0:
        if _header_at(content, at, seed):
            return at
        at += 1
    return len(content)


def _is_torn(content: bytes, at: int, seed: int) -> bool:
    """A crash or a power cut leaves a frame without its end, or zeros where the disk had room but no data yet."""
    header = _header_at(content, at, seed)
    if header is not None:
        return at + FRAME_BYTES + header[0] > len(content)
    return len(content) - at < FRAME_BYTES or not content[at:].strip(b"\0")
