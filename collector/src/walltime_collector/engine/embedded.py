"""The engine inside the process: chDB, which is ClickHouse as a library; one process owns its directory."""

from __future__ import annotations

import json
import queue
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import chdb

from ..directory import Ownership
from ..errors import EngineUnavailable, InsertRefused, MigrationFailed, QueryFailed
from ..spool.segment import Record
from . import (
    INSERT_FORMAT,
    INSERT_SPANS,
    PROTO,
    ROWS_FORMAT,
    Parameter,
    Rows,
    insert_settings,
    once_settings,
    protobuf_rows,
    schema_files,
)
from .parameters import as_text

QUERY_CONNECTIONS = 3

_QUERY_LIMITS = {
    "max_execution_time": "30",
    "max_memory_usage": str(1024 * 1024 * 1024),
    "max_result_rows": "1000000",
    "max_result_bytes": str(64 * 1024 * 1024),
    "result_overflow_mode": "throw",
    "max_query_size": "262144",
    "output_format_json_quote_64bit_integers": "0",
    "output_format_json_quote_denormals": "0",
    "output_format_json_validate_utf8": "1",
    "readonly": "1",  # the last one: nothing can be set after it
}

# ClickHouse's codes that speak of the bytes we sent: cannot parse, read after the end, out of bounds, incorrect data,
# too large, sizes differ, bad cast. Whatever is not here is tried again, for ever: to take a full disk for bad data
# would lose good data.
_REFUSED_DATA = frozenset({6, 27, 32, 33, 69, 70, 117, 128, 131, 190, 321, 407, 436, 444})
_CODE = re.compile(r"Code: (\d+)")


class EmbeddedEngine:
    """
    An Engine (see there for its promises) in a directory of its own.

    A forked child must not use it: fork before opening, never after.

    Raises:
        DirectoryInUse: Another process has it open.
        EngineUnavailable: chDB does not open it.
    """

    def __init__(self, directory: Path, database: str) -> None:
        self._ownership = Ownership(directory)
        self._path = str(directory / "data")
        self._connections: list[Any] = []
        self._insert_lock = threading.Lock()
        self._idle: queue.LifoQueue[Any] = queue.LifoQueue()
        try:
            self._writer = self._connect()
            self._writer.query("CREATE DATABASE IF NOT EXISTS {name:Identifier}", params={"name": database})
            self._use(self._writer, database)
            for _ in range(QUERY_CONNECTIONS):
                reader = self._connect()
                self._use(reader, database)
                _set(reader, _QUERY_LIMITS)
                self._idle.put(reader)
        except RuntimeError as error:
            self.close()
            raise EngineUnavailable(
                f"{directory}: the embedded database does not open: {_first_line(error)}"
            ) from error

    def migrate(self) -> None:
        """See Engine."""
        with self._insert_lock:
            self._writer.query(
                "CREATE TABLE IF NOT EXISTS schema_migrations (name String, applied_at DateTime DEFAULT now())"
                " ENGINE = MergeTree ORDER BY name"
            )
            applied = _rows(self._writer.query("SELECT name FROM schema_migrations", "JSONCompact"))
            for name, statements in schema_files():
                if {"name": name} in applied:
                    continue
                try:
                    for statement in statements:
                        self._writer.query(statement)
                    self._writer.query(
                        "INSERT INTO schema_migrations (name) SELECT {name:String}", params={"name": as_text(name)}
                    )
                except RuntimeError as error:
                    raise MigrationFailed(
                        f"schema/{name}: {_first_line(error)}; files before it are applied, the data is untouched"
                    ) from error

    def insert(self, records: Sequence[Record], token: str) -> None:
        """See Engine."""
        # from the file: chDB writes a schema sent as text into __cache__ of the working directory
        settings = {"format_schema": str(PROTO), **insert_settings(token)}
        self._insert(INSERT_SPANS, INSERT_FORMAT, settings, b"".join(protobuf_rows(records)), token)

    def insert_rows(self, table: str, rows: bytes, token: str) -> None:
        """See Engine."""
        self._insert(f"INSERT INTO {table}", ROWS_FORMAT, once_settings(token), rows, token)

    def query(self, sql: str, parameters: Mapping[str, Parameter] | None = None) -> Rows:
        """See Engine."""
        bound = {name: as_text(value) for name, value in (parameters or {}).items()}
        with self._reader() as reader:
            try:
                return _rows(reader.query(sql, "JSONCompact", params=bound))
            except RuntimeError as error:
                raise QueryFailed(_first_line(error)) from error

    def close(self) -> None:
        """See Engine."""
        with self._insert_lock:
            connections, self._connections = self._connections, []
            for connection in connections:
                connection.close()
            self._ownership.release()

    def _insert(self, statement: str, format_name: str, settings: Mapping[str, str], data: bytes, token: str) -> None:
        with self._insert_lock:
            try:
                _set(self._writer, settings)
                with self._writer.send_insert(statement, format_name) as stream:
                    stream.append(data)
                    stream.finish()
            except RuntimeError as error:
                message = f"insert {token}: {_first_line(error)}"
                if _code(error) in _REFUSED_DATA:
                    raise InsertRefused(message) from error
                raise EngineUnavailable(message) from error

    def _connect(self) -> Any:
        connection = chdb.connect(self._path)  # type: ignore[no-untyped-call]
        self._connections.append(connection)
        return connection

    @staticmethod
    def _use(connection: Any, database: str) -> None:
        connection.query("USE {name:Identifier}", params={"name": database})

    @contextmanager
    def _reader(self) -> Iterator[Any]:
        """One of the read-only connections; each runs one statement at a time, so callers beyond their number wait."""
        reader = self._idle.get()
        try:
            yield reader
        finally:
            self._idle.put(reader)


def _set(connection: Any, settings: Mapping[str, str]) -> None:
    for name, value in settings.items():
        connection.query(f"SET {name} = {{value:String}}", params={"value": as_text(value)})


def _rows(result: Any) -> Rows:
    content = bytes(result.bytes())
    if not content:
        return []
    answer = json.loads(content)
    names = [column["name"] for column in answer["meta"]]
    return [dict(zip(names, row, strict=True)) for row in answer["data"]]


def _code(error: BaseException) -> int:
    found = _CODE.search(str(error))
    return int(found[1]) if found else 0


def _first_line(error: BaseException) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
