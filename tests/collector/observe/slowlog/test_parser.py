"""Slow logs as the servers write them: every entry once with its numbers, whatever stands around and inside it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from walltime_collector.observe.slowlog.parser import Losses, Parser
from walltime_collector.statements.long import MAX_STATEMENT_BYTES

from tests.by_day import by_day
from tests.collector.observe.slowlog.real_logs import (
    HEADER,
    MARIADB,
    MYSQL_8,
    PERCONA_8,
    PT_QUERY_DIGEST_SAYS,
    REAL_LOGS,
    parsed,
    percona,
)


@pytest.mark.parametrize("name", PT_QUERY_DIGEST_SAYS)
def test_a_real_log_has_the_entries_and_the_time_pt_query_digest_finds(name: str) -> None:
    if not REAL_LOGS.exists():
        pytest.skip("the real logs are not on this machine")
    log = REAL_LOGS / name
    entries, _ = parsed(log.read_bytes())
    found = (len(entries), sum(entry.query_ns for entry in entries) // 1_000)
    assert found == PT_QUERY_DIGEST_SAYS[name]


def test_pt_query_digest_still_says_so() -> None:
    tool = shutil.which("pt-query-digest")
    if not tool or not REAL_LOGS.exists():
        pytest.skip("needs pt-query-digest (apt-get install percona-toolkit) and the real logs")
    for name in ("slow009.txt", "slow013.txt", "slow029.txt", "slow059.txt"):
        said = subprocess.run(
            [tool, "--no-version-check", "--output", "json", REAL_LOGS / name], capture_output=True, check=True
        )
        whole = json.loads(said.stdout)["global"]
        total_us = round(float(whole["metrics"]["Query_time"]["sum"]) * 1e6)
        assert (whole["query_count"], total_us) == PT_QUERY_DIGEST_SAYS[name]


def test_mariadb() -> None:
    (update, commit), losses = parsed(MARIADB)
    assert update.statement == "update t set v = 'x' where id = 1"
    assert (update.query_ns, update.lock_ns, update.io_wait_ns) == (674_386_000, 719_000, 2_500_000)
    assert (update.rows_sent, update.rows_examined, update.rows_affected, update.bytes_sent) == (3, 8, 1, 199)
    assert (update.user, update.client_host, update.database) == ("shop", "127.0.0.1", "shop")
    assert (update.connection_id, update.weight) == (4, 1)
    assert update.started_us == 1_795_253_969_000_000  # the second it began in
    assert update.flags == {"is_full_scan", "is_filesort"}
    assert update.fields["Engine_time"] == "675.3847"
    assert update.fields["Pages_accessed"] == "6"
    assert update.fields["explain"].splitlines()[1] == "1\tSIMPLE\tt"
    assert update.fields["warnings"] == "Warning 1366"
    assert "canary" not in str(update.fields)
    assert (commit.statement, commit.database, commit.connection_id) == ("COMMIT", "", 5)
    assert losses == Losses()


def test_mysql_8_with_and_without_log_slow_extra_in_one_file() -> None:
    (plain, extra), losses = parsed(MYSQL_8)
    assert plain.started_us == 1_795_239_484_123_456 - 250_000  # its time is that of its end
    assert (plain.lock_ns, plain.connection_id, plain.database) == (100_000_000, 12, "shop")
    assert extra.started_us == 1_795_239_484_999_999
    assert (extra.errno, extra.bytes_sent, extra.connection_id) == (1205, 64, 12)
    assert extra.database == "shop"  # said once for both
    assert extra.fields["Bytes_received"] == "30"
    assert extra.flags == {"is_filesort", "is_tmp_table"}
    assert extra.fields["End"] == "2026-11-21T07:38:05.000000+02:00"
    assert losses == Losses()


def test_percona_server_8() -> None:
    (entry,), _ = parsed(PERCONA_8)
    assert (entry.row_lock_ns, entry.io_wait_ns) == (900_000_000, 12_345_000)
    assert (entry.weight, entry.errno, entry.database) == (100, 1213, "shop")
    assert entry.flags == {"is_full_join", "is_tmp_table", "is_tmp_table_on_disk"}
    assert entry.fields["InnoDB_trx_id"] == "1A88583F"
    assert (entry.connection_id, entry.rows_affected, entry.client_host) == (99, 3, "10.0.0.7")


@pytest.mark.parametrize(
    ("query_s", "facts", "always_s", "weight"),
    [
        ("12.000000", {}, 10, 1),
        ("10.000000", {}, 10, 1),
        ("9.999999", {}, 10, 100),
        ("0.999999", {}, 1, 100),
        ("1.000000", {}, 1, 1),
        ("0.000001", {}, 0, 1),
        ("0.5", {"limit": 0}, 10, 1),
        ("0.5", {"rate_type": "session", "connection": 300}, 10, 100),
        ("12.5", {"rate_type": "session", "connection": 300}, 10, 1),
        ("2.5", {"rate_type": "session", "connection": 301}, 10, 1),  # of no chosen session: logged because it is slow
        ("2.5", {"rate_type": "query", "connection": 301}, 10, 100),
    ],
)
@pytest.mark.parametrize("following", [b"", HEADER + b"select 1;\n"])  # the last entry is not read in the fast path
def test_what_percona_server_always_logs_stands_for_itself(
    query_s: str, facts: dict[str, Any], always_s: int, weight: int, following: bytes
) -> None:
    parser = Parser(always_logged_ns=always_s * 1_000_000_000)
    entries = parser.feed(percona(query_s, **facts) + following) + parser.finish()
    assert entries[0].weight == weight


@pytest.mark.parametrize("indent", [b"  ", b"\t", b""])
@pytest.mark.parametrize("line", range(4, 12))
@pytest.mark.parametrize("is_last", [False, True])
def test_a_line_of_the_header_may_lack_its_mark(line: int, indent: bytes, is_last: bool) -> None:
    lines = PERCONA_8.splitlines(keepends=True)
    log = b"".join([*lines[:line], indent + lines[line][1:].lstrip(), *lines[line + 1 :]])
    log = log if is_last else log + MYSQL_8
    for stop in range(0, len(log), 5):
        entries, losses = parsed(log, stop)
        assert entries[0] == parsed(PERCONA_8)[0][0]
        assert (len(entries), losses.malformed) == (1 if is_last else 3, 0)
    without_timestamp = re.sub(rb"SET [^\n]*\n", b"", log)
    assert parsed(without_timestamp)[0][0].statement == "SELECT foo FROM bar"


@given(st.lists(st.integers(1, 400), max_size=12))
def test_how_the_bytes_are_cut_makes_no_difference(pieces: list[int]) -> None:
    log = MARIADB + MYSQL_8 + PERCONA_8
    assert parsed(log, *pieces) == parsed(log)


def test_reading_goes_on_where_it_stopped() -> None:
    log = MARIADB + MYSQL_8 + PERCONA_8
    whole, _ = parsed(log)
    for stop in range(0, len(log), 7):
        first = Parser()
        entries = first.feed(log[:stop])
        second = Parser(first.carried, first.position)
        entries += second.feed(log[first.position :]) + second.finish()
        assert entries == whole


@pytest.mark.parametrize(
    "statement",
    [
        "select 1\n# Time: is what this is about\nfrom t",
        "select 'x;\n# User@Host: a[a] @ h []\n# Query_time: 9'",
        "select 'x;\n# Time: 261121  9:39:29\n# User@Host: forged[forged] @ h []\n'",
        "select 1; \n-- don't\n# Query_time: 5\nselect 2",
        "create procedure p() begin\n  select 1;\n  select 2;\nend",
        "select '/usr/sbin/mysqld, Version: 8 started with:\n/usr/sbin/mysqld, Version: 8 started with:'",
        "\n  select 1",
        "use shop",
        "SET timestamp=5",
    ],
)
def test_text_in_a_statement_that_looks_like_the_log_s_own_stays_text(statement: str) -> None:
    entries, losses = parsed((HEADER + statement.encode() + b";\n") * 3)
    assert [entry.statement.strip() for entry in entries] == [statement.strip()] * 3
    assert {entry.user for entry in entries} == {"a"}
    assert losses == Losses()


def test_an_entry_cut_by_a_crash_costs_the_next_one_nothing() -> None:
    for cut in range(1, HEADER.index(b"SET")):
        entries, _ = parsed(HEADER[:cut] + HEADER + b"select 'whole';\n")
        assert entries[-1].statement == "select 'whole'", HEADER[:cut]
    entries, _ = parsed(HEADER + b"select 'never clo" + b"\n" + HEADER + b"select 'whole';\n")
    assert [entry.statement for entry in entries] == ["select 'never clo", "select 'whole'"]
    restarted = MYSQL_8 + HEADER + b"select 'cut\n" + MYSQL_8
    assert [entry.statement for entry in parsed(restarted)[0]][-2:] == ["SELECT 1", "SELECT 2"]


def test_garbage_is_counted_and_costs_nothing_that_was_good() -> None:
    garbage = bytes(range(256)) * 40 + b"\n"
    entries, losses = parsed(garbage + HEADER + b"select 1;\n" + garbage + HEADER + b"select '\xff\xfe';\n")
    assert [entry.statement.partition("\n")[0] for entry in entries] == ["select 1;", "select '\ufffd\ufffd'"]
    assert losses.skipped_bytes >= 40 * 256


def test_administrator_commands_and_empty_statements_are_entries() -> None:
    header = HEADER.replace(b"SET timestamp=1795253969;\n", b"")
    log = header + b"# administrator command: Quit;\n" + HEADER + b";\n" + HEADER + b"select 1;\n"
    entries, losses = parsed(log)
    assert [entry.statement for entry in entries] == ["administrator command: Quit", "", "select 1"]
    assert losses == Losses()


def test_a_statement_over_the_limit_keeps_its_beginning_and_its_comment() -> None:
    comment = "/*traceparent='00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01'*/"
    values = ",".join(f"('{'x' * 900}')" for _ in range(3 * MAX_STATEMENT_BYTES // 900))
    statement = f"insert into t values {values} {comment}"
    entries, losses = parsed(HEADER + statement.encode() + b";\n" + HEADER + b"select 1;\n", *[65_536] * 40)
    assert len(entries) == 2
    assert len(entries[0].statement) == MAX_STATEMENT_BYTES
    assert entries[0].tail.endswith(comment)
    assert losses.skipped_bytes > MAX_STATEMENT_BYTES


def test_memory_stays_small_on_a_line_of_100_mib() -> None:
    parser, piece = Parser(), b"x" * (1024 * 1024)
    tracemalloc.start()
    for start in (b"garbage", b"# User@Host: ", HEADER + b"select '"):
        parser.feed(start)
        for _ in range(100):
            assert parser.feed(piece) == []
        parser.feed(b"';\n")
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < 16 * 1024 * 1024
    (cut,) = parser.finish()
    assert len(cut.statement) == MAX_STATEMENT_BYTES


def test_the_last_entry_is_complete_when_nothing_follows_it_for_a_while() -> None:
    parser = Parser()
    assert parser.feed(HEADER + b"select 1") == []
    assert parser.quiet() == []
    assert parser.position == 0
    assert parser.feed(b";\n") == []
    assert [entry.statement for entry in parser.quiet()] == ["select 1"]
    assert parser.position == len(HEADER) + 10
    assert parser.quiet() == []
    assert [entry.statement for entry in parser.feed(HEADER + b"select 2;\n") + parser.quiet()] == ["select 2"]


@pytest.mark.parametrize(
    "line",
    by_day(
        [
            b";\n# Time: 261121  9:39:29\n",
            b";\n# User@Host: a[a] @ h []\n# Query_time: 1\n",
            b";\n# Query_time: 0.1  Lock_time: 0.0  Rows_sent: 0  Rows_examined: 0\n",
            b"# User@Host: " + b"[" * 500 + b"\n",
            b"'';\n# Time: \n",
            b"\\",
            b"/*",
        ],
        3,
    ),
)
def test_what_someone_may_write_into_a_string_costs_no_more_than_its_length(line: bytes) -> None:
    text = (line * (MAX_STATEMENT_BYTES // len(line) + 1))[: MAX_STATEMENT_BYTES - 100]  # a quadratic one takes hours
    entries, _ = parsed(HEADER + b"insert into t values ('" + text + b"');\n" + HEADER + b"select 1;\n")
    assert entries[-1].statement == "select 1"
    forged = HEADER.replace(b"Schema: s", b"Schema: s" + b" " * 60_000 + b"x" * 60_000)
    assert (
        parsed(HEADER + b"select '" + (b";\n" + forged) * 5 + b";\n" + HEADER + b"select 1;\n")[0][-1].statement
        == "select 1"
    )
