"""A real MariaDB in every sql_mode and character set that changes what a literal is: none is stored, no entry is lost."""

# ruff: noqa: E501  # statements as they are

from __future__ import annotations

import json
import time
from contextlib import suppress

import pymysql
import pytest
from pymysql.connections import Connection
from shop.services import MariaDB

from tests.collector.observe.slowlog.hostile_log import PASTED, SECRET, stored
from tests.sdk.redaction.sql_grammar import MARK

SESSIONS = {
    "default": (
        "",
        "utf8mb4",
        [rb"'it\'s s3cr3t'", rb"'C:\\', 's3cr3t'", rb"'\'s3cr3t\''", rb""" "s3cr3t \" it''s" """],
    ),
    "no escapes": ("NO_BACKSLASH_ESCAPES", "utf8mb4", [rb"'C:\', 's3cr3t'", rb"'it''s\', 's3cr3t', 'D:\'"]),
    "ansi quotes": ("ANSI_QUOTES", "utf8mb4", [rb"'it\'s', 's3cr3t'", rb"""1 as "a\", 's3cr3t', 2 as "b" """]),
    "both": ("ANSI_QUOTES,NO_BACKSLASH_ESCAPES", "utf8mb4", [rb"""1 as "a\", 's3cr3t\', 's3cr3t'"""]),
    "mssql": ("MSSQL", "utf8mb4", [b"1 as [it's], 's3cr3t'"]),
    "oracle": ("ORACLE", "utf8mb4", [rb"'s3cr3t' || 'it\'s s3cr3t'"]),
    "gbk": ("", "gbk", [b"'\xb0\x5c' as a, 's3cr3t'", b"'\xb0\x5c\\'', 's3cr3t'", b"1 as `\xb0\x60`, 's3cr3t'"]),
    "gbk without escapes": ("NO_BACKSLASH_ESCAPES", "gbk", [b"'\xb0\x5c', 's3cr3t', 'C:\\', 's3cr3t'"]),
    "sjis": ("", "sjis", [b"'\x83\x5c' as a, 's3cr3t'"]),
    "cp932": ("", "cp932", [b"'\x83\x5c' as a, 's3cr3t'", b"'\x83\x5c\x83\x5c', 's3cr3t'"]),
    "big5": ("", "big5", [b"'\xa5\x5c' as a, 's3cr3t'"]),
}
COMMON = [b"/*+ it's */ 's3cr3t'", b"/*!50001 '*/', */ 's3cr3t'", b"/*M!100100 '*/', */ 's3cr3t'", b"_utf8's3cr3t', N's3cr3t'",
          b"/*!999999 a /* it's */ b */ 's3cr3t'", b"5--\x01it's\n+1, 's3cr3t'", b"1 # it's\n, 's3cr3t'",
          b"0x733363723374, x'733363723374', 's3cr3t'", b"'s3cr3t",
          *(b"'see\n" + pasted + b"'" for pasted in PASTED)]  # fmt: skip


def run(connection: Connection[pymysql.cursors.Cursor], statement: bytes) -> None:
    with suppress(pymysql.Error, UnicodeDecodeError):  # it is in the log all the same
        connection.query(statement)


@pytest.mark.parametrize("session", SESSIONS)
def test_no_literal_of_any_session_is_stored_and_no_entry_is_lost(mariadb: MariaDB, session: str) -> None:
    sql_mode, charset, statements = SESSIONS[session]
    log = mariadb.slow_log
    assert log is not None
    with mariadb.admin() as connection:
        before = log.stat().st_size
        run(connection, f"SET SESSION sql_mode = '{sql_mode}', character_set_client = {charset}".encode())
        for statement in (*statements, *COMMON):
            for _ in range(2):
                run(connection, b"select " + statement)
                run(connection, b"select 4711, 'x'")
        run(connection, b"select 'the end'")
        deadline = time.monotonic() + 10
        while b"'the end'" not in (written := log.read_bytes()[before:]) and time.monotonic() < deadline:
            time.sleep(0.05)
    assert SECRET in written
    found = stored(written)
    assert MARK not in json.dumps(found)
    assert "4711" not in json.dumps([row["sample"] for row in found])
    assert {row["user"] for row in found} == {"admin"}
    assert max(row["query_ns"] for row in found) < 5_000_000_000
    assert sum(row["fingerprint"] == "select ?, ?" for row in found) >= 2 * (len(statements) + len(COMMON))
    assert len(found) == written.count(b"# User@Host: admin[admin]")
