"""`walltime sql` and /api/sql on a real collector: the answer in every form, and what is refused in one sentence."""

from __future__ import annotations

import csv
import http.client
import io
import json
import re
import subprocess
import sys
from typing import Any

import pytest
from walltime_collector.clickhouse.dialect import LOST_TEXT

from tests.collector.cli.command import WALLTIME, assert_one_sentence, on_a_terminal, run
from tests.collector.conftest import Collector

BY_NAME = "SELECT name, count() AS transactions, sum(duration_ns) AS ns FROM transactions GROUP BY name ORDER BY name"


def post(collector: Collector, body: bytes, **headers: str) -> tuple[int, Any]:
    connection = http.client.HTTPConnection(collector.web, timeout=30)
    try:
        connection.request("POST", "/api/sql", body, {"Content-Type": "application/json", **headers})
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def expected(collector: Collector) -> list[list[Any]]:
    names = sorted({sent.name for sent in collector.sent})
    durations = {name: [sent.duration_ns for sent in collector.sent if sent.name == name] for name in names}
    return [[name, len(durations[name]), sum(durations[name])] for name in names]


def test_json_is_what_was_sent(collector: Collector) -> None:
    done = run("sql", BY_NAME, "--json", "--url", collector.url)

    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == {
        "columns": [
            {"name": "name", "type": "LowCardinality(String)"},
            {"name": "transactions", "type": "UInt64"},
            {"name": "ns", "type": "UInt64"},
        ],
        "rows": expected(collector),
    }


def test_csv_is_a_line_of_names_and_a_line_per_row(collector: Collector) -> None:
    done = run("sql", BY_NAME, "--csv", "--url", collector.url)

    rows = list(csv.reader(io.StringIO(done.stdout)))
    assert rows[0] == ["name", "transactions", "ns"]
    assert rows[1:] == [[str(value) for value in row] for row in expected(collector)]


def test_csv_keeps_what_is_in_a_value(collector: Collector) -> None:
    done = run("sql", "SELECT 'a,\"b\"\n', NULL, [1, 2], map('k', 'v')", "--csv", "--url", collector.url)
    assert list(csv.reader(io.StringIO(done.stdout)))[1] == ['a,"b"\n', "", "[1, 2]", '{"k": "v"}']


def test_the_table_has_every_row_on_a_line_of_its_own_in_a_pipe(collector: Collector) -> None:
    done = run("sql", BY_NAME + " DESC", "--url", collector.url)

    lines = done.stdout.splitlines()
    assert lines[0].split() == ["name", "transactions", "ns"]
    assert [line.split()[-2:] for line in lines[1:-1]] == [
        [str(value) for value in row[1:]] for row in reversed(expected(collector))
    ]
    assert lines[-1] == f"{len(expected(collector))} rows"
    long = run("sql", "SELECT repeat('x', 5000) AS x, 1 AS y", "--url", collector.url).stdout
    assert len(long.splitlines()[1]) > 5000


def test_a_terminal_gets_its_own_width_and_no_escape_sequences_of_others(collector: Collector) -> None:
    seen = on_a_terminal(80, "sql", "SELECT '\x1b[31mred\x1b[0m', repeat('y', 200) AS long", "--url", collector.url)
    assert "\x1b[31m" not in seen
    assert "red" in seen
    assert seen.count("y") == 200


def lines_of(collector: Collector, columns: int, *arguments: str) -> list[str]:
    """What a terminal shows, without its styles."""
    seen = re.sub(r"\x1b\[[0-9;]*m", "", on_a_terminal(columns, "sql", *arguments, "--url", collector.url))
    return [line.rstrip() for line in seen.splitlines()]


