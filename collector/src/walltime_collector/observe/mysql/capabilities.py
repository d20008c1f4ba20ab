"""What a MySQL or MariaDB server is, what of performance_schema is on, and the statements that switch on the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import pymysql
from pymysql.constants import ER

from ..look import Lacking
from .connection import Connection

Flavour = Literal["MySQL", "MariaDB", "Percona Server"]
_DENIED: Final = (
    ER.TABLEACCESS_DENIED_ERROR,
    ER.DBACCESS_DENIED_ERROR,
    ER.SPECIFIC_ACCESS_DENIED_ERROR,
    ER.COLUMNACCESS_DENIED_ERROR,
)
_SERVER: Final = "SELECT VERSION(), @@version_comment, CURRENT_USER(), CONNECTION_ID(), @@performance_schema"
# both are of the moment the statement began, so their difference is the same at any time of a run
_STARTED: Final = "SELECT UNIX_TIMESTAMP() - variable_value FROM {schema}.global_status WHERE variable_name = 'Uptime'"


@dataclass(frozen=True)
class Capabilities:
    """A server, as one connection sees it."""

    flavour: Flavour
    version: tuple[int, ...]
    """(9, 7, 4)"""
    server_id: str
    """Its own, that it keeps over restarts: server_uuid, or server_uid of MariaDB."""
    started_s: int
    """Unix time of its start by its own clock. With `server_id` it names a run of the server."""
    account: str
    """As GRANT wants it: `'walltime'@'10.0.0.%'`."""
    connection_id: int
    """Of this connection; leave out what it does."""
    has_performance_schema: bool

    @property
    def is_mariadb(self) -> bool:
        """Whether it has the tables of MariaDB."""
        return self.flavour == "MariaDB"


@dataclass(frozen=True)
class Switch:
    """A part of performance_schema that a statement switches on, until the server restarts."""

    off: str
    """Has a row while it is off."""
    on: str
    table: str


def consumers(*names: str) -> Switch:
    """Consumers by name; those that the server does not know are left alone."""
    where = f"name IN ({', '.join(map(repr, names))}) AND enabled = 'NO'"
    return _switch("setup_consumers", where, "enabled = 'YES'")


def instruments(pattern: str) -> Switch:
    """Instruments whose name is like this, and their times."""
    where = f"name LIKE '{pattern}' AND (enabled = 'NO' OR timed = 'NO')"
    return _switch("setup_instruments", where, "enabled = 'YES', timed = 'YES'")


def _switch(table: str, where: str, to: str) -> Switch:
    # the texts are constants of our modules, and shown to people as they are
    off = f"SELECT 1 FROM performance_schema.{table} WHERE {where} LIMIT 1"  # noqa: S608
    return Switch(off, f"UPDATE performance_schema.{table} SET {to} WHERE {where}", table)  # noqa: S608


def rows(connection: Connection, statement: str, values: Sequence[object] = ()) -> Sequence[tuple[Any, ...]]:
    """All rows of a statement; a `%` in it is written twice when there are values."""
    with connection.cursor() as cursor:
        cursor.execute(statement, values or None)
        return cursor.fetchall()


def capabilities(connection: Connection) -> Capabilities:
    """Ask the server what it is; needs no privilege."""
    ((text, comment, account, connection_id, has_performance_schema),) = rows(connection, _SERVER)
    is_mariadb = "MariaDB" in text
    schema = "information_schema" if is_mariadb else "performance_schema"
    ((started_s,),) = rows(connection, _STARTED.format(schema=schema))
    user, _, host = account.rpartition("@")
    return Capabilities(
        "MariaDB" if is_mariadb else "Percona Server" if "Percona" in comment else "MySQL",
        tuple(int(part) for part in text.partition("-")[0].split(".") if part.isdecimal()),
        _server_id(connection, "server_uid" if is_mariadb else "server_uuid"),
        int(started_s),
        f"'{user}'@'{host}'",
        connection_id,
        bool(has_performance_schema),
    )


def _server_id(connection: Connection, variable: str) -> str:
    try:
        ((name,),) = rows(connection, f"SELECT @@{variable}")
    except pymysql.MySQLError as error:
        if error.args[0] != ER.UNKNOWN_SYSTEM_VARIABLE:
            raise
        ((name,),) = rows(connection, "SELECT CONCAT(@@hostname, ':', @@port)")  # MariaDB before 10.10
    return str(name)


def require_performance_schema(connection: Connection, has: Capabilities, tables: Sequence[str]) -> None:
    """
    Make sure that these tables of performance_schema can be read.

    Raises:
        Lacking: With what to do.
    """
    if not has.has_performance_schema:
        raise Lacking(
            "performance_schema is off, and cannot be switched on while the server runs: write performance_schema=ON"
            " below [mysqld] in its my.cnf and restart it"
        )
    for table in tables:
        if not _may_read(connection, table):
            raise Lacking(
                f"the account may not read performance_schema.{table}:"
                f" GRANT SELECT ON performance_schema.* TO {has.account}"
            )


def _may_read(connection: Connection, table: str) -> bool:
    try:
        rows(connection, f"SELECT 1 FROM performance_schema.{table} LIMIT 0")  # noqa: S608  a constant
    except pymysql.MySQLError as error:
        if error.args[0] not in _DENIED:
            raise
        return False
    return True


def still_off(connection: Connection, has: Capabilities, switches: Sequence[Switch], *, may_set_up: bool) -> list[str]:
    """
    Return the statements that switch on what is off, after running them if that is allowed: what is left then.

    Args:
        may_set_up: `mysql_setup` of the settings.
    """
    left = []
    for switch in switches:
        if not rows(connection, switch.off):
            continue
        if not may_set_up:
            left.append(switch.on)
            continue
        try:
            rows(connection, "SET SESSION TRANSACTION READ WRITE")
            rows(connection, switch.on)
        except pymysql.MySQLError as error:
            if error.args[0] not in _DENIED:
                raise
            left.append(f"GRANT UPDATE ON performance_schema.{switch.table} TO {has.account}")
        finally:
            rows(connection, "SET SESSION TRANSACTION READ ONLY")
    return left
