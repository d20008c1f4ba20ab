"""
Protobuf's wire format, as much of it as OTLP's attributes need, written directly.

https://protobuf.dev/programming-guides/encoding/; field numbers are those of opentelemetry-proto
`common/v1/common.proto`. docs/decisions/001-otlp-by-hand.md says why.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

Value: TypeAlias = "str | bool | int | float | Sequence[str] | Sequence[int]"

MAX_TEXT_CHARS: Final = 4096

BYTES: Final = [bytes((n,)) for n in range(128)]
"""Each byte below 128; as a varint, the number itself."""


_FOUR: Final = struct.Struct("<I").pack
_MORE: Final = [bytes((n | 128,)) for n in range(128)]


def varint(n: int) -> bytes:
    """Encode 0 ≤ n < 2^64, 7 bits a byte, lowest first."""
    if n < 1 << 7:
        return BYTES[n]
    if n < 1 << 14:
        return _MORE[n & 127] + BYTES[n >> 7]
    if n < 1 << 28:
        # The groups are moved apart by halves, as in `varints`: two thirds of the price of picking them one by one.
        n = n & 0x3FFF | (n & 0xFFFC000) << 2
        n = n & 0x7F007F | (n & 0x3F803F80) << 1
        return _FOUR(n | 0x808080) if n >= 1 << 24 else _FOUR(n | 0x8080)[:3]
    return bytes((n & 127 | 128, n >> 7 & 127 | 128, n >> 14 & 127 | 128, n >> 21 & 127 | 128)) + varint(n >> 28)


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
def heads(key: str) -> tuple[bytes, ...]:
    """An attribute up to the varint of its integer, by the varint's size; with it, the attribute is their sum."""
    bodies = [_key(key) + b"\x12" + BYTES[1 + size] + b"\x18" for size in range(11)]
    return tuple(b"\x4a" + varint(len(body) + size) + body for size, body in enumerate(bodies))


def count(key: str, n: int) -> bytes:
    """`attribute` of an integer ≥ 0, three times as fast."""
    value = varint(n)
    return heads(key)[len(value)] + value


def array_heads(key: str, size: int, width: int) -> list[bytes]:
    """`heads` of an attribute that is an array of so many integers: what stands before each of them, at this width."""
    item = b"\x0a" + BYTES[1 + width] + b"\x18"
    length = size * (len(item) + width)
    array = b"\x2a" + varint(length)
    value = b"\x12" + varint(len(array) + length) + array
    name = _key(key)
    first = b"\x4a" + varint(len(name) + len(value) + length) + name + value + item
    return [first, *[item] * (size - 1)] if size else []


# ---- many integers at once ----


MAX_OF_VARINTS: Final = (1 << 56) - 1
"""The greatest number that `varints` writes; as nanoseconds two years."""


def width_of(greatest: int) -> int:
    """Return in how many bytes `varints` is to write numbers up to this one."""
    return 4 if greatest < 1 << 28 else 5 if greatest < 1 << 35 else 8


def varints(numbers: Sequence[int], width: int) -> tuple[bytes, ...]:
    """
    Encode each number in `width` bytes, as 0 ≤ n < 2^(7 × width); the format allows more bytes than a number needs.

    All are lanes of one large integer, in which their groups of 7 bits are moved apart: thirty numbers cost what ten
    cost one by one.
    """
    pack, steps, more, unpack = _lanes(len(numbers), width)
    try:
        packed = pack(*numbers)
    except struct.error:  # negative, as a driver says of what it does not know
        packed = pack(*[min(max(0, n), (1 << 7 * width) - 1) for n in numbers])
    lanes = int.from_bytes(packed, "little")
    for stays, moves, by in steps:
        lanes = lanes & stays | (lanes & moves) << by
    return unpack((lanes | more).to_bytes(len(packed), "little"))


class _Lanes(NamedTuple):
    pack: Callable[..., bytes]
    steps: list[tuple[int, int, int]]
    """Which bits stay where they are, which move up, and how far: the upper half of a lane, then that of each half."""
    more: int
    """The bit that says that a number goes on, in every byte but its last."""
    unpack: Callable[[bytes], tuple[bytes, ...]]


@lru_cache(maxsize=128)
def _lanes(size: int, width: int) -> _Lanes:
    lane_bytes = 4 if width == 4 else 8
    one = int.from_bytes(b"\x01".ljust(lane_bytes, b"\0") * size, "little")
    steps = []
    for bits in (28, 14, 7):
        if bits < 8 * lane_bytes // 2:
            # Two halves of so many bits become two of 8, 16 or 32.
            room = bits * 8 // 7
            low = sum(((1 << bits) - 1) << at for at in range(0, 8 * lane_bytes, 2 * room))
            steps.append((one * low, one * (low << bits), room - bits))
    more = one * int.from_bytes(b"\x80" * (width - 1), "little")
    unpack = struct.Struct(f"{width}s{lane_bytes - width}x" * size).unpack
    return _Lanes(struct.Struct(f"<{size}{'I' if lane_bytes == 4 else 'Q'}").pack, steps, more, unpack)


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
