"""The engine on a ClickHouse server or cluster, over HTTP: the same tables and queries as the embedded one."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import ClickHouseError

from ...errors import EngineUnavailable, QueryFailed
from ..clickhouse_engine import ClickHouseEngine
from ..dialect import QUERY_FORMAT, QUERY_LIMITS, error_code, first_line, insert_error, read_rows
from ..engine import Parameter, Parameters, Piece, Rows, Settings, Summarize
from ..inserts import PROTO
from ..schema_files import ONE_MACHINE, on_cluster
from .client import ClientTls, Compression, address, body, connect

# With these the HTTP status is the outcome; otherwise an error can follow a 200.
_WHOLE_ANSWER = {"wait_end_of_query": "1", "send_progress_in_http_headers": "0"}

# A subquery about a Distributed table is answered by all shards, not by each shard for itself. All shards are asked,
# also for one trace: when shards are added, older traces stay where they are.
_CLUSTER_QUERIES = {"distributed_product_mode": "global"}
# Answer an INSERT only when all shards have stored their rows: acknowledged rows must not be in a queue of the server.
_CLUSTER_INSERTS = {"distributed_foreground_insert": "1", "prefer_localhost_replica": "1", **_CLUSTER_QUERIES}

# Codes that do not depend on the statement: no such database (yet), too many queries, no connection, timeouts of the
# network, aborted, a table that is read-only, no space, too many parts, no thread, access refused, server overloaded,
# Keeper, a missing quorum. The next try may succeed.
_UNAVAILABLE = frozenset({81, 202, 203, 209, 210, 225, 236, 242, 243, 244, 252, 279, 285, 286, 319, 439, 516, 745, 999})
_TIMEOUT = 159


class ServerEngine(ClickHouseEngine):
    """
    An Engine without state of its own: any number of collectors may use one server.

    The constructor does not connect, the first method does: the collector starts and spools while the server is away.

    Args:
        url: `http://host:8123` or `https://host:8443`, with a path where a proxy needs one; of a cluster, one node.
        password: Sent in a header, so that no URL and no access log has it.
        timeout_s: Longest wait for an answer; an INSERT that takes longer is repeated under its token.
        compression: Of INSERTs in transit.
        insert_quorum: How many replicas must have an INSERT before it is acknowledged, a number or `auto`; empty: one.
        cluster: The tables are on this cluster (docs/cluster.md); empty: on one server.

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
        schema = {"format_schema_source": "string", "format_schema": PROTO.read_text("utf-8")}
        super().__init__(on_cluster(cluster, database) if cluster else ONE_MACHINE, schema)
        self._address = address(url)
        self._user, self._password, self._tls = user, password, tls or ClientTls()
        self._database, self._timeout_s = database, timeout_s
        self._compression = compression
        self._is_cluster = bool(cluster)
        self._query_settings = _CLUSTER_QUERIES if cluster else {}
        self._insert_settings = dict(_CLUSTER_INSERTS) if cluster else {}
        if insert_quorum:
            self._insert_settings |= {"insert_quorum": insert_quorum, "insert_quorum_timeout": str(timeout_s * 900)}
        self._connect_lock = threading.Lock()
        self._client: Client | None = None

    def migrate(self) -> None:
        """See Engine. Several collectors may do it at once: every statement has IF NOT EXISTS."""
        # look first: a user may be allowed to use the database but not to create one
        exists = "SELECT count() FROM system.databases WHERE name = {name:String}"
        if self._send(exists, {"name": self._database}, "TSV", _WHOLE_ANSWER, in_database=False).strip() == b"0":
            create = f"CREATE DATABASE IF NOT EXISTS {self._database}{self.placeholders['{on_cluster}']}"
            self._send(create, {}, None, _WHOLE_ANSWER, in_database=False)
        super().migrate()

    def command(self, sql: str, parameters: Parameters | None = None, settings: Settings | None = None) -> None:
        try:
            self._send(sql, parameters or {}, None, {**self._insert_settings, **(settings or {}), **_WHOLE_ANSWER})
        except QueryFailed as error:
            # on a cluster: a node is away, and runs the statement when it is back
            if self._is_cluster and error_code(error) == _TIMEOUT:
                raise EngineUnavailable(f"{self._address}: {error}") from error
            raise

    def query(self, sql: str, parameters: Parameters | None = None) -> Rows:
        settings = {**self._query_settings, **QUERY_LIMITS, **_WHOLE_ANSWER}
        answer = self._send(sql, parameters or {}, QUERY_FORMAT, settings)
        try:
            return read_rows(answer)
        except (ValueError, LookupError, TypeError) as error:
            raise EngineUnavailable(f"{self._address}: answered, but not as ClickHouse does: {error}") from error

    def read(
        self, sql: str, format_name: str, *, name: str, settings: Settings, summarize: Summarize | None = None
    ) -> bytes:
        session = {**self._query_settings, **settings, "log_comment": name, "readonly": "1", **_WHOLE_ANSWER}
        return self._send(sql, {}, None, session, headers={"X-ClickHouse-Format": format_name})

    def stop(self, name: str) -> None:
        self.command("KILL QUERY WHERE Settings['log_comment'] = {name:String} ASYNC", {"name": name})

    def close(self) -> None:
        if self._client is not None:
            self._client.close()

    def _insert(self, table: str, format_name: str, settings: Settings, content: Iterable[Piece], token: str) -> None:
        where = f"{self._address}: insert {token}"
        client = self._connected()
        data = body(f"INSERT INTO {table} FORMAT {format_name}", content, self._compression)
        encoding = None if self._compression == "none" else self._compression
        try:
            done = client.raw_insert(
                "",
                insert_block=data,
                settings={**self._insert_settings, **settings, **_WHOLE_ANSWER},
                compression=encoding,
            )
        except ClickHouseError as error:
            raise insert_error(where, message(error), _code(error)) from error
        if not done.query_id():  # a proxy's page with status 200 does not mean that the data is stored
            raise EngineUnavailable(f"{where}: answered, but not as ClickHouse does; is the address right?")

    def _send(
        self,
        sql: str,
        parameters: Parameters,
        format_name: str | None,
        settings: Settings,
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
                raise EngineUnavailable(f"{self._address}: {message(error)}") from error
            raise QueryFailed(message(error)) from error

    def _connected(self) -> Client:
        with self._connect_lock:
            if self._client is None:
                try:
                    self._client = connect(
                        self._address,
                        user=self._user,
                        password=self._password,
                        timeout_s=self._timeout_s,
                        tls=self._tls,
                    )
                except Exception as error:  # whatever listens there may answer anything
                    raise EngineUnavailable(
                        f"{self._address}: cannot connect as {self._user}: {message(error)}"
                    ) from error
                self._client.database = self._database  # not while connecting: at the first start it does not exist
            return self._client


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


def message(error: BaseException) -> str:
    """The error's text from ClickHouse or the network, without the request's URL, which has the parameters in it."""
    if error.__cause__ is not None:
        return first_line(getattr(error.__cause__, "reason", None) or error.__cause__)
    text = first_line(error)
    return text[max(text.find("Code: "), 0) :]
