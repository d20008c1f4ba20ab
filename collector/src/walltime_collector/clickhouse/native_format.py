"""Writes the few blocks of ClickHouse's Native format that the engine does not write for the collector."""

from __future__ import annotations

from collections.abc import Sequence

from ..varint import varint

_BLOCK_INFO = b"\x01\x00\x02\xff\xff\xff\xff\x00"  # 1: no overflow rows, 2: bucket −1, 0: no more fields


def header(columns: Sequence[tuple[str, str]]) -> bytes:
    """A block without rows; columns are pairs of name and type."""
    return varint(len(columns)) + varint(0) + b"".join(_text(name) + _text(type_name) for name, type_name in columns)


def greeting(display_name: str, version: str, revision: int, timezone: str) -> bytes:
    """
    The answer to clickhouse-go's first query, in the layout it expects after `client_protocol_version=54460`.

    The client reads all later answers by the revision in here: with 0, plain blocks.
    """
    columns = [
        ("displayName()", "String", _text(display_name)),
        ("version()", "String", _text(version)),
        ("revision()", "UInt32", revision.to_bytes(4, "little")),
        ("timezone()", "String", _text(timezone)),
    ]
    block = _BLOCK_INFO + varint(len(columns)) + varint(1)
    for name, type_name, data in columns:
        block += _text(name) + _text(type_name) + b"\x00" + data  # 0: no custom serialization
    return block


def _text(text: str) -> bytes:
    encoded = text.encode("utf-8")
    return varint(len(encoded)) + encoded
