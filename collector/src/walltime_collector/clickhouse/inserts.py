"""What an INSERT needs, whichever engine runs it: its settings, and spans as rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.resources import files

from ..spool.segment import Record
from ..varint import varint
from .engine import Piece

PROTO = files(__package__) / "schema" / "otlp_traces.proto"
_RECEIVED_AT_TAG = b"\x81\xfa\x01"  # field 4000, fixed64: see schema/otlp_traces.proto


def insert_settings(token: str) -> dict[str, str]:
    """Settings of one INSERT of spans, beside the place of PROTO."""
    return {
        "format_schema_message_name": "Request",
        "input_format_protobuf_oneof_presence": "1",
        "output_format_json_escape_forward_slashes": "0",  # arrays become JSON text in the views
        # optimizations that take longer than all the rest of a small INSERT, and find nothing in our views
        "optimize_and_compare_chain": "0",
        "query_plan_enable_optimizations": "0",
        **once_settings(token),
    }


def once_settings(token: str) -> dict[str, str]:
    """Settings of an INSERT that stores its rows once, however often it is repeated."""
    return {
        "insert_deduplicate": "1",
        "insert_deduplication_token": token,
        "deduplicate_blocks_in_dependent_materialized_views": "1",
        # one block, one part, one thread: a repetition must be cut into the same blocks for its token to match
        "async_insert": "0",
        "max_insert_threads": "1",
        "max_threads": "1",
        "input_format_parallel_parsing": "0",
    }


def protobuf_rows(records: Sequence[Record]) -> Iterator[Piece]:
    """
    The records as rows of ClickHouse's Protobuf format: length, message.

    The time of receipt is appended to each message as one more field, which protobuf's wire format allows.
    """
    for record in records:
        yield varint(len(record.payload) + len(_RECEIVED_AT_TAG) + 8)
        yield record.payload
        yield _RECEIVED_AT_TAG + record.received_at_ns.to_bytes(8, "little")
