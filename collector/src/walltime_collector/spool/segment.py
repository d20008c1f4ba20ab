"""
One append-only file of the spool: a header, then framed records, each with its own checksums.

    header   b"WTSPOOL" version:u8 id:16 bytes checksum(these):u64                               32 bytes
    record   b"WREC" length:u32 received_at_ns:u64 spans:u32 checksum(payload):u64 checksum(these):u64, payload
                                                                                                  36 bytes + length

Integers are little-endian, checksums XXH3. The file's name contains the id too, so a damaged header costs no record.
The checksum of a record's frame is seeded with the id, which no sender knows: when the reader searches for the next
record behind damage, nothing inside a payload can look like one.

Version 1 is still read. It has CRC-32 for both checksums of a record; its header has the spool's id and no checksum.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

import xxhash

from ..errors import SegmentCorrupt, SegmentUnknown

VERSION = 2
SUFFIX = ".segment"
_MAGIC = b"WTSPOOL"
_MARK = b"WREC"
_HEADER_CHECKSUM = struct.Struct("<Q")
_NAMED = re.compile(r"\d{20}-([0-9a-f]{32})(-\d+)*")
HEADER_BYTES = len(_MAGIC) + 1 + 16 + _HEADER_CHECKSUM.size
_HEADER_BYTES_1 = len(_MAGIC) + 1 + 16

Payload: TypeAlias = bytes | memoryview
_Checksum = Callable[[Payload, int], int]


class Record(NamedTuple):
    """A request as it was received, uncompressed; `spans` is how many it has, for counting only."""

    received_at_ns: int
    spans: int
    payload: Payload


class Damage(NamedTuple):
    """
    Bytes that are no readable record.

    `spans` is the number of a damaged record, 0 when its frame is damaged too. `is_tail` marks the end of a file that a
    crash cut short; it was never acknowledged.
    """

    at: int
    content: bytes
    spans: int
    is_tail: bool


class _Frame(NamedTuple):
    length: int
    received_at_ns: int
    spans: int
    checksum: int


class _Layout(NamedTuple):
    """The frame of a version."""

    fields: struct.Struct
    own: struct.Struct
    checksum: _Checksum


_XXH3 = _Layout(struct.Struct("<4sIQIQ"), struct.Struct("<Q"), xxhash.xxh3_64_intdigest)
_CRC32 = _Layout(struct.Struct("<4sIQII"), struct.Struct("<I"), zlib.crc32)
FRAME_BYTES = _XXH3.fields.size + _XXH3.own.size


def segment_header(segment_id: bytes) -> bytes:
    """The first bytes of a segment."""
    fields = _MAGIC + bytes([VERSION]) + segment_id
    return fields + _HEADER_CHECKSUM.pack(xxhash.xxh3_64_intdigest(fields))


def frame(record: Record, segment_id: bytes) -> bytes:
    """The bytes before the record's payload."""
    checksum = xxhash.xxh3_64_intdigest(record.payload)
    fields = _XXH3.fields.pack(_MARK, len(record.payload), record.received_at_ns, record.spans, checksum)
    return fields + _XXH3.own.pack(xxhash.xxh3_64_intdigest(fields, _seed(segment_id)))


def stored_bytes(record: Record) -> int:
    """The record's bytes in a segment."""
    return FRAME_BYTES + len(record.payload)


def id_in(name: str) -> bytes | None:
    """The id in a segment's name; None for the name of another file."""
    match = _NAMED.fullmatch(name)
    return bytes.fromhex(match[1]) if match else None


def token(header: bytes, name: str) -> str:
    """The deduplication token of a segment, unique among all spools: the database stores a token once."""
    # version 1 was loaded with its spool's id in the token, perhaps just before the collector was replaced
    return f"{header[8:24].hex()}/{name}" if _version(header) == 1 else name


def read_segment(content: bytes, name: str) -> Iterator[Record | Damage]:
    """
    Yield the records and the damage of a segment, in order; damage hides no other record.

    Payloads are views into `content`.

    Raises:
        SegmentUnknown: A collector of another version wrote it; raised before anything is yielded.
        SegmentCorrupt: It is not a segment; raised before anything is yielded.
    """
    start, reader = _open(content, name)
    if start is None:  # the crash came before the header was whole
        yield Damage(0, content, 0, is_tail=True)
        return
    if content[:start] != reader.header:
        yield Damage(0, content[:start], 0, is_tail=False)
    yield from reader.read(content, start)