def test_a_row_that_is_wider_than_the_terminal_has_a_line_for_each_value(collector: Collector) -> None:
    wide = "SELECT 1 AS first, 'y' AS second, repeat('z', 90) AS third, NULL AS fourth FROM numbers(2)"
    row = ["first   1", "second  y", f"third   {'z' * 72}", f"        {'z' * 18}", "fourth  NULL", ""]
    assert lines_of(collector, 80, wide) == ["row 1", *row, "row 2", *row, "2 rows"]
    assert lines_of(collector, 200, wide)[0].split() == ["first", "second", "third", "fourth"]
    assert lines_of(collector, 80, wide, "--table")[0].split() == ["first", "second", "third", "fourth"]
    every = lines_of(collector, 80, "SELECT * FROM otel_traces LIMIT 3")
    assert max(len(line) for line in every) <= 80
    assert len([line for line in every if line.startswith("TraceId ")]) == 3


def test_values_are_on_separate_lines_when_requested(collector: Collector) -> None:
    done = run("sql", "SELECT 1 AS a, repeat('x', 300) AS long", "--vertical", "--url", collector.url)
    assert "".join(done.stdout.split()) == f"row1a1long{'x' * 300}1row"
    assert run("sql", "SELECT 1 AS a WHERE 0", "--vertical", "--url", collector.url).stdout == "0 rows\n"


def test_a_statement_comes_from_stdin(collector: Collector) -> None:
    asked = subprocess.run(
        [WALLTIME, "sql", "-", "--csv", "--url", collector.url],
        input="-- a comment\nSELECT 1 + 1 AS two;\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert asked.stdout == "two\n2\n"


def test_the_tables_can_be_listed(collector: Collector) -> None:
    done = run("sql", "SHOW TABLES", "--csv", "--url", collector.url)
    assert {"transactions", "spans", "slow_queries"} <= set(done.stdout.split())
    assert "duration_ns" in run("sql", "DESCRIBE transactions", "--url", collector.url).stdout


def test_the_tables_that_people_query_have_comments_and_so_have_their_columns(collector: Collector) -> None:
    tables = "SELECT name FROM system.tables WHERE comment != ''"
    queried = set(run("sql", tables, "--csv", "--url", collector.url).stdout.split()) - {"name"}
    assert {
        "transactions",
        "spans",
        "slow_queries",
        "transactions_1m",
        "targets_1m",
        "statements_1m",
        "other_1m",
    } <= queried
    columns = "SELECT DISTINCT table FROM system.columns WHERE comment != ''"
    assert queried - set(run("sql", columns, "--csv", "--url", collector.url).stdout.split()) == {"irregular_spans"}


def test_the_response_has_the_rows_that_were_read_and_the_time(collector: Collector) -> None:
    connection = http.client.HTTPConnection(collector.web, timeout=30)
    body = json.dumps({"sql": "SELECT sum(duration_ns) FROM transactions"})
    connection.request("POST", "/api/sql", body, {"Content-Type": "application/json"})
    summary = json.loads(connection.getresponse().headers["X-ClickHouse-Summary"])
    connection.close()
    assert int(summary["read_rows"]) == len(collector.sent)
    assert int(summary["read_bytes"]) > 0
    assert 0 < int(summary["elapsed_ns"]) < 30_000_000_000


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("SELECT * FROM file('/etc/passwd')", "the table function `file` is not allowed"),
        ("SELECT file('/etc/passwd')", "the function `file` is not allowed"),
        ("SELECT 1 INTO OUTFILE '/tmp/walltime-test'", "INTO OUTFILE is not allowed"),
        ("DROP TABLE transactions", "not allowed"),
        ("SELECT 1 FORMAT CSV", "a FORMAT clause is not allowed here"),
        ("SELECT 1 +", "Syntax error"),
        ("SELECT nothing FROM transactions", "Unknown expression identifier"),
        ("", "Empty query"),
    ],
)
def test_a_wrong_statement_is_one_sentence(collector: Collector, statement: str, says: str) -> None:
    assert_one_sentence(run("sql", statement, "--url", collector.url), 2, says)


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("SELECT count() FROM numbers(100000000000)", "TOO_MANY_ROWS"),
        ("SELECT groupArray(repeat('x', 1000)) FROM numbers(10000000)", "MEMORY_LIMIT_EXCEEDED"),
    ],
)
def test_what_is_right_and_too_much_is_no_answer(collector: Collector, statement: str, says: str) -> None:
    assert_one_sentence(run("sql", statement, "--url", collector.url), 1, says)


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("SELECT toUInt8(unhex('cc41'))", "Cannot parse string"),
        ("SELECT toUInt8(trace_id) FROM transactions", "Cannot parse string"),
        ("SELECT toDate(unhex('ff'))", "Cannot parse"),
        ("SELECT throwIf(1, unhex('fffe'))", "FUNCTION_THROW_IF_VALUE_IS_NON_ZERO"),
        ("SELECT arrayMap(x -> toInt64(x), [unhex('c3')])", "Cannot parse"),
    ],
)
def test_an_error_that_is_not_utf_8_is_clickhouses(collector: Collector, statement: str, says: str) -> None:
    done = run("sql", statement, "--url", collector.url)
    is_lost = sys.version_info < (3, 11, 3) and LOST_TEXT in done.stderr
    assert_one_sentence(done, 2, LOST_TEXT if is_lost else says)


