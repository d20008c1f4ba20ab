"""The engine without a server: chDB, which is ClickHouse as a library, in a process and a directory of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from ... import crashpoint
from ...errors import EngineEnded, EngineUnavailable, QueryFailed, SettingsRefused
from ...spool.directory import Ownership
from ..clickhouse_engine import ClickHouseEngine
from ..dialect import QUERY_CONNECTIONS, QUERY_LIMITS, error_code, first_line, insert_error, read_rows
from ..engine import Parameters, Piece, Rows, Settings, Summarize
from ..inserts import PROTO
from ..parameters import as_text
from ..schema_files import ONE_MACHINE
from .child import Child

# A statement's own time limit ends it. One that is still running this much later hangs, and the process is killed.
_GRACE_S = 15.0
_STOP_S = 5.0  # the same for a statement after `stop`
_QUERY_S = float(QUERY_LIMITS["max_execution_time"]) + 30.0
_INSERT_S = 300.0
_COMMAND_S = 3600.0


class EmbeddedEngine(ClickHouseEngine):
    """
    An Engine in a directory of its own; the collector itself never opens its files.

    When its process ends or hangs, it is started again, and the requests that were running raise EngineUnavailable. The
    process ends with the collector, for whatever reason; the directory is free when both have ended.

    Args:
        count: Called with `engine_restarts` at each restart, from any thread.
        where: The setting of the directory, for a message.

    Raises:
        SettingsRefused: No database can be in that directory.
        DirectoryInUse: Another collector has it open.
    """

    _is_shared = False

    def __init__(
        self, directory: Path, database: str, count: Callable[[str], object] | None = None, where: str = "--data"
    ) -> None:
        # from a file: chDB writes a schema that is sent as text into __cache__ of the working directory
        super().__init__(ONE_MACHINE, {"format_schema": str(PROTO)})
        self._directory = directory = directory.absolute()
        if "?" in str(directory):  # for chDB the path ends there, and it would write elsewhere
            raise SettingsRefused(f"{where} {directory}: no database can be in a path with a `?`; choose another one")
        self._ownership = Ownership(directory)
        self._queries = threading.BoundedSemaphore(QUERY_CONNECTIONS)
        arguments = (str(directory), database, crashpoint.armed)
        self._child = Child(
            f"{directory}: the database", arguments, (self._ownership.fileno(),), count or (lambda _: None)
        )

    def command(self, sql: str, parameters: Parameters | None = None, settings: Settings | None = None) -> None:
        request = {"verb": "command", "sql": sql, "settings": settings or {}, **_bound(parameters)}
        self._request(request, within_s=_COMMAND_S)

    def query(self, sql: str, parameters: Parameters | None = None) -> Rows:
        request = {"verb": "query", "sql": sql, **_bound(parameters)}
        with self._queries:
            try:
                return read_rows(self._request(request, within_s=_QUERY_S))
            except EngineEnded:  # most likely because of another statement; this one changes nothing and is repeated
                return read_rows(self._request(request, within_s=_QUERY_S))

    def read(
        self, sql: str, format_name: str, *, name: str, settings: Settings, summarize: Summarize | None = None
    ) -> bytes:
        session = {**settings, "log_comment": name, "readonly": "1"}
        request = {"verb": "read", "sql": sql, "format_name": format_name, "settings": session}
        within_s = float(settings.get("max_execution_time", 30)) + _GRACE_S
        return self._request(request, within_s=within_s, name=name, summarize=summarize)

    def stop(self, name: str) -> None:
        """See Engine. A statement that does not stop soon is ended with the process."""
        self._child.shorten_time_limit(name, _STOP_S)
        self._request({"verb": "stop", "name": name}, within_s=_QUERY_S)

    def close(self) -> None:
        self._child.close()
        self._ownership.release()

    def _request(
        self, request: dict[str, Any], *, within_s: float, name: str = "", summarize: Summarize | None = None
    ) -> bytes:
        response, result = self._child.request(request, within_s=within_s, name=name)
        if "error" in response:
            raise QueryFailed(first_line(response["error"]))
        if summarize is not None:
            summarize(response.get("summary", {}))
        return result

    def _insert(self, table: str, format_name: str, settings: Settings, content: Iterable[Piece], token: str) -> None:
        request = {"verb": "insert", "table": table, "format_name": format_name, "settings": settings}
        try:
            response, _ = self._child.request(request, content, within_s=_INSERT_S)
        except EngineUnavailable as unavailable:
            raise type(unavailable)(f"insert {token}: {unavailable}") from unavailable
        if error := response.get("error", ""):
            raise insert_error(f"insert {token}", first_line(error), error_code(error))


def _bound(parameters: Parameters | None) -> dict[str, Any]:
    return {"parameters": {name: as_text(value) for name, value in (parameters or {}).items()}}