def count_spans(read: Callable[[int, int], bytes], size_bytes: int, name: str) -> int | None:
    """
    Count the spans of a segment from its frames alone, a few bytes of each record.

    None when the header or a frame is damaged: then read the whole segment. Raises what read_segment raises.

    Args:
        read: Returns bytes of the segment, for a position and a number of bytes.
    """
    header = read(0, HEADER_BYTES)
    start, reader = _open(header, name)
    if start is None or header[:start] != reader.header:
        return None
    spans, at, frame_bytes = 0, start, reader.frame_bytes
    while at < size_bytes:
        framed = reader.frame_at(read(at, frame_bytes), 0)
        if framed is None:
            return spans if size_bytes - at < frame_bytes else None
        at += frame_bytes + framed.length
        if at <= size_bytes:
            spans += framed.spans
    return spans


class _Reader:
    """Finds the records of one segment."""

    def __init__(self, layout: _Layout, seed: int, header: bytes) -> None:
        self._layout, self._seed, self.header = layout, seed, header
        self.frame_bytes = layout.fields.size + layout.own.size

    def read(self, content: bytes, at: int) -> Iterator[Record | Damage]:
        view = memoryview(content)
        while at < len(content):
            framed = self.frame_at(content, at)
            if framed is not None:
                start = at + self.frame_bytes
                payload = view[start : start + framed.length]
                if len(payload) == framed.length and self._layout.checksum(payload, 0) == framed.checksum:
                    yield Record(framed.received_at_ns, framed.spans, payload)
                    at = start + framed.length
                    continue
            beyond = self._beyond(content, at, framed)
            is_tail = beyond >= len(content) and self._is_torn(content, at, framed)
            yield Damage(at, content[at:beyond], framed.spans if framed else 0, is_tail)
            at = beyond

    def frame_at(self, content: bytes, at: int) -> _Frame | None:
        fields = content[at : at + self._layout.fields.size]
        if len(content) - at < self.frame_bytes or not fields.startswith(_MARK):
            return None
        (own,) = self._layout.own.unpack_from(content, at + len(fields))
        if self._layout.checksum(fields, self._seed) != own:
            return None
        _, length, received_at_ns, spans, checksum = self._layout.fields.unpack(fields)
        return _Frame(length, received_at_ns, spans, checksum)

    def _beyond(self, content: bytes, at: int, framed: _Frame | None) -> int:
        """The position behind the damage at `at`."""
        if framed is not None:
            # skip a damaged payload only if its length leads to the next frame or the end: bytes may be missing
            following = at + self.frame_bytes + framed.length
            if following == len(content) or (following < len(content) and self.frame_at(content, following)):
                return following
        while (at := content.find(_MARK, at + 1)) >= 0:
            if self.frame_at(content, at):
                return at
        return len(content)

    def _is_torn(self, content: bytes, at: int, framed: _Frame | None) -> bool:
        """A crash or a power cut leaves a frame without its end, or zeros where the disk had room but no data yet."""
        if framed is not None:
            return at + self.frame_bytes + framed.length > len(content)
        return len(content) - at < self.frame_bytes or not content[at:].strip(b"\0")


def _seed(segment_id: bytes) -> int:
    return int.from_bytes(segment_id[:8], "little")


def _open(content: bytes, name: str) -> tuple[int | None, _Reader]:
    """The position of the first record, None in a header that a crash cut short; and the reader of the records."""
    header = content[:HEADER_BYTES]
    named = id_in(name)
    written = header[len(_MAGIC) + 1 : _HEADER_BYTES_1]
    whole = segment_header(written)
    # by the checksum, so that a flipped bit in the version is damage and not another version
    if len(header) == HEADER_BYTES and header[_HEADER_BYTES_1:] == whole[_HEADER_BYTES_1:]:
        return HEADER_BYTES, _Reader(_XXH3, _seed(written), whole)
    version = _version(header)
    if version == 1:
        return _HEADER_BYTES_1, _Reader(_CRC32, zlib.crc32(written), header[:_HEADER_BYTES_1])
    if version > VERSION:
        raise SegmentUnknown(
            f"segment format {version} is newer than this collector, which reads {VERSION} and before; "
            "the file stays where it is for the collector that wrote it"
        )
    if named is None:
        raise SegmentCorrupt("this is not a segment")
    whole = segment_header(named)
    is_cut = whole.startswith(content.rstrip(b"\0"))
    return None if is_cut else HEADER_BYTES, _Reader(_XXH3, _seed(named), whole)


def _version(header: bytes) -> int:
    return header[len(_MAGIC)] if header.startswith(_MAGIC) and len(header) >= _HEADER_BYTES_1 else 0
