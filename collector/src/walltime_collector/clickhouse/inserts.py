"""What an INSERT of spans needs, whichever engine runs it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.resources import files

from ..spool.segment import Record
from .engine import Piece

SPANS_TABLE = "otlp_traces"
INSERT_FORMAT = "Protobuf"
ROWS_FORMAT = "JSONEachRow"
PROTO = files(__package__) / "schema" / "otlp_traces.proto"
_RECEIVED_AT_TAG = b"\x81\xfa\x01"  # field 4000, fixed64: see schema/otlp_traces.proto


def insert_settings(token: str) -> dict[str, str]:
    """Settings of one INSERT of spans, beside where PROTO is: how to read it, and how never to store it twice."""
    return {
        "format_schema_message_name": "Request",
        "input_format_protobuf_oneof_presence": "1",
        "output_format_json_escape_forward_slashes": "0",  # arrays become JSON text in the views
        **once_settings(token),
    }


def once_settings(token: str) -> dict[str, str]:
    """Settings of any INSERT that is to be stored once however often it is tried."""
    return {
        "insert_deduplicate": "1",
        "insert_deduplication_token": token,
        "deduplicate_blocks_in_dependent_materialized_views": "1",
        # one block, one part, one thread: what the token stands for must be cut the same way every time
        "async_insert": "0",
        "max_insert_threads": "1",
        "max_threads": "1",
        "input_format_parallel_parsing": "0",
    }


def protobuf_rows(records: Sequence[Record]) -> Iterator[Piece]:
    """
    The records as rows of ClickHouse's Protobuf format: length, message.

    A message's time of receipt is appended to it as one more field; that is what protobuf's wire format is made for.
    """
    for record in records:
        yield _varint(len(record.payload) + len(_RECEIVED_AT_TAG) + 8)
        yield record.payload
        yield _RECEIVED_AT_TAG + record.received_at_ns.to_bytes(8, "little")


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
