"""Migrations and INSERTs, which are the same for the embedded engine and for a server."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

from ..errors import EngineUnavailable, MigrationFailed, QueryFailed
from ..spool.segment import Record
from .dialect import DISK_FAILED, error_code, first_line
from .engine import Engine, Piece, Settings
from .inserts import insert_settings, once_settings, protobuf_rows
from .schema_files import schema_files, statements

log = logging.getLogger(__name__)

_HAS_MIGRATIONS = "SELECT 1 FROM system.tables WHERE database = currentDatabase() AND name = 'schema_migrations'"


class ClickHouseEngine(Engine):
    """The part of an Engine that writes; `spans_schema` are the settings for the schema of an INSERT of spans."""

    _is_shared: ClassVar[bool] = True
    """Collectors of several versions may use the database while they are updated one after the other."""

    def __init__(self, placeholders: Mapping[str, str], spans_schema: Mapping[str, str]) -> None:
        self.placeholders, self._spans_schema = placeholders, spans_schema

    def migrate(self) -> None:
        try:
            self._migrate()
        except (MigrationFailed, QueryFailed) as error:
            if error_code(error) in DISK_FAILED:
                raise EngineUnavailable(str(error)) from error
            raise

    def _migrate(self) -> None:
        # a cluster creates a table on all nodes or fails, and one of them may be away: look first
        if not self.query(_HAS_MIGRATIONS):
            for statement in statements("schema/schema_migrations.sql", self.placeholders):
                self.command(statement)
        applied = {row["name"] for row in self.query("SELECT name FROM schema_migrations")}
        files = schema_files(self.placeholders)
        if later := ", ".join(sorted(applied - {name for name, _ in files})):
            found = f"a later version of Walltime has migrated the database (it has {later})"
            if not self._is_shared:
                raise MigrationFailed(f"{found}; start that version again. The data is untouched")
            log.warning("%s; this version goes on, update it too", found)
        for name, made in files:
            if name in applied:
                continue
            try:
                for statement in made:
                    self.command(statement)
                self.command("INSERT INTO schema_migrations (name) SELECT {name:String}", {"name": name})
            except QueryFailed as error:
                raise MigrationFailed(
                    f"schema/{name}: {first_line(error)}; files before it are applied, the data is untouched"
                ) from error

    def insert(self, records: Sequence[Record], token: str) -> None:
        settings = {**self._spans_schema, **insert_settings(token)}
        self._insert("otlp_traces", "Protobuf", settings, protobuf_rows(records), token)

    def insert_rows(self, table: str, rows: bytes, token: str) -> None:
        self._insert(table, "JSONEachRow", once_settings(token), [rows], token)

    @abstractmethod
    def _insert(self, table: str, format_name: str, settings: Settings, content: Iterable[Piece], token: str) -> None:
        """Run one INSERT; raises as Engine.insert."""
