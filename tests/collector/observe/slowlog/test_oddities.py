"""What servers write into slow logs beside the ordinary: names, databases, restarts, commands, missing ends."""

from __future__ import annotations

import random

import pytest
from walltime_collector.observe.slowlog.entry import Entry
from walltime_collector.observe.slowlog.parser import Losses

from tests.collector.observe.slowlog.hostile_log import FORMATS, logged
from tests.collector.observe.slowlog.real_logs import PT_QUERY_DIGEST_SAYS, REAL_LOGS, parsed

MARIADB = FORMATS["mariadb"]
BANNER = (
    b"/usr/sbin/mariadbd, Version: 10.11.19-MariaDB-log (Debian 12). started with:\n"
    b"Tcp port: 3306  Unix socket: /run/mysqld/mysqld.sock\nTime\t\t    Id Command\tArgument\n"
)


def one(log: bytes) -> Entry:
    (entry,), losses = parsed(log)
    assert losses == Losses()
    return entry


@pytest.mark.parametrize(
    ("written", "user", "host"),
    [
        ("a@b[a@b] @ host [1.2.3.4]", "a@b", "host"),
        ("[a b@c] @ localhost [127.0.0.1]", "a b@c", "localhost"),
        ("a b@c[a b@c] @  [127.0.0.1]", "a b@c", "127.0.0.1"),
        ("x[y] @ h[x[y] @ h] @  [127.0.0.1]", "x[y] @ h", "127.0.0.1"),
        ("[SQL_SLAVE] @  []", "SQL_SLAVE", ""),
        ("root[root] @ localhost []", "root", "localhost"),
        ("proxied[real] @ db.example.com [::1]", "proxied", "db.example.com"),
        ("Query_time: 99[Query_time: 99] @ h []", "Query_time: 99", "h"),
        ("[] @ h []", "", "h"),
    ],
)
@pytest.mark.parametrize("end", ["", "  Id:    12"])
def test_users_are_who_the_server_says(written: str, user: str, host: str, end: str) -> None:
    header = f"# User@Host: {written}{end}\n# Query_time: 1.5  Lock_time: 0.1 Rows_sent: 1  Rows_examined: 2\n"
    entry = one(logged(b"select 1", header.encode()))
    assert (entry.user, entry.client_host, entry.query_ns) == (user, host, 1_500_000_000)
    assert entry.connection_id == (12 if end else 0)


@pytest.mark.parametrize(
    ("line", "database"),
    [
        (b"use shop;\n", "shop"),
        (b"use `we``ird;db`;\n", "we`ird;db"),
        (b"use `a'b`;\n", "a'b"),
        (b"use `a\nb`;\n", "a\nb"),
    ],
)
def test_a_database_may_have_any_name(line: bytes, database: str) -> None:
    header = b"# User@Host: a[a] @ h []\n# Query_time: 1.5  Lock_time: 0.1 Rows_sent: 1  Rows_examined: 2\n" + line
    entry = one(logged(b"select 1", header))
    assert (entry.database, entry.statement) == (database, "select 1")


@pytest.mark.parametrize("command", ["Quit", "Ping", "Init DB", "Prepare", "Close stmt"])
def test_a_command_has_no_rows(command: str) -> None:
    entry = one(logged(f"# administrator command: {command}".encode(), MARIADB))
    assert entry.statement == f"administrator command: {command}"
    assert (entry.rows_sent, entry.rows_examined, entry.rows_affected, entry.bytes_sent) == (0, 0, 0, 0)
    assert entry.query_ns == 250_000_000


def test_time_and_user_on_one_line_begin_an_entry_also_behind_an_open_quote() -> None:
    header = (
        b"# Time: 071218 11:48:27 # User@Host: [SQL_SLAVE] @  []\n# Thread_id: 10\n"
        b"# Query_time: 0.000012  Lock_time: 0.000000  Rows_sent: 0  Rows_examined: 0\n"
    )
    log = logged(b"select 'not closed", MARIADB) + (header + b"BEGIN;\n") * 8
    entries, _ = parsed(log)
    assert [entry.statement for entry in entries[1:]] == ["BEGIN"] * 8
    assert {entry.user for entry in entries[1:]} == {"SQL_SLAVE"}


@pytest.mark.parametrize(
    "statement", [b"select 1;\n", b"select 'cut", b"select a,\n", b"/* cut", b"insert into t values (1),\n"]
)
def test_a_restart_ends_what_was_being_written(statement: bytes) -> None:
    log = (
        MARIADB
        + b"SET timestamp=1795239483;\n"
        + statement.rstrip(b"\n")
        + b"\n"
        + BANNER
        + logged(b"select 5", MARIADB)
    )
    entries, _ = parsed(log + logged(b"select 6", MARIADB))
    assert [entry.statement for entry in entries[1:]] == ["select 5", "select 6"]
    assert "Version" not in entries[0].statement
    assert parsed(logged(b"select 1") + BANNER)[0][0].statement == "select 1"


def test_the_last_entry_may_be_cut_anywhere() -> None:
    log = logged(b"select 'a' from t where b = 5 /* c */", MARIADB)
    for cut in range(len(log)):
        entries, _ = parsed(logged(b"select 1, 'x'", MARIADB) + log[:cut])
        assert entries[0].statement.partition(";")[0] == "select 1, 'x'"
        assert len(entries) <= 2


def test_statements_hold_semicolons_and_lines() -> None:
    body = "create procedure p() begin\n  select 1;\n  -- it's\n  select 'two;\n';\nend"
    entries, losses = parsed(logged(body.encode(), MARIADB) * 3)
    assert [entry.statement for entry in entries] == [body] * 3
    assert losses == Losses()


def test_logs_in_one_file_have_as_many_entries_as_alone() -> None:
    if not REAL_LOGS.exists():
        pytest.skip("the real logs are not on this machine")
    logs = {name: (REAL_LOGS / name).read_bytes().rstrip(b"\n") + b"\n" for name in PT_QUERY_DIGEST_SAYS}
    names = [name for name, log in logs.items() if log.endswith(b";\n") and len(log) < 60_000]
    for seed in range(20):
        random.Random(seed).shuffle(names)
        entries, _ = parsed(b"".join(logs[name] for name in names))
        assert len(entries) == sum(PT_QUERY_DIGEST_SAYS[name][0] for name in names)
