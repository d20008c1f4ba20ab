"""The interface of an engine: the loader inserts through it, queries read through it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from ..spool.segment import Record

Parameter = str | int | float | bool | Sequence[str] | Sequence[int] | Sequence[float] | None
Parameters = Mapping[str, Parameter]
Settings = Mapping[str, str]
"""ClickHouse's settings for one statement."""
Summarize = Callable[[Mapping[str, int]], object]
Rows = list[dict[str, Any]]
Piece = bytes | memoryview


class Engine(Protocol):
    """All methods may be called from any thread."""

    placeholders: Mapping[str, str]
    """What the placeholders in SQL files of this folder stand for: see schema_files.py."""

    def migrate(self) -> None:
        """
        Apply the files of schema/ that are not recorded in `schema_migrations`, in order, each once.

        Raises:
            MigrationFailed: The files before the failing one stay applied.
        """

    def insert(self, records: Sequence[Record], token: str) -> None:
        """
        Store all records or none; inserting them again under the same token is harmless.

        Never use a token for other records: the engine would drop them and report success.

        Raises:
            EngineUnavailable: The records may or may not be stored; try again with the same token.
            InsertRefused: The engine refuses the data itself.
        """

    def insert_rows(self, table: str, rows: bytes, token: str) -> None:
        """
        Store all rows or none; inserting them again under the same token is harmless, also behind views.

        Args:
            table: A name from the code, never from outside.
            rows: JSON objects, one a line (ClickHouse's JSONEachRow); a few MB at most, so that they are one block.
            token: As in `insert`, which raises the same errors.
        """

    def command(self, sql: str, parameters: Parameters | None = None, settings: Settings | None = None) -> None:
        """
        Run one statement of the collector's own that changes something: CREATE, ALTER, INSERT … SELECT.

        Args:
            settings: ClickHouse's settings, for this statement only. `once_settings` make an INSERT … SELECT store its
                rows once, however often it is repeated.

        Raises:
            QueryFailed: ClickHouse refused it.
            EngineUnavailable: It may or may not be done.
        """

    def query(self, sql: str, parameters: Parameters | None = None) -> Rows:
        """
        Run one SELECT; `{name:Type}` in it is bound from `parameters`, as a value, never as text.

        Integers keep all their bits; NaN becomes None; DateTime64 becomes text, so select toUnixTimestamp64Nano;
        bytes that are not UTF-8 are damaged, so select hex().

        Raises:
            QueryFailed: The query is wrong or over a limit.
            EngineUnavailable: No answer now.
        """

    def read(
        self, sql: str, format_name: str, *, name: str, settings: Settings, summarize: Summarize | None = None
    ) -> bytes:
        """
        Run one statement from outside and return the bytes that ClickHouse writes in that output format.

        The guard (sql/guard/) must have accepted it. Nothing is bound into `sql`. It runs in a session of its own with
        `settings`, which are ClickHouse's, and then `readonly` = 1; no later statement sees that session. There is no
        limit on how many run at once: the caller bounds them.

        Args:
            name: For `stop`; no other running statement has it.
            summarize: Called with `result_rows`, `read_rows` and `read_bytes`, as far as the engine knows them.

        Raises:
            QueryFailed: It is wrong or over a limit; the message has ClickHouse's text, `Code: N. DB::Exception: …`.
            EngineUnavailable: No answer now.
        """

    def stop(self, name: str) -> None:
        """
        Stop the `read` of that name: it soon raises QueryFailed, code 394. Do nothing if there is none.

        Raises:
            EngineError: It cannot be stopped; its time limit ends it.
        """

    def close(self) -> None:
        """Release the data directory and the connections; no method works afterwards."""
