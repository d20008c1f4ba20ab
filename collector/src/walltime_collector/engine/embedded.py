"""The engine inside the process: chDB, which is ClickHouse as a library; one process owns its directory."""

from __future__ import annotations

import queue
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import chdb

from ..directory import Ownership
from ..errors import EngineUnavailable, InsertRefused, QueryFailed
from ..spool.segment import Record
from . import (
    INSERT_FORMAT,
    PROTO,
    ROWS_FORMAT,
    SPANS_TABLE,
    Parameter,
    Rows,
    insert_settings,
    once_settings,
    protobuf_rows,
)
from .dialect import QUERY_FORMAT, QUERY_LIMITS, REFUSED_DATA, apply_schema, error_code, first_line, read_rows
from .parameters import as_text

QUERY_CONNECTIONS = 3
_STREAMED = "Streaming query failed: "


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
        self._database = database
        self._connections: list[Any] = []
        self._insert_lock = threading.Lock()
        self._idle: queue.LifoQueue[Any] = queue.LifoQueue()
        try:
            self._writer = self._connect()
            self._writer.query("CREATE DATABASE IF NOT EXISTS {name:Identifier}", params={"name": database})
            self._use(self._writer, database)
            for _ in range(QUERY_CONNECTIONS):
                self._idle.put(self._open_reader())
        except RuntimeError as error:
            self.close()
            raise EngineUnavailable(f"{directory}: the embedded database does not open: {first_line(error)}") from error

    def migrate(self) -> None:
        """See Engine."""

        def command(statement: str, parameters: Mapping[str, Parameter]) -> Any:
            return self._writer.query(statement, QUERY_FORMAT, params=_as_texts(parameters))

        with self._insert_lock:
            apply_schema(command, lambda sql: read_rows(bytes(command(sql, {}).bytes())), (RuntimeError,))

    def insert(self, records: Sequence[Record], token: str) -> None:
        """See Engine."""
        # from the file: chDB writes a schema sent as text into __cache__ of the working directory
        settings = {"format_schema": str(PROTO), **insert_settings(token)}
        self._insert(SPANS_TABLE, INSERT_FORMAT, settings, b"".join(protobuf_rows(records)), token)

    def insert_rows(self, table: str, rows: bytes, token: str) -> None:
        """See Engine."""
        self._insert(table, ROWS_FORMAT, once_settings(token), rows, token)

    def query(self, sql: str, parameters: Mapping[str, Parameter] | None = None) -> Rows:
        """See Engine."""
        try:
            with self._reader() as reader:
                return read_rows(bytes(reader.query(sql, QUERY_FORMAT, params=_as_texts(parameters or {})).bytes()))
        except RuntimeError as error:
            raise QueryFailed(first_line(error)) from error

    def read(self, sql: str, format_name: str, *, name: str, settings: Mapping[str, str]) -> bytes:
        """See Engine."""
        limit = int(settings.get("max_result_bytes", 0)) or sys.maxsize
        with self._session({**settings, "log_comment": name, "readonly": "1"}) as session:
            if sql.startswith(("SELECT", "WITH", "(")):  # the others cannot be streamed, and are short
                # ClickHouse's own limit counts a constant column as one value, however many rows it is written in.
                # Only blocks of Native can be put together again; what they say is small enough is asked once more.
                content = _bounded(session, sql, limit, is_kept=format_name == "Native")
                if format_name == "Native":
                    return content
            return bytes(session.query(sql, format_name).bytes())

    def stop(self, name: str) -> None:
        """See Engine."""
        with self._session({}) as session:
            session.query("KILL QUERY WHERE Settings['log_comment'] = {name:String} ASYNC", params={"name": name})

    def close(self) -> None:
        """See Engine."""
        with self._insert_lock:
            connections, self._connections = self._connections, []
            for connection in connections:
                connection.close()
            self._ownership.release()

    def _insert(self, table: str, format_name: str, settings: Mapping[str, str], data: bytes, token: str) -> None:
        with self._insert_lock:
            try:
                _set(self._writer, settings)
                with self._writer.send_insert(f"INSERT INTO {table}", format_name) as stream:
                    stream.append(data)
                    stream.finish()
            except RuntimeError as error:
                message = f"insert {token}: {first_line(error)}"
                if error_code(error) in REFUSED_DATA:
                    raise InsertRefused(message) from error
                raise EngineUnavailable(message) from error

    def _connect(self) -> Any:
        connection = chdb.connect(self._path)  # type: ignore[no-untyped-call]
        self._connections.append(connection)
        return connection

    def _open_reader(self) -> Any:
        reader = self._connect()
        self._use(reader, self._database)
        _set(reader, QUERY_LIMITS)
        return reader

    @staticmethod
    def _use(connection: Any, database: str) -> None:
        connection.query("USE {name:Identifier}", params={"name": database})

    @contextmanager
    def _session(self, settings: Mapping[str, str]) -> Iterator[Any]:
        """A connection of its own, about 1 ms: what is set on it is gone with it."""
        try:
            session = chdb.connect(self._path)  # type: ignore[no-untyped-call]
            try:
                self._use(session, self._database)
                _set(session, settings)
                yield session
            finally:
                session.close()
        except RuntimeError as error:
            raise QueryFailed(first_line(error).replace(self._path, "data").removeprefix(_STREAMED)) from error

    @contextmanager
    def _reader(self) -> Iterator[Any]:
        """One of the read-only connections; each runs one statement at a time, so callers beyond their number wait."""
        reader = self._idle.get()
        try:
            yield reader
        except RuntimeError:
            # rows that a query wrote before it failed would come out in front of this connection's next answer
            spoiled, reader = reader, self._open_reader()
            self._connections.remove(spoiled)
            spoiled.close()
            raise
        finally:
            self._idle.put(reader)


def _bounded(session: Any, sql: str, limit_bytes: int, *, is_kept: bool = True) -> bytes:
    """The answer in blocks of Native; ended as soon as it is larger than the limit."""
    blocks, size = [], 0
    stream = session.send_query(sql, "Native")
    for chunk in stream:
        block = bytes(chunk.bytes())
        size += len(block)
        if size > limit_bytes:
            stream.cancel()
            raise QueryFailed(
                f"Code: 396. DB::Exception: the answer is larger than {limit_bytes} bytes. (TOO_MANY_ROWS_OR_BYTES)"
            )
        if is_kept:
            blocks.append(block)
    return b"".join(blocks)


def _set(connection: Any, settings: Mapping[str, str]) -> None:
    for name, value in settings.items():
        connection.query(f"SET {name} = {{value:String}}", params={"value": as_text(value)})


def _as_texts(parameters: Mapping[str, Parameter]) -> dict[str, str]:
    return {name: as_text(value) for name, value in parameters.items()}
