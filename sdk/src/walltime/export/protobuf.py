"""
Protobuf's wire format, as much of it as OTLP's attributes need, written directly.

https://protobuf.dev/programming-guides/encoding/; field numbers are those of opentelemetry-proto
`common/v1/common.proto`. docs/decisions/001-otlp-by-hand.md says why.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Final, TypeAlias

from walltime import native

Value: TypeAlias = "str | bool | int | float | Sequence[str] | Sequence[int]"

MAX_TEXT_CHARS: Final = 4096

BYTES: Final = [bytes((n,)) for n in range(128)]
"""Each byte below 128; as a varint, the number itself."""


_MORE: Final = [bytes((n | 128,)) for n in range(128)]


def varint(n: int) -> bytes:
    """Encode 0 ≤ n < 2^64, 7 bits a byte, lowest first."""
    if n < 1 << 7:
        return BYTES[n]
    if n < 1 << 14:
        return _MORE[n & 127] + BYTES[n >> 7]
    if n < 1 << 21:
        return _MORE[n & 127] + _MORE[n >> 7 & 127] + BYTES[n >> 14]
    return _MORE[n & 127] + _MORE[n >> 7 & 127] + _MORE[n >> 14 & 127] + varint(n >> 21)


def block(tag: bytes, body: bytes) -> bytes:
    """A length-delimited field."""
    return tag + varint(len(body)) + body


def text(text: str) -> bytes:
    """The first characters, in UTF-8 whatever they are."""
    return text[:MAX_TEXT_CHARS].encode("utf-8", "replace")


@lru_cache(maxsize=4096)
def _key(key: str) -> bytes:
    """KeyValue.key = 1"""
    return block(b"\x0a", key[:255].encode("utf-8", "replace"))


@lru_cache(maxsize=64)
def _word_heads(key: str) -> tuple[bytes, ...]:
    return tuple([attribute(key, "x" * size)[:-size] for size in range(1, 100)])


def word(key: str, text: str) -> bytes:
    """`attribute` of a short text, half as dear."""
    encoded = text.encode("utf-8", "replace")
    return _word_heads(key)[len(encoded) - 1] + encoded if 0 < len(encoded) < 100 else attribute(key, text)


def _any(value: Value) -> bytes:
    """AnyValue: string 1, bool 2, int 3, double 4, array 5."""
    if isinstance(value, str):
        return block(b"\x0a", text(value))
    if isinstance(value, bool):
        return b"\x10\x01" if value else b"\x10\x00"
    if isinstance(value, int):
        return b"\x18" + varint(min(max(value, -(1 << 63)), (1 << 63) - 1) & ((1 << 64) - 1))
    if isinstance(value, float):
        return b"\x21" + struct.pack("<d", value)
    return block(b"\x2a", b"".join([block(b"\x0a", _any(item)) for item in value]))


def attribute(key: str, value: Value) -> bytes:
    """Span.attributes = 9, KeyValue.value = 2"""
    body = _key(key) + block(b"\x12", _any(value))
    return b"\x4a" + varint(len(body)) + body


@lru_cache(maxsize=4096)
def _count_heads(key: str) -> tuple[bytes, ...]:
    """An attribute up to the varint of its integer, by the varint's size."""
    bodies = [_key(key) + b"\x12" + BYTES[1 + size] + b"\x18" for size in range(11)]
    return tuple(b"\x4a" + varint(len(body) + size) + body for size, body in enumerate(bodies))


@native.faster
def count(key: str, n: int) -> bytes:
    """`attribute` of an integer from 0 to 2^63 - 1, to which others are cut, three times as fast."""
    value = b"\0" if n <= 0 else varint(n) if n < 1 << 63 else _MAX_INT64
    return _count_heads(key)[len(value)] + value


@native.faster
def counts(key: str, numbers: Sequence[int]) -> bytes:
    """`attribute` of integers from 0 to 2^63 - 1, to which others are cut."""
    values = [b"\0" if n <= 0 else varint(n) if n < 1 << 63 else _MAX_INT64 for n in numbers]
    array = b"".join([_ITEM[len(value)] + value for value in values])
    body = _key(key) + block(b"\x12", block(b"\x2a", array))
    return b"\x4a" + varint(len(body)) + body


_MAX_INT64: Final = varint((1 << 63) - 1)
_ITEM: Final = [b"\x0a" + BYTES[1 + size] + b"\x18" for size in range(11)]
"""ArrayValue.values = 1 with an AnyValue.int_value = 3 up to its varint, by the varint's size."""


few = lru_cache(maxsize=4096)(attribute)
"""`attribute` for values that are the same in most transactions: names, addresses, small counts."""


def plain(value: object) -> Value:
    """Return the value if it is one; another object's class, for its `__str__` may be slow or fail."""
    return value if isinstance(value, (str, bool, int, float)) else f"({type(value).__name__})"


def resource_attribute(key: str, value: object) -> bytes:
    """Resource.attributes = 1"""
    return block(b"\x0a", _key(key) + block(b"\x12", _any(plain(value))))


def scope_attribute(key: str, value: int) -> bytes:
    """InstrumentationScope.attributes = 3"""
    return block(b"\x1a", _key(key) + block(b"\x12", _any(value)))


def fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """
    Yield the fields of a message: number, and an int or the bytes.

    Raises:
        ValueError, IndexError: it is no message.
    """
    at, end = 0, len(message)
    while at < end:
        tag, at = _read_varint(message, at)
        kind = tag & 7
        if kind == 0:
            number, at = _read_varint(message, at)
            yield tag >> 3, number
            continue
        size = _FIXED.get(kind, -1)
        if kind == 2:
            size, at = _read_varint(message, at)
        if not 0 <= size <= end - at:
            raise ValueError(f"no protobuf at byte {at}")
        field = message[at : at + size]
        yield tag >> 3, field if kind == 2 else int.from_bytes(field, "little")
        at += size


_FIXED: Final = {1: 8, 5: 4}


def _read_varint(message: bytes, at: int) -> tuple[int, int]:
    number = 0
    for shift in range(0, 70, 7):
        byte = message[at]
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, at
    raise ValueError(f"no protobuf at byte {at}")
