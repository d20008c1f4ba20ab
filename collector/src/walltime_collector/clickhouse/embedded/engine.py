"""The engine without a server: chDB, which is ClickHouse as a library, in a process and a directory of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ... import crashpoint
from ...errors import EngineEnded, EngineUnavailable, InsertRefused, QueryFailed, SettingsRefused
from ...spool.directory import Ownership
from ...spool.segment import Record
from ..dialect import QUERY_CONNECTIONS, QUERY_LIMITS, REFUSED_DATA, apply_schema, error_code, first_line, read_rows
from ..engine import Parameter, Piece, Rows
from ..inserts import INSERT_FORMAT, PROTO, ROWS_FORMAT, SPANS_TABLE, insert_settings, once_settings, protobuf_rows
from ..parameters import as_text
from .child import Child

# A statement's own limit ends it; what is still there so much later hangs, and the process is killed.
_GRACE_S = 15.0
_LEFT_S = 5.0  # the same for one that nobody waits for any more
_QUERY_S = float(QUERY_LIMITS["max_execution_time"]) + 30.0
_INSERT_S = 300.0
_COMMAND_S = 3600.0


class EmbeddedEngine:
    """
    An Engine (see there for its promises) in a directory of its own; the collector itself never touches its files.

    When its process ends or hangs, it is started again, and what was asked of it meanwhile is EngineUnavailable. It
    ends with the collector, however that ends, and the directory is free when both have ended.

    Args:
        count: Called with `engine_restarts` when it had to be started again, from any thread.
        where: Where the directory is set, for a message.

    Raises:
        SettingsRefused: There cannot be a database in that directory.
        DirectoryInUse: Another collector has it open.
    """

    def __init__(
        self, directory: Path, database: str, count: Callable[[str], object] | None = None, where: str = "--data"
    ) -> None:
        self._directory = directory = directory.absolute()
        if "?" in str(directory):  # chDB would take it for the end of the path, and write elsewhere
            raise SettingsRefused(f"{where} {directory}: no database can be in a path with a `?`; choose another one")
        self._ownership = Ownership(directory)
        self._queries = threading.BoundedSemaphore(QUERY_CONNECTIONS)
        arguments = (str(directory), database, crashpoint.armed)
        self._child = Child(
            f"{directory}: the database", arguments, (self._ownership.fileno(),), count or (lambda _: None)
        )

    def migrate(self) -> None:
        """See Engine."""
        apply_schema(self.command, self.query)

    def insert(self, records: Sequence[Record], token: str) -> None:
        """See Engine."""
        # from the file: chDB writes a schema sent as text into __cache__ of the working directory
        settings = {"format_schema": str(PROTO), **insert_settings(token)}
        self._insert(SPANS_TABLE, INSERT_FORMAT, settings, protobuf_rows(records), token)

    def insert_rows(self, table: str, rows: bytes, token: str) -> None:
        """See Engine."""
        self._insert(table, ROWS_FORMAT, once_settings(token), [rows], token)

    def command(
        self,
        sql: str,
        parameters: Mapping[str, Parameter] | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        """See Engine."""
        said = {"verb": "command", "sql": sql, "settings": settings or {}, **_bound(parameters or {})}
        self._ask(said, within_s=_COMMAND_S)

    def query(self, sql: str, parameters: Mapping[str, Parameter] | None = None) -> Rows:
        """See Engine."""
        said = {"verb": "query", "sql": sql, **_bound(parameters or {})}
        with self._queries:
            try:
                return read_rows(self._ask(said, within_s=_QUERY_S))
            except EngineEnded:  # most likely of another statement; this one changes nothing and can be asked again
                return read_rows(self._ask(said, within_s=_QUERY_S))

    def read(
        self,
        sql: str,
        format_name: str,
        *,
        name: str,
        settings: Mapping[str, str],
        summarize: Callable[[Mapping[str, int]], object] | None = None,
    ) -> bytes:
        """See Engine."""
        alone = {**settings, "log_comment": name, "readonly": "1"}
        said = {"verb": "read", "sql": sql, "format_name": format_name, "settings": alone}
        within_s = float(settings.get("max_execution_time", 30)) + _GRACE_S
        return self._ask(said, within_s=within_s, name=name, summarize=summarize)

    def stop(self, name: str) -> None:
        """See Engine. What does not end soon is ended with the process."""
        self._child.hurry(name, _LEFT_S)
        self._ask({"verb": "stop", "name": name}, within_s=_QUERY_S)

    def close(self) -> None:
        """See Engine."""
        self._child.close()
        self._ownership.release()

    def _ask(
        self,
        said: dict[str, Any],
        *,
        within_s: float,
        name: str = "",
        summarize: Callable[[Mapping[str, int]], object] | None = None,
    ) -> bytes:
        answer, result = self._child.ask(said, within_s=within_s, name=name)
        if "error" in answer:
            raise QueryFailed(first_line(answer["error"]))
        if summarize is not None:
            summarize(answer.get("summary", {}))
        return result

    def _insert(
        self, table: str, format_name: str, settings: Mapping[str, str], content: Iterable[Piece], token: str
    ) -> None:
        said = {"verb": "insert", "table": table, "format_name": format_name, "settings": settings}
        try:
            answer, _ = self._child.ask(said, content, within_s=_INSERT_S)
        except EngineUnavailable as unavailable:
            raise type(unavailable)(f"insert {token}: {unavailable}") from unavailable
        if error := answer.get("error", ""):
            refusal = InsertRefused if error_code(error) in REFUSED_DATA else EngineUnavailable
            raise refusal(f"insert {token}: {first_line(error)}")


def _bound(parameters: Mapping[str, Parameter]) -> dict[str, Any]:
    return {"parameters": {name: as_text(value) for name, value in parameters.items()}}
