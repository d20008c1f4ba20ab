"""Requests as protobuf allows them and no SDK writes them: other types, other encodings, and the same field twice."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from walltime_collector.receive.messages import TRACES
from walltime_collector.varint import varint

from tests.collector.receive.taken import field

OVERLONG = b"\x80" * 9 + b"\x00"
"""A zero in ten bytes."""
NUMBERS = (0, 1, 2, 5, 127, 128, 2**31 - 1, 2**31, 2**32 + 2, 2**40, 2**63, 2**64 - 1, 2**64 - 2**31 - 1, 2**64 - 2**40)


def number(tag: int, value: int | bytes) -> bytes:
    return varint(tag << 3) + (value if isinstance(value, bytes) else varint(value))


def fixed(tag: int, size: int) -> bytes:
    return varint(tag << 3 | (1 if size == 8 else 5)) + b"\x01" + bytes(size - 1)


def group(tag: int, content: bytes = b"") -> bytes:
    return varint(tag << 3 | 3) + content + varint(tag << 3 | 4)


def message(tag: int, content: bytes) -> bytes:
    return varint(tag << 3 | 2) + varint(len(content)) + content


def span(more: bytes = b"") -> bytes:
    now = time.time_ns().to_bytes(8, "little")
    return field(1, os.urandom(16)) + field(2, os.urandom(8)) + field(5, b"odd") + b"\x39" + now + b"\x41" + now + more


def request(more: bytes = b"", *, scope: bytes = b"", resource: bytes = b"", root: bytes = b"") -> bytes:
    return field(1, resource + field(2, scope + field(2, span(more)))) + root


def value(content: bytes) -> bytes:
    return field(9, field(1, b"key") + field(2, content))


OTHER_TYPES = {
    "root": number(1, 1) + request(),
    "received_at": request(root=number(4000, 1)),
    "resource": request(resource=number(1, 1)),
    "scope": request(scope=fixed(1, 8)),
    "scope name": request(scope=field(1, number(1, 1))),
    "scope attribute": request(scope=field(1, field(3, field(1, b"k") + field(2, field(3, b"x"))))),
    "trace_id": request(number(1, 5)),
    "name": request(number(5, 5)),
    "name in 8 bytes": request(fixed(5, 8)),
    "name in a group": request(group(5)),
    "kind in a list": request(field(6, b"\x02")),
    "kind in an empty list": request(field(6, b"")),
    "kind in 4 bytes": request(fixed(6, 4)),
    "start as a varint": request(number(7, 5)),
    "start in 4 bytes": request(fixed(7, 4)),
    "start as a string": request(field(7, bytes(4))),
    "attribute": request(number(9, 5)),
    "attribute's key": request(field(9, number(1, 5))),
    "value": request(field(9, number(2, 5))),
    "double": request(value(number(4, 1))),
    "list": request(value(fixed(5, 8))),
    "element": request(value(field(5, number(1, 1)))),
    "entry": request(value(field(6, field(1, number(2, 1))))),
    "event": request(fixed(11, 4)),
    "event's time": request(field(11, number(1, 1))),
    "link's id": request(field(13, number(1, 1))),
    "status": request(number(15, 1)),
    "status code": request(field(15, field(3, b"x"))),
    "old spans": message(1, message(1000, field(2, span()))) + request(),
    "field 0": request(root=b"\x00\x01"),
    "wire type 6": request(root=b"\x1e"),
    "wire type 7": request(root=b"\x1f"),
    "end of a group": request(root=b"\x0c"),
    "length over the end": request(b"\x2a\x7fx"),
    "length in ten bytes": request(b"\x2a\x81" + b"\x80" * 8 + b"\x00x"),
}
"""These are refused."""

OTHER_ENCODINGS = {
    **{f"kind {each}": request(number(6, each)) for each in NUMBERS},
    **{f"status code {each}": request(field(15, number(3, each))) for each in NUMBERS},
    **{f"bool {each}": request(value(number(2, each))) for each in NUMBERS},
    **{f"integer {each}": request(value(number(3, each))) for each in NUMBERS},
    "kind in ten bytes": request(number(6, OVERLONG)),
    "integer in ten bytes": request(value(number(3, OVERLONG))),
    "length in three bytes": request(b"\x2a\x81\x80\x00x"),
    "tag in three bytes": request(b"\xaa\x80\x00\x01x"),
    "flags": request(fixed(16, 4)),
    "count in ten bytes": request(number(10, OVERLONG)),
    "unknown number": request(root=number(99, 5)),
    "unknown number in ten bytes": request(root=number(99, OVERLONG)),
    "unknown number in ten bytes, in a value": request(value(field(1, b"s") + number(99, OVERLONG))),
    "unknown group": request(root=group(99)),
    "unknown group with content": request(root=group(99, number(1, 1))),
    "two members of a value": request(value(field(1, b"s") + number(3, 5))),
    "one member twice": request(value(number(3, 4) + number(3, 5))),
    "value twice": request(field(9, field(1, b"k") + field(2, field(1, b"s")) + field(2, number(3, 7)))),
    "list twice": request(value(field(5, field(1, field(1, b"a"))) * 2)),
    "two members of an element": request(value(field(5, field(1, field(1, b"s") + number(3, 5))))),
    "two members of an entry": request(value(field(6, field(1, field(1, b"k") + field(2, field(1, b"s") * 2))))),
    "list in a list, twice": request(value(field(5, field(1, field(5, field(1, field(1, b"x"))) * 2)))),
    "name twice": request(field(5, b"last")),
    "status twice": request(field(15, number(3, 2)) + field(15, field(2, b"m"))),
    "resource twice": request(resource=field(1, field(1, field(1, b"k") + field(2, field(1, b"x")))) * 2),
    "scope twice": request(scope=field(1, field(1, b"x")) * 2),
    "scope attribute of a string": request(scope=field(1, field(3, field(1, b"k") + field(2, field(1, b"x"))))),
    "no UTF-8": request(field(5, b"\xff\xfe")),
    "zeros that are written": request(number(6, 0) + field(3, b"") + field(15, number(3, 0) + field(2, b""))),
    "empty messages": request(field(9, b"") + field(11, b"") + field(13, b"") + field(15, b"")),
    "received_at": request(root=fixed(4000, 8)),
}
"""These are stored."""


def at_random(seed: int, count: int) -> Iterator[bytes]:
    """Requests of fields that fit, more or less."""
    chance = random.Random(seed)
    for _ in range(count):
        body = bytearray(request(_fields(TRACES["Span"].DESCRIPTOR, chance), resource=_fields(_RESOURCE, chance)))
        if chance.random() < 0.2:
            body[chance.randrange(len(body))] = chance.randrange(256)
        yield bytes(body)


_RESOURCE = TRACES["ResourceSpans"].DESCRIPTOR


def _fields(type_: Descriptor, chance: random.Random) -> bytes:
    chosen = [chance.choice(type_.fields) for _ in range(chance.choice((0, 1, 1, 2, 3)))]
    content = b"".join(_field(each, chance) for each in chosen)
    if chance.random() < 0.05:
        content += chance.choice(
            [number(99, OVERLONG), group(98), group(97, number(1, 5)), fixed(96, 4), number(95, 1)]
        )
    return content


def _field(of: FieldDescriptor, chance: random.Random) -> bytes:
    tag = of.number
    if chance.random() < 0.01:
        return chance.choice([number(tag, 5), fixed(tag, 4), fixed(tag, 8), field(tag, b""), group(tag)])
    if of.message_type is not None:
        return message(tag, _fields(of.message_type, chance))
    if of.cpp_type == of.CPPTYPE_STRING:
        return message(tag, chance.randbytes(chance.choice((0, 1, 8, 16))))
    if of.type in (of.TYPE_FIXED64, of.TYPE_DOUBLE):
        return fixed(tag, 8)
    return number(tag, OVERLONG if chance.random() < 0.05 else chance.choice(NUMBERS))
