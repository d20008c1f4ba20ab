"""Runs the statements of tests/clickhouse_on_chdb.py in chDB: each with settings and a connection of its own."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from walltime_collector.clickhouse.embedded.database import as_file
from walltime_collector.clickhouse.parameters import as_text

# Of the HTTP interface, not settings of the engine.
TRANSPORT = {
    *("query", "database", "default_format", "query_id", "session_id", "session_timeout", "session_check", "role"),
    *("quota_key", "wait_end_of_query", "buffer_size", "compress", "decompress", "client_protocol_version"),
    *("user", "password", "stacktrace", "close_session"),
}
INSERT_WITH_DATA = re.compile(
    rb"\s*(INSERT\s+INTO\s+\S+(?:\s*\([^)]*\))?)\s+FORMAT\s+(\w+)[ \t]*(?:\n|\Z)", re.IGNORECASE
)
DDL = re.compile(rb"(?:\s|--[^\n]*\n)*(?:CREATE|ALTER|DROP)\b")
CLUSTER = """<clickhouse><tcp_port>9000</tcp_port><remote_servers><{name}>
<shard><internal_replication>true</internal_replication><replica><host>127.0.0.1</host><port>9000</port></replica></shard>
</{name}></remote_servers></clickhouse>"""
NEEDS_KEEPER = [
    (re.compile(rb" ON CLUSTER '\w+'"), b""),
    (re.compile(rb"Replicated(\w*MergeTree)\('[^']*', '\{replica\}'(?:, )?"), rb"\1("),
    (re.compile(rb"(?<!\w)(replicated_deduplication_window = )"), rb"non_\1"),
]
CODE = re.compile(r"Code: (\d+)\. .*", re.DOTALL)


class RefusedError(Exception):
    """The engine's error, as its text."""

    @property
    def code(self) -> int:
        found = CODE.search(str(self))
        return int(found[1]) if found else 1002


class Engine:
    """The database; each statement has a connection of its own, so settings are gone with it, as over HTTP."""

    def __init__(self, folder: Path, cluster: str = "") -> None:
        self.path, self.cluster = str(folder / "data"), cluster
        if cluster:
            (folder / "cluster.xml").write_text(CLUSTER.format(name=cluster))
            self.path += f"?config-file={folder / 'cluster.xml'}"
        sys.modules["pyarrow"] = None  # type: ignore[assignment]  # as in clickhouse/embedded/process.py
        import chdb  # here, because tests import this module for Fault

        self.connect: Callable[[], Any] = partial(chdb.connect, self.path)
        self.keeps_it_open = self.connect()

    def run(self, statement: bytes, said: Mapping[str, str]) -> bytes:
        connection = self.connect()
        try:
            if self.cluster:
                statement = self.alone(statement)
            if database := said.get("database"):
                connection.query("USE {name:Identifier}", params={"name": database})
            settings = {
                name: value for name, value in said.items() if name not in TRANSPORT and not name.startswith("param_")
            }
            if settings:  # at once: after `readonly` nothing can be set
                changes = ", ".join(f"{name} = {{{name}:String}}" for name in settings)
                texts = {name: as_text(value) for name, value in settings.items()}
                connection.query(f"SET {changes}", params=texts)
            if insert := INSERT_WITH_DATA.match(statement):
                with as_file(statement[insert.end() :]) as path:  # send_insert() hides failures
                    from_file = f"{insert[1].decode()} FROM INFILE '{path}' COMPRESSION 'none'"
                    connection.query(f"{from_file} FORMAT {insert[2].decode()}")
                return b""
            parameters = {name[6:]: value for name, value in said.items() if name.startswith("param_")}
            return bytes(connection.query(statement.decode(), said["default_format"], params=parameters).bytes())
        except RuntimeError as error:
            text = str(error)
            raise RefusedError(text[max(text.find("Code: "), 0) :]) from error
        finally:
            connection.close()

    def alone(self, statement: bytes) -> bytes:
        if not DDL.match(statement):
            return statement
        for pattern, instead in NEEDS_KEEPER:
            statement = pattern.sub(instead, statement)
        return statement
