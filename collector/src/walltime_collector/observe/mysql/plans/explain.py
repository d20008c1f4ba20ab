"""
Asks a server how it would run a SELECT. The statement has its values: it stays in memory, and nothing logs it.

EXPLAIN needs the rights of the statement itself, so a read-only account can explain SELECT, and nothing else is tried.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Final, NamedTuple

import pymysql
from pymysql.constants import ER

from ....statements.plans.shape import Step, shape
from ..capabilities import Capabilities, consumers, require_performance_schema, rows, still_off
from ..connection import Connection
from ..connection import explain as explain_error

_COMMENT: Final = r"/\*(?![!+M]).*?\*/"
SELECT: Final = re.compile(rf"(?:\s|\(|{_COMMENT})*(?:select|with)\b", re.IGNORECASE | re.DOTALL)
_OF_SERVER: Final = re.compile(r"\b(?:performance|information)_schema\b", re.IGNORECASE)
"""What the collector and other monitors ask; no index of anybody changes its plan."""
_CUT: Final = "..."
"""MySQL ends a text that it has cut like this; MariaDB does not."""
_BY_DIGEST: Final = (
    "SELECT digest, IFNULL(schema_name, ''), query_sample_text, sum_timer_wait DIV 1000"
    " FROM performance_schema.events_statements_summary_by_digest"
    " WHERE query_sample_text IS NOT NULL AND last_seen >= NOW() - INTERVAL %s SECOND"
    " ORDER BY sum_timer_wait DESC LIMIT %s"
)
_OF_HISTORY: Final = (
    "SELECT IFNULL(digest, MD5(sql_text)) AS statement, IFNULL(current_schema, ''), MAX(sql_text),"
    " SUM(timer_wait) DIV 1000 FROM performance_schema.{table}"
    " WHERE event_name = 'statement/sql/select' AND sql_text IS NOT NULL"
    " GROUP BY statement, current_schema ORDER BY 4 DESC LIMIT %s"
)
_IS_LONG: Final = (
    "SELECT enabled = 'YES' FROM performance_schema.setup_consumers WHERE name = 'events_statements_history_long'"
)
_HISTORY: Final = ("events_statements_current", "events_statements_history")
_MAX_TEXT: Final = "SELECT @@performance_schema_max_sql_text_length"


class Sample(NamedTuple):
    """A statement that the server has run lately, with its values."""

    digest: str
    schema: str
    text: str
    time_ns: int
    """Of all with this digest that the server remembers."""

    def __repr__(self) -> str:
        """Without its text, which must not reach a log."""
        return f"Sample({self.digest}, {self.schema})"


class NotExplained(Exception):
    """There is no plan for this statement. The text says why, without values."""


class Samples:
    """
    Where a server has the texts of its statements: in its digests (MySQL 8.0), else in its history.

    Args:
        may_set_up: `mysql_setup` of the settings.

    Raises:
        Lacking: It has neither, or the account may not read it.
    """

    def __init__(self, connection: Connection, has: Capabilities, *, may_set_up: bool) -> None:
        self.has_digests = not has.is_mariadb and has.version >= (8, 0, 3)
        tables = ("events_statements_summary_by_digest",) if self.has_digests else ("events_statements_history",)
        require_performance_schema(connection, has, tables)
        switches = [consumers("statements_digest", *(() if self.has_digests else _HISTORY))]
        self.off = "; ".join(still_off(connection, has, switches, may_set_up=may_set_up))
        """What would show more, and the statements that switch it on."""
        ((longest,),) = rows(connection, _MAX_TEXT)
        self.max_bytes = int(longest)
        is_long = not self.has_digests and rows(connection, _IS_LONG) == ((1,),)
        self._history = _OF_HISTORY.format(table=f"events_statements_history{'_long' if is_long else ''}")

    def read(self, connection: Connection, *, within_s: int, limit: int) -> Sequence[Sample]:
        """The SELECTs that take the most time, without those whose text was cut and those about the server itself."""
        values = (within_s, limit) if self.has_digests else (limit,)
        found = rows(connection, _BY_DIGEST if self.has_digests else self._history, values)
        samples = (Sample(str(digest), _text(schema), _text(sql), int(ns)) for digest, schema, sql, ns in found)
        return [each for each in samples if SELECT.match(each.text) and not self._is_left_out(each.text)]

    def _is_left_out(self, text: str) -> bool:
        is_cut = len(text.encode("utf-8", "replace")) >= self.max_bytes or text.endswith(_CUT)
        return is_cut or bool(_OF_SERVER.search(text))


def explain(connection: Connection, sample: Sample) -> Step | None:
    """
    Ask for the plan of one statement.

    Returns:
        None when the statement's values alone decide that no table is read.

    Raises:
        NotExplained: The server refuses.
        Exception: The connection failed.
    """
    if not SELECT.match(sample.text):
        raise NotExplained("only SELECT can be explained by an account that only reads")
    try:
        if sample.schema:
            connection.select_db(sample.schema)
        ((document,),) = rows(connection, f"EXPLAIN FORMAT=JSON {sample.text}")
    except pymysql.MySQLError as error:
        code = error.args[0] if error.args else 0
        if code in _OF_CONNECTION:
            raise
        raise NotExplained(_refused(error, code, sample.schema)) from None  # its text has parts of the statement
    try:
        return shape(json.loads(document))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise NotExplained("the server's EXPLAIN has a format that is not understood") from None


_OF_CONNECTION: Final = (0, ER.SERVER_SHUTDOWN, *range(2000, 3000))
"""From 2000 to 2999 they are the client's."""
_DENIED: Final = (
    ER.DBACCESS_DENIED_ERROR,
    ER.TABLEACCESS_DENIED_ERROR,
    ER.COLUMNACCESS_DENIED_ERROR,
    1345,  # ER_VIEW_NO_EXPLAIN
    1370,  # ER_PROCACCESS_DENIED_ERROR
)


def _refused(error: pymysql.MySQLError, code: int, schema: str) -> str:
    if code in _DENIED:
        return f"the account may not read its tables: GRANT SELECT, SHOW VIEW ON `{schema}`.* (error {code})"
    return f"the server refuses to explain it: {explain_error(error)}"


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
