"""The engine on a ClickHouse server, over HTTP: the same tables, queries and promises as the embedded one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import ClickHouseError

from ...errors import EngineUnavailable, InsertRefused, QueryFailed
from ...spool.segment import Record
from ..dialect import (
    MIGRATIONS,
    QUERY_FORMAT,
    QUERY_LIMITS,
    REFUSED_DATA,
    apply_schema,
    error_code,
    first_line,
    read_rows,
)
from ..engine import Parameter, Piece, Rows
from ..inserts import INSERT_FORMAT, PROTO, ROWS_FORMAT, SPANS_TABLE, insert_settings, once_settings, protobuf_rows
from ..schema_files import schema_files
from .client import ClientTls, Compression, address, body, connect
from .cluster import Cluster

# With these the status line waits for the outcome; otherwise an error can follow a 200.
_WHOLE_ANSWER = {"wait_end_of_query": "1", "send_progress_in_http_headers": "0"}

# Codes that say nothing about the question: no such database (yet), too many queries, no connection, timeouts of the
# network, aborted, a table that is read-only, no space, too many parts, no thread, access refused, server overloaded,
# Keeper, a quorum that is not there. They may be over at the next try.
_UNAVAILABLE = frozenset({81, 202, 203, 209, 210, 225, 236, 242, 243, 244, 252, 279, 285, 286, 319, 439, 516, 745, 999})
_TIMEOUT = 159


class ServerEngine:
    """
    An Engine (see there for its promises) that holds nothing itself: any number of collectors may use one server.

    Opening asks nobody; the first verb connects, so the collector starts and spools while the server is away.

    Args:
        url: `http://host:8123` or `https://host:8443`, with a path where a proxy wants one; of a cluster, one node.
        password: Sent in a header, so that it is in no URL and in no log of one.
        timeout_s: Longest wait for an answer; an INSERT that takes longer is tried again under its token.
        compression: Of INSERTs on their way.
        insert_quorum: So many replicas have an INSERT before it is acknowledged, a number or `auto`; empty: one has.
        cluster: The tables are that cluster's, as in clickhouse/server/cluster.py; empty: this one server's.

    Raises:
        SettingsRefused: `url` is not such an address.
    """

    def __init__(
        self,
        url: str,
        *,
        user: str,
        password: str,
        database: str,
        timeout_s: int,
        tls: ClientTls | None = None,
        compression: Compression = "none",
        insert_quorum: str = "",
        cluster: str = "",
    ) -> None:
        self._address = address(url)
        self._user, self._password, self._tls = user, password, tls or ClientTls()
        self._database, self._timeout_s = database, timeout_s
        self._compression = compression
        self._cluster = Cluster(cluster, database, _schema()) if cluster else None
        self._of_queries = dict(self._cluster.settings_of_queries) if self._cluster else {}
        self._of_inserts = dict(self._cluster.settings_of_inserts) if self._cluster else {}
        if insert_quorum:
            self._of_inserts |= {"insert_quorum": insert_quorum, "insert_quorum_timeout": str(timeout_s * 900)}
        self._proto = PROTO.read_text("utf-8")
        self._connect_lock = threading.Lock()
        self._client: Client | None = None

    def migrate(self) -> None:
        """See Engine. Several collectors may do it at once: every statement says IF NOT EXISTS."""
        named: dict[str, Parameter] = {"name": self._database}
        # asked first, for a user that may use the database but not create one
        known = "SELECT count() FROM system.databases WHERE name = {name:String}"
        if self._ask(known, named, "TSV", _WHOLE_ANSWER, in_database=False).strip() == b"0":
            create = "CREATE DATABASE IF NOT EXISTS {name:Identifier}"
            if self._cluster:
                create, named = self._cluster.create_database(), {}
            self._ask(create, named, None, _WHOLE_ANSWER, in_database=False)
        apply_schema(self.command, self.query)

    def insert(self, records: Sequence[Record], token: str) -> None:
        """See Engine."""
        settings = {
            "format_schema_source": "string",
            "format_schema": self._proto,
            **insert_settings(token),
        }
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
        within = {**self._of_inserts, **(settings or {}), **_WHOLE_ANSWER}
        for statement in self._cluster.statements(sql) if self._cluster else [sql]:
            try:
                self._ask(statement, parameters or {}, None, within)
            except QueryFailed as error:
                # of a cluster: one of its nodes is away, and does it when it is back
                if self._cluster and error_code(error) == _TIMEOUT:
                    raise EngineUnavailable(f"{self._address}: {error}") from error
                raise

    def query(self, sql: str, parameters: Mapping[str, Parameter] | None = None) -> Rows:
        """See Engine."""
        answer = self._ask(sql, parameters or {}, QUERY_FORMAT, {**self._of_queries, **QUERY_LIMITS, **_WHOLE_ANSWER})
        try:
            return read_rows(answer)
        except (ValueError, LookupError, TypeError) as error:
            raise EngineUnavailable(f"{self._address}: answered, but not as ClickHouse does: {error}") from error

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
        alone = {**self._of_queries, **settings, "log_comment": name, "readonly": "1", **_WHOLE_ANSWER}
        return self._ask(sql, {}, None, alone, headers={"X-ClickHouse-Format": format_name})

    def stop(self, name: str) -> None:
        """See Engine."""
        self.command("KILL QUERY WHERE Settings['log_comment'] = {name:String} ASYNC", {"name": name})

    def close(self) -> None:
        """See Engine."""
        if self._client is not None:
            self._client.close()

    def _insert(
        self, table: str, format_name: str, settings: Mapping[str, str], content: Iterable[Piece], token: str
    ) -> None:
        where = f"{self._address}: insert {token}"
        client = self._connected()
        within = {**self._of_inserts, **settings, **_WHOLE_ANSWER}
        data = body(f"INSERT INTO {table} FORMAT {format_name}", content, self._compression)
        encoding = None if self._compression == "none" else self._compression
        try:
            done = client.raw_insert("", insert_block=data, settings=within, compression=encoding)
        except ClickHouseError as error:
            if _code(error) in REFUSED_DATA:
                raise InsertRefused(f"{where}: {_said(error)}") from error
            raise EngineUnavailable(f"{where}: {_said(error)}") from error
        if not done.query_id():  # a proxy's page with status 200 must not pass for stored data
            raise EngineUnavailable(f"{where}: answered, but not as ClickHouse does; is the address right?")

    def _ask(
        self,
        sql: str,
        parameters: Mapping[str, Parameter],
        format_name: str | None,
        settings: Mapping[str, str],
        *,
        in_database: bool = True,
        headers: dict[str, str] | None = None,
    ) -> bytes:
        client = self._connected()
        # the client would put values of unnamed parameters into the text itself
        bound = {name: _value(value) for name, value in parameters.items() if f"{{{name}:" in sql}
        try:
            return client.raw_query(sql, bound, dict(settings), format_name, in_database, None, headers)
        except ClickHouseError as error:
            if _is_unavailable(error):
                raise EngineUnavailable(f"{self._address}: {_said(error)}") from error
            raise QueryFailed(_said(error)) from error

    def _connected(self) -> Client:
        with self._connect_lock:
            if self._client is None:
                self._client = self._connect()
            return self._client

    def _connect(self) -> Client:
        try:
            client = connect(
                self._address, user=self._user, password=self._password, timeout_s=self._timeout_s, tls=self._tls
            )
        except Exception as error:  # whatever listens there may answer anything
            raise EngineUnavailable(f"{self._address}: cannot connect as {self._user}: {_said(error)}") from error
        client.database = self._database  # only now: at the first start there is none yet
        return client


def _schema() -> list[str]:
    return [statement for _, statements in schema_files() for statement in statements] + [MIGRATIONS]


def _value(value: Parameter) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None or isinstance(value, str | int | float):
        return value
    return list(value)


def _code(error: BaseException) -> int:
    code = getattr(error, "code", None)
    return code if isinstance(code, int) else error_code(error)


def _is_unavailable(error: BaseException) -> bool:
    code = _code(error)
    if code == 241:  # out of memory: this query's own limit, or the whole server's
        return "(total)" in str(error)
    return code == 0 or code in _UNAVAILABLE


def _said(error: BaseException) -> str:
    """What ClickHouse or the network said; not the request's URL, which has the parameters in it."""
    if error.__cause__ is not None:
        return first_line(getattr(error.__cause__, "reason", None) or error.__cause__)
    said = first_line(error)
    return said[max(said.find("Code: "), 0) :]
