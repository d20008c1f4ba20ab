"""What every engine promises: the loader inserts through it, queries read through it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from ..spool.segment import Record

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
