"""One statement of a slow log, whichever of MySQL, Percona Server and MariaDB wrote it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from ...statements.sql_lexer.lexer import Lexed, lex
from .statement import Statement

NO_FLAGS: Final[frozenset[str]] = frozenset()


@dataclass(frozen=True)
class Carried:
    """What later entries rely on: a header has it only when it changed."""

    time: str = ""
    """The last `# Time:` as it was written."""
    database: str = ""


@dataclass(slots=True)  # not frozen: that alone would be an eighth of the time a log takes to read
class Entry:
    """One statement. Times are of the server's clock."""

    query_ns: int
    started_us: int | None = None
    """When the statement began, Unix microseconds; MariaDB and old MySQL have it to the second. None: unknown."""
    lock_ns: int = 0
    """Waiting for table and metadata locks; with MySQL 8.0.28 and later for rows too, with MariaDB never."""
    row_lock_ns: int = 0
    """Waiting for InnoDB's row locks; Percona Server alone has it."""
    io_wait_ns: int = 0
    cpu_ns: int = 0
    """On a CPU of the server; performance_schema alone has it."""
    rows_sent: int = 0
    rows_examined: int = 0
    rows_affected: int = 0
    bytes_sent: int = 0
    database: str = ""
    user: str = ""
    client_host: str = ""
    connection_id: int = 0
    weight: int = 1
    """How many statements this one stands for: the server logged one in so many."""
    errno: int = 0
    flags: frozenset[str] = NO_FLAGS
    """Of header.FLAGS, those with `Yes`."""
    fields: Mapping[str, str] = field(default_factory=dict)
    """Everything else, as it was written."""
    position: int = 0
    """Byte of the log it begins at."""
    statement: str = ""
    """With its literals: not to be stored. At most long.MAX_STATEMENT_BYTES."""
    tail: str = ""
    """The end of a statement that is longer."""
    read: Statement | None = field(default=None, compare=False)
    """The statement as it was read, when it was read from a log."""
    encoded: bytes = field(default=b"", compare=False)
    """The header as a part of a row, once it was made."""

    @property
    def lexed(self) -> Lexed:
        """The statement without its literals."""
        return self.read.lexed if self.read else lex(self.statement)

    def clear_row_counts(self) -> None:
        """For what runs no statement the server writes the counts of the statement before."""
        self.rows_sent = self.rows_examined = self.rows_affected = self.bytes_sent = 0
