"""Runs statements in chDB, which is ClickHouse as a library; used in the engine's process only."""

from __future__ import annotations

import os
import queue
import shutil
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import chdb

from ..dialect import LOST_TEXT, QUERY_CONNECTIONS, QUERY_FORMAT, QUERY_LIMITS
from ..parameters import as_text
from .deduplication import forget_lost_parts, lost_parts

_STREAMED = "Streaming query failed: "
_MIB = 1024 * 1024
_SHORT_S = 0.5
_LEAST_FREE_BYTES = _MIB
_FAILED_WRITES = "SELECT value FROM system.events WHERE event = 'WriteBufferFromFileDescriptorWriteFailed'"
# of an answer without rows chDB writes the totals before the document
_WITHOUT_TOTALS = "SELECT * FROM (%s) GROUP BY ALL"

# Of the database as a whole. Its default caches are for servers, 5 GiB and more; merges must not slow down receiving.
_SETTINGS = {
    "mark_cache_size": 128 * _MIB,
    "index_mark_cache_size": 32 * _MIB,
    "query_condition_cache_size": 32 * _MIB,
    "compiled_expression_cache_size": 32 * _MIB,
    "os_threads_nice_value_merge_mutate": 10,
}


class Database:
    """
    Answers are bytes in ClickHouse's output formats; every method may be called from any thread.

    Parameters are texts as as_text() makes them. A statement that ClickHouse refuses raises RuntimeError with its text.
    A process must not fork after this.

    chDB takes a file that it could not write for whole, of an INSERT and of a merge, and only counts the failure. So
    `has_damage` is set after the first, and what was running raises: when the database opens again, it sets the damaged
    parts aside, and takes back what a merged one was made of.

    Args:
        is_damaged: It was closed with `has_damage`. What it sets aside now is removed, because its rows are stored
            again; then `has_damage` is set once more, so that the next process knows nothing of the damage.

    Raises:
        RuntimeError: It does not open.
        OSError: A deduplication log cannot be read or written.
    """

    def __init__(self, path: Path, name: str, *, is_damaged: bool = False) -> None:
        self._path, self._name = str(path), name
        self._opened = f"{path}?{'&'.join(f'{name}={value}' for name, value in _SETTINGS.items())}"
        self._write_lock = threading.Lock()
        self._idle: queue.LifoQueue[Any] = queue.LifoQueue()
        self.has_damage = False
        forget_lost_parts(path)
        set_aside = _set_aside(path)
        self._writer = self._connect()
        self._writer.query("SELECT count() FROM system.parts")  # returns when all tables are loaded
        if any(lost_parts(path)):  # damaged parts are set aside: their INSERTs, repeated, must store them again
            self._writer.close()
            forget_lost_parts(path)
            self._writer = self._connect()
        for part in _set_aside(path) - set_aside if is_damaged else ():
            shutil.rmtree(part)
            self.has_damage = True
        self._writer.query("CREATE DATABASE IF NOT EXISTS {name:Identifier}", params={"name": name})
        self._use(self._writer)
        for _ in range(QUERY_CONNECTIONS):
            self._idle.put(self._open_reader())

    def command(self, sql: str, parameters: Mapping[str, str], settings: Mapping[str, str]) -> bytes:
        """Run one statement of the collector's own, in a session with these settings."""
        disk = os.statvfs(self._path)
        if disk.f_bavail * disk.f_frsize < _LEAST_FREE_BYTES:  # the description of a table must not be cut short
            raise RuntimeError("Code: 243. DB::Exception: the disk is full. (NOT_ENOUGH_SPACE)")
        with self._session(settings) as session:
            answer = bytes(session.query(sql, QUERY_FORMAT, params=dict(parameters)).bytes())
            self._check_writes(session)
            return answer

    def insert(self, table: str, format_name: str, settings: Mapping[str, str], content: bytes) -> None:
        """Store all of the content or nothing."""
        with self._write_lock, as_file(content) as path:
            _set(self._writer, settings)
            # not send_insert(), whose finish() raises nothing for most failures: no space, too many parts, in a view
            self._writer.query(f"INSERT INTO {table} FROM INFILE '{path}' COMPRESSION 'none' FORMAT {format_name}")
            self._check_writes(self._writer)

    def check_writes(self) -> None:
        """Raise RuntimeError, and set `has_damage`, if a file could not be written, by a merge for example."""
        with self._session({}) as session:
            self._check_writes(session)

    def query(self, sql: str, parameters: Mapping[str, str]) -> bytes:
        """Run one SELECT of the collector's own; at most QUERY_CONNECTIONS run at once, others wait."""
        reader = self._idle.get()
        try:
            return bytes(reader.query(sql, QUERY_FORMAT, params=dict(parameters)).bytes())
        except (RuntimeError, UnicodeDecodeError):
            # rows that a query wrote before it failed would come before this connection's next answer
            spoiled, reader = reader, self._open_reader()
            spoiled.close()
            raise
        finally:
            self._idle.put(reader)

    def read(self, sql: str, format_name: str, settings: Mapping[str, str]) -> tuple[bytes, dict[str, int]]:
        """Run one statement from outside in a session with these settings; return its answer and how much it read."""
        limit_bytes = int(settings.get("max_result_bytes", 0)) or sys.maxsize
        limit_s = float(settings.get("max_execution_time", 0))
        started_s = time.monotonic()
        with self._session(settings) as session:
            if sql.startswith(("SELECT", "WITH", "(")):  # other statements cannot be streamed, and are short
                # ClickHouse's own limit counts a constant column as one value, however many rows it is written in. So
                # the answer is measured in blocks of Native, the only format whose blocks can be joined; for another
                # format an answer that is small enough is computed once more.
                content, summary = _bounded(session, sql, limit_bytes, is_kept=format_name == "Native")
                if format_name == "Native":
                    return content, summary
                if not summary["result_rows"] and "WITH TOTALS" in sql:
                    sql = _WITHOUT_TOTALS % sql
                spent_s = time.monotonic() - started_s
                if not limit_s or spent_s < _SHORT_S:
                    return bytes(session.query(sql, format_name).bytes()), summary
            else:
                answer = session.query(sql, format_name)
                return bytes(answer.bytes()), {"result_rows": answer.rows_read()}
        # one time limit for both runs; it cannot be changed in a session that is already read-only
        left = f"{max(limit_s - spent_s, 0.001):.3f}"
        with self._session({**settings, "max_execution_time": left}) as session:
            return bytes(session.query(sql, format_name).bytes()), summary

    def stop(self, name: str) -> None:
        """Stop the statement with that `log_comment`."""
        with self._session({}) as session:
            session.query("KILL QUERY WHERE Settings['log_comment'] = {name:String} ASYNC", params={"name": name})

    def release_memory(self) -> None:
        """Give memory back that is not in use."""
        with suppress(RuntimeError), self._session({}) as session:
            session.query("SYSTEM JEMALLOC PURGE")

    def close(self) -> None:
        """Close the files, after the INSERT that is running."""
        with self._write_lock:
            self._writer.close()
            while not self._idle.empty():
                self._idle.get().close()

    def _check_writes(self, connection: Any) -> None:
        if connection.query(_FAILED_WRITES, "TSV").bytes():
            self.has_damage = True
            raise RuntimeError(
                "Code: 75. DB::Exception: a file of the database could not be written (is the disk full, or broken?);"
                " what was written since is checked. (CANNOT_WRITE_TO_FILE_DESCRIPTOR)"
            )

    def _connect(self) -> Any:
        return chdb.connect(self._opened)

    def _open_reader(self) -> Any:
        reader = self._connect()
        self._use(reader)
        _set(reader, QUERY_LIMITS)
        return reader

    def _use(self, connection: Any) -> None:
        connection.query("USE {name:Identifier}", params={"name": self._name})

    @contextmanager
    def _session(self, settings: Mapping[str, str]) -> Iterator[Any]:
        """A new connection, which takes about 1 ms: no later statement sees its settings."""
        try:
            session = self._connect()
            try:
                self._use(session)
                _set(session, settings)
                yield session
            finally:
                session.close()
        except (RuntimeError, UnicodeDecodeError) as error:
            raise RuntimeError(error_text(error).replace(self._path, "data").removeprefix(_STREAMED)) from error


