"""The CPU of decompression grows with the size of a body and no faster, whatever the body is made of."""

from __future__ import annotations

import contextlib
import gzip
import time
import zlib
from collections.abc import Callable

import cramjam
import pytest
from backports import zstd
from walltime_collector.errors import RequestRefused
from walltime_collector.http.decompress import decompress
from walltime_collector.sql.clickhouse_http import blocks

MIB = 1024 * 1024
Body = Callable[[int], bytes]
EMPTY_BLOCK = b"\x00\x00\x00\xff\xff"
SKIPPED = b"\x50\x2a\x4d\x18\x00\x00\x00\x00"
SNAPPY = b"\xff\x06\x00\x00sNaPpY"


def repeated(part: bytes, before: bytes = b"", after: bytes = b"") -> Body:
    return lambda size: before + part * (size // len(part)) + after


BODIES: dict[str, tuple[str, Body]] = {
    "gzip, empty members": ("gzip", repeated(gzip.compress(b""))),
    "gzip, small members": ("gzip", repeated(gzip.compress(b"x"))),
    "gzip, rubbish behind": ("gzip", repeated(b"x", gzip.compress(b"a"))),
    "gzip, no output": ("gzip", repeated(EMPTY_BLOCK, gzip.compress(b"")[:10])),
    "gzip, a long name": ("gzip", repeated(b"x", b"\x1f\x8b\x08\x08" + bytes(6))),
    "zlib, empty members": ("zlib", repeated(zlib.compress(b""))),
    "zlib, no output": ("zlib", repeated(EMPTY_BLOCK, b"\x78\x9c")),
    "deflate, empty members": ("deflate", repeated(b"\x03\x00")),
    "deflate, no output": ("deflate", repeated(EMPTY_BLOCK)),
    "zstd, empty frames": ("zstd", repeated(zstd.compress(b""))),
    "zstd, skipped frames": ("zstd", repeated(SKIPPED)),
    "zstd, empty blocks": ("zstd", repeated(bytes(3), zstd.compress(b"")[:6])),
    "snappy, empty chunks": ("snappy", repeated(b"\xfe\x00\x00\x00", SNAPPY)),
    "snappy, beginnings": ("snappy", repeated(SNAPPY)),
    "snappy, one block": ("snappy", repeated(b"\x00x")),
    "lz4, empty frames": ("lz4", repeated(bytes(cramjam.lz4.compress(b"")))),
    "lz4, skipped frames": ("lz4", repeated(SKIPPED)),
    "rubbish": ("gzip", repeated(b"\xff")),
}


def cpu_s(work: Callable[[], object]) -> float:
    """The least of three runs."""
    runs = []
    for _ in range(3):
        before_s = time.process_time()
        with contextlib.suppress(RequestRefused):
            work()
        runs.append(time.process_time() - before_s)
    return min(runs)


@pytest.mark.parametrize("name", BODIES)
def test_a_body_of_eight_times_the_size_takes_no_more_than_eight_times_the_cpu(name: str) -> None:
    encoding, body = BODIES[name]
    small, large = body(MIB // 2), body(4 * MIB)
    small_s = cpu_s(lambda: decompress(small, encoding.encode(), MIB))
    large_s = cpu_s(lambda: decompress(large, encoding.encode(), MIB))
    assert large_s < 8 * 4 * max(small_s, 0.000_5)


def test_blocks_of_clickhouse_without_content_are_limited() -> None:
    empty = blocks.compress(b"x")
    assert blocks.decompress(empty * 200, MIB) == b"x" * 200
    with pytest.raises(blocks.BadBlocks, match="more than 256 blocks"):
        blocks.decompress(empty * 20_000, MIB)


@pytest.mark.parametrize(
    ("encoding", "member"),
    [
        ("gzip", gzip.compress(b"x")),
        ("gzip", gzip.compress(b"")),
        ("zlib", zlib.compress(b"x")),
        ("deflate", zlib.compress(b"")),
        ("zstd", zstd.compress(b"x")),
        ("zstd", SKIPPED),
    ],
    ids=["gzip", "gzip, empty", "zlib", "deflate, empty", "zstd", "zstd, skipped"],  # gzip has the time
)
def test_a_body_has_a_few_members_and_not_many(encoding: str, member: bytes) -> None:
    decompress(member * 20, encoding.encode(), MIB)
    with pytest.raises(RequestRefused, match="members; compress it in one") as refused:
        decompress(member * 33, encoding.encode(), MIB)
    assert refused.value.status == 400
