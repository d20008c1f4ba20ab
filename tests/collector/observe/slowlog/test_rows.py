"""What is stored of an entry: its numbers, its sender, and none of its literals."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.observe.slowlog.rows import TABLE, rows
from walltime_collector.statements.long import MAX_STATEMENT_BYTES

from tests.collector.observe.slowlog.real_logs import HEADER, MARIADB, MYSQL_8, PERCONA_8, parsed

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "00f067aa0ba902b7"
COMMENT = f"/*route='%2Fx',service='shop',traceparent='00-{TRACE}-{SPAN}-01'*/"


def made(log: bytes) -> list[Any]:
    entries, _ = parsed(log)
    return [json.loads(line) for line in rows(entries, "db", 1_795_253_970).splitlines()]


def test_every_number_arrives_in_its_column(engine: Engine) -> None:
    log = MARIADB + MYSQL_8 + PERCONA_8 + HEADER + f"select * from t where id = 5 {COMMENT};\n".encode()
    entries, _ = parsed(log)
    for _ in range(2):  # the second time is a repetition
        engine.insert_rows(TABLE, rows(entries, "db", int(time.time())), "numbers")
    stored = engine.query(
        "SELECT * EXCEPT (trace_id, span_id), lower(hex(trace_id)) AS trace, lower(hex(span_id)) AS span,"
        " toUnixTimestamp64Micro(started_at) AS started_us FROM slow_queries WHERE server = 'db' ORDER BY position"
    )
    by_position = {int(row["position"]): row for row in stored}
    assert len(by_position) == len(stored) == len(entries)
    for entry in entries:
        row = by_position[entry.position]
        for column in (
            *("query_ns", "lock_ns", "row_lock_ns", "io_wait_ns", "rows_sent", "rows_examined", "rows_affected"),
            *("bytes_sent", "database", "user", "client_host", "connection_id", "weight", "errno", "started_us"),
        ):
            assert row[column] == getattr(entry, column), column
        assert row["fields"] == dict(entry.fields)
        assert {name for name in row if name.startswith("is_") and row[name]} == set(entry.flags)
    tagged = by_position[entries[-1].position]
    assert (tagged["trace"], tagged["span"]) == (TRACE, SPAN)
    assert (tagged["service"], tagged["route"], tagged["fingerprint"]) == ("shop", "/x", "select * from t where id = ?")
    assert by_position[entries[0].position]["trace"] == "0" * 32


def test_an_absurd_entry_is_stored_as_far_as_it_makes_sense(engine: Engine) -> None:
    log = (
        b"# Time: 2026-99-99T99:99:99.0Z\n# User@Host: \xff\x00[\xfe] @ h []  Id: 99999999999999999999999999\n"
        b"# Schema: \xff\xfe  Last_errno: 4294967296999  Killed: 0\n"
        b"# Query_time: 315000000.5  Lock_time: nan  Rows_sent: 99999999999999999999999  Rows_examined: -5\n"
        b"# Log_slow_rate_type: query  Log_slow_rate_limit: 0\n"
        b"SET timestamp=99999999999999999;\nselect '\xed\xa0\x80\xff\x00' as x;\n"
    )
    entries, _ = parsed(log)
    engine.insert_rows(TABLE, rows(entries, "absurd", int(time.time())), "absurd")
    (row,) = engine.query("SELECT query_ns, rows_sent, rows_examined, weight FROM slow_queries WHERE server = 'absurd'")
    assert row == {"query_ns": 315_000_000_500_000_000, "rows_sent": 2**64 - 1, "rows_examined": 0, "weight": 1}


@pytest.mark.parametrize(
    "statement",
    [
        "select 'canary', \"canary\", x'canary'",
        "select 1 /* canary */ -- canary\n# canary",
        "insert into t values ('it''s canary', 'a\\'canary')",
        "select 'canary",
        "select 1 /*service='shop',secret='canary'*/",
        "insert into t values ('" + "x" * MAX_STATEMENT_BYTES + "canary')",
        "insert into t values ('" + "canary" * (MAX_STATEMENT_BYTES // 3) + "') /*traceparent='x'*/",
        "select * from t where a = 'canary' limit 5",
    ],
)
def test_no_literal_is_in_a_row(statement: str) -> None:
    log = MARIADB + HEADER + statement.encode() + b";\n" + HEADER + b"select 1;\n"
    assert "canary" in log.decode()
    assert "canary" not in json.dumps(made(log))


def test_the_end_of_a_statement_over_the_limit_says_whose_it_is() -> None:
    values = "(1),".join([""] * (MAX_STATEMENT_BYTES // 3))
    row = made(HEADER + f"insert into t values {values}(1) {COMMENT};\n".encode() + HEADER + b"select 1;\n")[0]
    assert (row["trace_id"], row["fingerprint"]) == (TRACE, "insert into t values(?+)")
    assert "cut" in row["fields"]


def test_a_row_has_a_bounded_size() -> None:
    columns = ", ".join(f"column_{at}" for at in range(150_000))
    row = made(HEADER + f"select {columns} from t;\n".encode() + HEADER + b"select 1;\n")[0]
    assert len(row["sample"]) == 4_096
    assert len(row["fingerprint"]) == 8_192


@pytest.mark.parametrize(
    "value", ["'x'", "'it\\'s \"a\"'", "'{\\\"a\\\": 1}'", "'2026-01-01'", "'a -- # /* b'", "'中文'", "5"]
)
def test_a_long_insert_has_the_fingerprint_and_the_sample_of_a_short_one(value: str) -> None:
    def insert(rows_of_it: int) -> str:
        rows_text = ", ".join([f"({value}, 5, 'plain text')"] * rows_of_it)
        return f"INSERT INTO t (a, b, c) VALUES {rows_text} ON DUPLICATE KEY UPDATE a = VALUES(a), b = 5 {COMMENT}"

    short, long = made(
        b"".join(HEADER + insert(number).encode() + b";\n" for number in (900, 12_000)) + HEADER + b"select 1;\n"
    )[:2]
    assert short["fingerprint"].endswith("values(?+) on duplicate key update a = values(a), b = ?")
    for column in ("fingerprint", "fingerprint_id", "sample", "trace_id", "service"):
        assert long[column] == short[column], column
