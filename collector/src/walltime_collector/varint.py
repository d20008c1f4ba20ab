"""Variable-length integers, as protobuf and ClickHouse's Native format write them."""

from __future__ import annotations


def varint(value: int) -> bytes:
    """An unsigned LEB128 number."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
