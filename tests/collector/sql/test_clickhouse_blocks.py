"""ClickHouse's own compression of bodies, against clickhouse-driver's framing and blocks that Go's client wrote."""

from __future__ import annotations

import lz4.block
import pytest
from hypothesis import given
from hypothesis import strategies as st
from walltime_collector.sql.clickhouse_http import blocks

from tests.collector.sql.driver_blocks import framed_by_driver, opened_by_driver

MAX_BYTES = 16 * 1024 * 1024
METHODS: list[blocks.Method] = ["none", "lz4", "zstd"]

TEXT = b"where the wall time went " * 4
BY_GO = {
    "lz4": "bc8e37668878facc258c7480100e89dd823600000064000000ff0a7768657265207468652077616c6c2074696d652077656e742019"
    "0029004b00b02074696d652077656e7420",
    "zstd": "3e26adef52b97f319fba052f330d065f90380000006400000028b52ffd040015010094017768657265207468652077616c6c2074"
    "696d652077656e742001541404282107dc40d33e",
    "none": "3d54e1b0d83af4ff864f5c06e3a0a6bd026d000000640000007768657265207468652077616c6c2074696d652077656e742077686"
    "57265207468652077616c6c2074696d652077656e74207768657265207468652077616c6c2074696d652077656e74207768657265207468652"
    "077616c6c2074696d652077656e7420",
}
"""TEXT, as ch-go 0.74 under clickhouse-go 2.50 frames it."""


@pytest.mark.parametrize("method", METHODS)
def test_blocks_of_gos_client_are_read(method: str) -> None:
    assert blocks.decompress(bytes.fromhex(BY_GO[method]), MAX_BYTES) == TEXT


def test_blocks_without_compression_are_gos_to_the_byte() -> None:
    assert blocks.compress(TEXT, "none").hex() == BY_GO["none"]


@pytest.mark.parametrize("size", [0, 1, 100, 1_048_576, 1_048_577, 5_000_000])
def test_clickhouse_driver_reads_what_is_written(size: int) -> None:
    content = (TEXT * (size // len(TEXT) + 1))[:size]
    assert opened_by_driver(blocks.compress(content)) == content
    assert opened_by_driver(blocks.readable(content)) == content


@given(st.binary(min_size=1, max_size=3_000))
def test_what_clickhouse_driver_writes_is_read(content: bytes) -> None:
    assert blocks.decompress(framed_by_driver(content), MAX_BYTES) == content


@given(st.binary(max_size=3_000), st.sampled_from(METHODS))
def test_what_is_written_is_read(content: bytes, method: blocks.Method) -> None:
    assert blocks.decompress(blocks.compress(content, method), MAX_BYTES) == content


@given(st.binary(max_size=1_200))
def test_the_text_of_an_error_stands_in_its_blocks_as_it_is(text: bytes) -> None:
    body = blocks.readable(text)
    assert text in body
    assert blocks.decompress(body, MAX_BYTES) == text


@given(st.integers(min_value=0), st.integers(min_value=1, max_value=255))
def test_a_damaged_byte_is_detected(at: int, change: int) -> None:
    body = bytearray(blocks.compress(TEXT))
    body[at % len(body)] ^= change
    with pytest.raises(blocks.BadBlocks):
        blocks.decompress(bytes(body), MAX_BYTES)


@given(st.integers(min_value=0), st.sampled_from(METHODS))
def test_a_body_that_ends_early_is_detected(kept: int, method: blocks.Method) -> None:
    body = blocks.compress(TEXT, method)
    with pytest.raises(blocks.BadBlocks, match="ends early"):
        blocks.decompress(body[: kept % (len(body) - 1) + 1], MAX_BYTES)


@given(st.binary(max_size=200))
def test_any_bytes_are_refused_or_read(body: bytes) -> None:
    if body:
        with pytest.raises(blocks.BadBlocks):
            blocks.decompress(body, MAX_BYTES)


@pytest.mark.parametrize("method", METHODS)
def test_more_content_than_may_be_is_refused(method: blocks.Method) -> None:
    with pytest.raises(blocks.BadBlocks, match="larger than 1000 bytes"):
        blocks.decompress(blocks.compress(bytes(1_001), method), 1_000)
    with pytest.raises(blocks.BadBlocks, match="larger than 1000 bytes"):
        blocks.decompress(blocks.compress(bytes(600), method) * 2, 1_000)


def test_a_size_in_the_header_is_not_believed() -> None:
    data = lz4.block.compress(bytes(1_000_000), store_size=False)
    for claimed in (10, 1_000_001, 2_000_000):
        with pytest.raises(blocks.BadBlocks):
            blocks.decompress(blocks._framed(0x82, data, claimed), MAX_BYTES)
    with pytest.raises(blocks.BadBlocks, match="method 0x95"):
        blocks.decompress(blocks._framed(0x95, data, 1), MAX_BYTES)
