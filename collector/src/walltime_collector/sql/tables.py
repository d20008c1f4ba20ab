"""The tables and columns that users can query. They are read through the guard, so they are what it allows."""

from __future__ import annotations

import json
import threading
import uuid
from dataclasses import dataclass
from importlib.resources import files
from itertools import groupby

from .runner import QueryRunner

_SQL = (files(__package__) / "tables.sql").read_text("utf-8")


@dataclass(frozen=True)
class Column:
    """A column; `type` is ClickHouse's."""

    name: str
    type: str
    comment: str


@dataclass(frozen=True)
class Table:
    """A table; one without a comment is internal."""

    name: str
    comment: str
    columns: tuple[Column, ...]


class Tables:
    """Reads them once: they change only with the version of the collector. Safe between threads."""

    def __init__(self, runner: QueryRunner) -> None:
        self._runner, self._lock = runner, threading.Lock()
        self._tables: tuple[Table, ...] = ()

    def read(self) -> tuple[Table, ...]:
        """
        Return the tables with a comment, then the internal ones, each by name.

        Raises:
            EngineUnavailable: No answer now.
            TooManyQuestions: Too many statements run and wait.
        """
        with self._lock:
            if not self._tables:
                self._tables = self._query()
            return self._tables

    def _query(self) -> tuple[Table, ...]:
        answer = self._runner.run(_SQL, name=str(uuid.uuid4()), parameters={}, format_name="JSONCompact")
        rows = json.loads(answer.content)["data"]
        return tuple(
            Table(name, comment, tuple(Column(*row[2:]) for row in columns))
            for (name, comment), columns in groupby(rows, key=lambda row: (row[0], row[1]))
        )
