"""Blocks as clickhouse-driver writes and reads them."""

from __future__ import annotations

from io import BytesIO
from types import SimpleNamespace

from clickhouse_driver.bufferedreader import BufferedReader
from clickhouse_driver.compression import get_compressor_cls
from clickhouse_driver.streams.compressed import CompressedBlockInputStream, CompressedBlockOutputStream


class Source(BufferedReader):  # type: ignore[misc]  # it has no types
    """What clickhouse-driver reads a connection with, over bytes."""

    def __init__(self, content: bytes) -> None:
        self._source = BytesIO(content)
        super().__init__(64 * 1024)

    def read_into_buffer(self) -> None:
        content = self._source.read(64 * 1024)
        self.buffer, self.current_buffer_size = bytearray(content), len(content)
        if not content:
            raise EOFError


def opened_by_driver(body: bytes) -> bytes:
    """The content of a body in blocks, as clickhouse-driver reads them; it checks each checksum."""
    stream = CompressedBlockInputStream(Source(body), SimpleNamespace())
    content = b""
    while True:
        try:
            content += stream.read_block()
        except EOFError:
            return content


def framed_by_driver(content: bytes) -> bytes:
    """One block of LZ4, as clickhouse-driver writes it."""
    sink = BytesIO()
    stream = CompressedBlockOutputStream(get_compressor_cls("lz4"), 1024 * 1024, sink, SimpleNamespace())
    stream.fout.write(content)
    stream.finalize()
    return sink.getvalue()
