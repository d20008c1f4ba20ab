"""ClickHouse, embedded or a server, behind few verbs: the loader inserts through it, queries read through it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Protocol

from ..spool.segment import Record

if TYPE_CHECKING:  # the engine's process imports this package too, and has no settings
    from ..config.settings import Settings

Parameter = str | int | float | bool | Sequence[str] | Sequence[int] | None
Rows = list[dict[str, Any]]
Piece = bytes | memoryview


class Engine(Protocol):
    """Each verb is a promise; all may be called from any thread."""

    def migrate(self) -> None:
        """
        Apply the files of schema/ that are not yet recorded in `schema_migrations`, in order, each once.

        Raises:
            MigrationFailed: Files before the failing one stay applied.
        """

    def insert(self, records: Sequence[Record], token: str) -> None:
        """
        Store all records or none; inserting them again under the same token is harmless.

        A token must never be used again for other records: they would be dropped in silence.

        Raises:
            EngineUnavailable: Nothing is known to be stored; try again with the same token.
            InsertRefused: The data itself was refused.
        """

    def insert_rows(self, table: str, rows: bytes, token: str) -> None:
        """
        Store all rows or none; inserting them again under the same token is harmless, also behind views.

        `rows` are JSON objects, one a line (ClickHouse's JSONEachRow), a few MB at most, so that they are one block.
        `table` is a name in the code, never from outside. A token must never be used again for other rows.

        Raises:
            EngineUnavailable: Nothing is known to be stored; try again with the same token.
            InsertRefused: The data itself was refused.
        """

    def command(
        self,
        sql: str,
        parameters: Mapping[str, Parameter] | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        """
        Run one statement of ours that changes something: ALTER, INSERT … SELECT; never one from outside.

        `settings` are ClickHouse's and hold for this statement only; `once_settings` are for an INSERT … SELECT that
        is stored once however often it is tried.

        Raises:
            QueryFailed: ClickHouse refused it.
            EngineUnavailable: Nothing is known to be done.
        """

    def query(self, sql: str, parameters: Mapping[str, Parameter] | None = None) -> Rows:
        """
        Answer one SELECT; `{name:Type}` in it is bound from `parameters`, as a value, never as text.

        Integers keep all their bits; NaN comes as None; DateTime64 comes as text, so ask for toUnixTimestamp64Nano;
        bytes that are not UTF-8 come damaged, so ask for hex().

        Raises:
            QueryFailed: The query is wrong or over a limit.
            EngineUnavailable: No answer now.
        """

    def read(
        self,
        sql: str,
        format_name: str,
        *,
        name: str,
        settings: Mapping[str, str],
        summarize: Callable[[Mapping[str, int]], object] | None = None,
    ) -> bytes:
        """
        Answer one statement whole, as the bytes ClickHouse writes in that output format; no rows may be no bytes.

        For other people's statements, after the guard (guard.py) let them through: nothing is bound into `sql`, and it
        runs in a session of its own with `settings`, which are ClickHouse's, and then `readonly` = 1. Nothing of
        one read is left for the next. As many run at once as there are callers; the caller bounds them.

        Args:
            name: For `stop`; no other running read has it.
            summarize: Called with what the engine knows of `result_rows`, `read_rows` and `read_bytes`.

        Raises:
            QueryFailed: It is wrong or over a limit; the message has ClickHouse's text, `Code: N. DB::Exception: …`.
            EngineUnavailable: No answer now.
        """

    def stop(self, name: str) -> None:
        """
        End the read of that name: it soon raises QueryFailed, code 394. Without such a read nothing happens.

        Raises:
            EngineError: It cannot be ended; its time limit will.
        """

    def close(self) -> None:
        """Let go of the data directory; nothing works afterwards."""


def open_engine(settings: Settings, count: Callable[[str], object] | None = None) -> Engine:
    """
    Open the engine that the settings ask for: the server at `clickhouse`, or else the embedded one in `data`.

    Neither is waited for: the first verb is.

    Args:
        count: Called with `engine_restarts` when the embedded engine's process was started again, from any thread.

    Raises:
        SettingsRefused: What is said of the server cannot work.
        DirectoryInUse: Another process has the embedded one open.
    """
    if settings.clickhouse:
        from .client import ClientTls, address
        from .server import ServerEngine

        address(settings.clickhouse, settings.where("clickhouse", "--clickhouse"))
        files = ("clickhouse_ca", "clickhouse_certificate", "clickhouse_key")
        return ServerEngine(
            settings.clickhouse,
            user=settings.clickhouse_user,
            password=settings.read_clickhouse_password(),
            database=settings.database,
            timeout_s=settings.clickhouse_timeout_s,
            tls=ClientTls(
                settings.clickhouse_ca,
                settings.clickhouse_verify,
                settings.clickhouse_certificate,
                settings.clickhouse_key,
                ", ".join(settings.where(name) for name in files if getattr(settings, name) is not None),
            ),
            compression=settings.clickhouse_compression,
            insert_quorum=settings.clickhouse_insert_quorum,
            cluster=settings.cluster,
        )
    from .embedded import EmbeddedEngine

    where = settings.where("data", "--data")
    return EmbeddedEngine(settings.data / "chdb", settings.database, count, where)


# Shared by every engine: what an INSERT of spans needs, and the schema files.

SPANS_TABLE = "otlp_traces"
INSERT_FORMAT = "Protobuf"
ROWS_FORMAT = "JSONEachRow"
PROTO = files("walltime_collector.clickhouse") / "schema" / "otlp_traces.proto"
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


def schema_files() -> list[tuple[str, list[str]]]:
    """Name and statements of each schema file, in the order to apply them."""
    directory = files("walltime_collector.clickhouse") / "schema"
    found = sorted(entry.name for entry in directory.iterdir() if re.fullmatch(r"\d{3}_\w+\.sql", entry.name))
    return [(name, _statements((directory / name).read_text("utf-8"))) for name in found]


def _statements(sql: str) -> list[str]:
    return [statement for statement in re.split(r";[ \t]*(?:\n|$)", sql) if statement.strip()]


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