def _set_aside(path: Path) -> set[Path]:
    """The damaged parts that were found at an opening."""
    return set(path.glob("store/*/*/detached/broken-on-start_*"))


@contextmanager
def as_file(content: bytes) -> Iterator[str]:
    """The path of a file in memory with that content."""
    handle = os.memfd_create("insert", os.MFD_CLOEXEC)
    try:
        with open(handle, "wb", buffering=0, closefd=False) as file:
            left = memoryview(content)
            while left:
                left = left[file.write(left) :]
        yield f"/proc/self/fd/{handle}"
    finally:
        os.close(handle)


def error_text(error: Exception) -> str:
    """ClickHouse's text of an error; chDB raises UnicodeDecodeError where that text quotes bytes that are not UTF-8."""
    for each in (error, error.__cause__):
        if isinstance(each, UnicodeDecodeError):
            return each.object.decode("utf-8", "replace")
    return str(error) or (LOST_TEXT if isinstance(error, RuntimeError) else type(error).__name__)


def _bounded(session: Any, sql: str, limit_bytes: int, *, is_kept: bool) -> tuple[bytes, dict[str, int]]:
    """The answer in blocks of Native, if it is kept, and how much it is; stopped as soon as it exceeds the limit."""
    blocks, size = [], 0
    summary = {"read_rows": 0, "read_bytes": 0, "result_rows": 0}
    stream = session.send_query(sql, "Native")
    for chunk in stream:
        block = bytes(chunk.bytes())
        size += len(block)
        if size > limit_bytes:
            stream.cancel()
            raise RuntimeError(
                f"Code: 396. DB::Exception: the answer is larger than {limit_bytes} bytes. (TOO_MANY_ROWS_OR_BYTES)"
            )
        summary["read_rows"] += chunk.storage_rows_read()
        summary["read_bytes"] += chunk.storage_bytes_read()
        summary["result_rows"] += chunk.rows_read()
        if is_kept:
            blocks.append(block)
    # without result rows there is no chunk, and so no number of rows read
    return b"".join(blocks), summary if summary["result_rows"] else {"result_rows": 0}


def _set(connection: Any, settings: Mapping[str, str]) -> None:
    if settings:  # in one statement: each takes 0.2 ms of CPU
        changes = ", ".join(f"{name} = {{{name}:String}}" for name in settings)
        connection.query(f"SET {changes}", params={name: as_text(value) for name, value in settings.items()})
