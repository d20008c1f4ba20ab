"""Writes the little of ClickHouse's Native format that the engine does not write for us."""

from __future__ import annotations

from collections.abc import Sequence

_BLOCK_INFO = b"\x01\x00\x02\xff\xff\xff\xff\x00"  # 1: no overflow rows, 2: bucket −1, 0: no more fields


def header(columns: Sequence[tuple[str, str]]) -> bytes:
    """A block that has columns, by name and type, and no rows."""
    return varint(len(columns)) + varint(0) + b"".join(_text(name) + _text(kind) for name, kind in columns)


def greeting(display_name: str, version: str, revision: int, timezone: str) -> bytes:
    """
    The answer to clickhouse-go's first question as it reads it after `client_protocol_version=54460`.

    It frames what follows by the revision it finds in here: with 0, plain blocks.
    """
    columns = [
        ("displayName()", "String", _text(display_name)),
        ("version()", "String", _text(version)),
        ("revision()", "UInt32", revision.to_bytes(4, "little")),
        ("timezone()", "String", _text(timezone)),
    ]
    block = _BLOCK_INFO + varint(len(columns)) + varint(1)
    for name, kind, data in columns:
        block += _text(name) + _text(kind) + b"\x00" + data  # 0: no custom serialization
    return block


def varint(value: int) -> bytes:
    """An unsigned LEB128 number."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _text(text: str) -> bytes:
    encoded = text.encode("utf-8")
    return varint(len(encoded)) + encoded