@pytest.mark.parametrize(
    "selected",
    ["CAST('a', concat('Enum8(\\'a', unhex('ff'), '\\' = 1)'))", "unhex('ff')", "map(unhex('ff'), [unhex('fe')])"],
)
def test_an_answer_that_is_not_utf_8_is_an_answer(collector: Collector, selected: str) -> None:
    status, document = post(collector, json.dumps({"sql": f"SELECT {selected} AS x"}).encode())
    assert "codec" not in json.dumps(document)
    assert status == (403 if "CAST" in selected else 200)


def test_totals_of_no_rows_are_an_answer_without_rows(collector: Collector) -> None:
    sql = "SELECT service, count() FROM transactions WHERE 0 GROUP BY service WITH TOTALS"
    status, document = post(collector, json.dumps({"sql": sql}).encode())
    assert (status, document["rows"], len(document["columns"])) == (200, [], 2)


def test_two_output_formats_are_refused(collector: Collector) -> None:
    assert_one_sentence(run("sql", "SELECT 1", "--json", "--csv", "--url", collector.url), 2, "choose one")


@pytest.mark.parametrize(
    ("body", "status", "where"),
    [
        (b"", 400, "body"),
        (b"{}", 400, "body"),
        (b"[]", 400, "body"),
        (b'{"sql": 1}', 400, "body"),
        (b'{"sql": "SELECT 1", "database": "system"}', 400, "body"),
        (b"[" * 100_000, 400, "body"),
        (b'{"sql": "\xff"}', 400, "body"),
        (b'{"sql": "SELECT 1"}' + b" " * 3_000_000, 413, "body"),
        (b'{"sql": "SELECT sleep(3)"}', 403, "sql"),
        (b'{"sql": "SELECT"}', 400, "sql"),
        (json.dumps({"sql": "SELECT 1 -- " + "x" * 300_000}).encode(), 403, "sql"),
        (json.dumps({"sql": "SELECT " + "(" * 20_000 + "1" + ")" * 20_000}).encode(), 400, "sql"),
        (json.dumps({"sql": "SELECT '\ud800'"}).encode(), 403, "sql"),
    ],
)
def test_a_bad_request_gets_where_what_and_what_now(collector: Collector, body: bytes, status: int, where: str) -> None:
    answered, document = post(collector, body)
    assert (answered, document["error"]["where"]) == (status, where)
    assert document["error"]["what"]
    assert document["error"]["what_now"]
    assert post(collector, b'{"sql": "SELECT 1"}')[0] == 200


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_a_page_of_another_site_cannot_ask(collector: Collector, content_type: str) -> None:
    """These are the content types a browser sends to another site without asking it first."""
    status, document = post(collector, b'{"sql": "SELECT 1"}', **{"Content-Type": content_type})
    assert (status, document["error"]["where"]) == (400, "Content-Type")
