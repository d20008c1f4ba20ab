"""What holds for ClickHouse wherever it runs: how far a query may go, what its errors mean, how an answer is read."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from ..errors import MigrationFailed, QueryFailed
from .engine import Parameter, Rows
from .schema_files import schema_files

QUERY_FORMAT = "JSONCompact"
QUERY_CONNECTIONS = 3  # of the embedded engine: so many questions of ours are answered at once
QUERY_LIMITS = {
    "max_execution_time": "30",
    "max_memory_usage": str(1024 * 1024 * 1024),
    "max_result_rows": "1000000",
    "max_result_bytes": str(64 * 1024 * 1024),
    "result_overflow_mode": "throw",
    "max_query_size": "262144",
    "output_format_json_quote_64bit_integers": "0",
    "output_format_json_quote_denormals": "0",
    "output_format_json_validate_utf8": "1",
    # first ask the index which parts have it: else all columns of every part are opened, and only then is it asked
    "use_skip_indexes_on_data_read": "0",
    "readonly": "1",  # the last one: nothing can be set after it
}

MIGRATIONS = (
    "CREATE TABLE IF NOT EXISTS schema_migrations (name String, applied_at DateTime DEFAULT now())"
    " ENGINE = MergeTree ORDER BY name"
)

# ClickHouse's codes that speak of the bytes we sent: cannot parse (a number, a quote, a date …), read after the end,
# out of bounds, incorrect data, too large, sizes differ, bad cast. Whatever is not here is tried again, for ever: to
# take a full disk for bad data would lose good data.
REFUSED_DATA = frozenset({6, 25, 26, 27, 32, 33, 38, 41, 69, 70, 72, 117, 128, 130, 131, 190, 321, 407, 436, 444, 467})
_CODE = re.compile(r"Code: (\d+)")


def error_code(error: BaseException | str) -> int:
    """ClickHouse's number of the error; 0 when its text names none."""
    found = _CODE.search(str(error))
    return int(found[1]) if found else 0


def first_line(error: BaseException | str) -> str:
    """What an error says, without the lines that follow."""
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__


def read_rows(content: bytes) -> Rows:
    """
    The rows of an answer in QUERY_FORMAT; a statement without an answer has none.

    Raises:
        ValueError: It is not a whole answer.
    """
    if not content:
        return []
    answer: Any = json.loads(content.decode("utf-8", "replace"))  # names and types may have any bytes, as values may
    names = [column["name"] for column in answer["meta"]]
    return [dict(zip(names, row, strict=True)) for row in answer["data"]]


def apply_schema(command: Callable[[str, dict[str, Parameter]], object], query: Callable[[str], Rows]) -> None:
    """
    Apply the schema files that are not yet recorded in `schema_migrations`, in order.

    Args:
        command: Runs one statement with its parameters; QueryFailed when ClickHouse refuses it.
        query: Answers one.

    Raises:
        MigrationFailed: A file was refused; those before it stay applied.
    """
    # asked first: a cluster makes a table on all of its nodes or fails, and one of them may be away
    if not query("SELECT 1 FROM system.tables WHERE database = currentDatabase() AND name = 'schema_migrations'"):
        command(MIGRATIONS, {})
    applied = query("SELECT name FROM schema_migrations")
    for name, statements in schema_files():
        if {"name": name} in applied:
            continue
        try:
            for statement in statements:
                command(statement, {})
            command("INSERT INTO schema_migrations (name) SELECT {name:String}", {"name": name})
        except QueryFailed as error:
            raise MigrationFailed(
                f"schema/{name}: {first_line(error)}; files before it are applied, the data is untouched"
            ) from error
