"""
The tables and views that the schema files make, on one machine and on a cluster, are the ones that are in use.

A schema file that was applied is never applied again, so a changed statement reaches new databases only. schema.sha256
has the digest of each statement, as ClickHouse formats it, so that comments and line breaks do not count. The digests
were made from the files of commit 197230c, where a module rewrote the statements for a cluster. After a change that is
meant, copy the lines that the failing test prints into schema.sha256.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.clickhouse.schema_files import ONE_MACHINE, on_cluster, schema_files, statements
from walltime_collector.spool.segment import Record

from tests.collector.traffic import MS, Sent, SentSample, export_request

DIGESTS = Path(__file__).with_name("schema.sha256")
PLACEHOLDERS = {"one machine": ONE_MACHINE, "cluster": on_cluster("shop", "walltime")}
MIGRATIONS = "schema_migrations.sql"


def digests(engine: Engine, where: str) -> Iterator[str]:
    """A line for each statement: digest, `where`, file, number."""
    placeholders = PLACEHOLDERS[where]
    migrations = (MIGRATIONS, list(statements(f"schema/{MIGRATIONS}", placeholders)))
    for name, made in [*schema_files(placeholders), migrations]:
        for number, statement in enumerate(made, 1):
            (row,) = engine.query("SELECT formatQuerySingleLine({sql:String}) AS sql", {"sql": statement})
            yield f"{hashlib.sha256(row['sql'].encode()).hexdigest()[:32]} {where}: {name} {number}"


@pytest.mark.parametrize("where", PLACEHOLDERS)
def test_the_schema_files_make_the_tables_and_views_that_are_in_use(engine: Engine, where: str) -> None:
    known = [line for line in DIGESTS.read_text("utf-8").splitlines() if f" {where}: " in line]
    assert list(digests(engine, where)) == known


@pytest.mark.parametrize("where", PLACEHOLDERS)
def test_no_placeholder_is_left_in_a_statement(where: str) -> None:
    macros = {"{shard}", "{database}", "{table}", "{replica}"} if where == "cluster" else set()
    for name, made in schema_files(PLACEHOLDERS[where]):
        for statement in made:
            assert set(re.findall(r"\{[a-z_]\w*\}", statement)) <= macros, name


WAITS = ("cpu_wait_ns", "cpu_throttled_ns", "loop_run_ns", "loop_wait_ns")
WAITS_1M = ("cpu_wait_ns", "cpu_wait_known", "loop_wait_ns", "loop_wait_known")


def _query(view: str) -> str:
    """The query of a view, without the waits."""
    made = "".join(text for _, texts in schema_files(ONE_MACHINE) for text in texts if f"EXISTS {view}" in text)
    query = made.partition(f"EXISTS {view}")[2].partition(" AS\n")[2]
    return re.sub(r"    [^\n]* AS (?:cpu_wait|cpu_throttled|loop)_\w+,\n", "", query)


def test_a_store_that_is_older_than_samples_and_waits_gets_them(engine: Engine) -> None:
    before = re.sub(
        r"    arrayMap\(\s+\(count, at\) -> .*? AS sample,\n", "", _query("store_transactions"), flags=re.DOTALL
    )
    old_columns = ", ".join(("sample", *WAITS))
    for statement in (
        "DROP TABLE count_samples",
        "DROP TABLE other_1m",
        "CREATE OR REPLACE VIEW otel_traces AS SELECT 1 AS none",
        f"ALTER TABLE take_sample MODIFY QUERY SELECT * EXCEPT ({old_columns}) FROM transactions",
        f"ALTER TABLE store_transactions MODIFY QUERY {before}",
        f"ALTER TABLE count_transactions MODIFY QUERY {_query('count_transactions')}",
        *(
            f"ALTER TABLE {table} DROP COLUMN {column}"
            for table in ("transactions", "sampled_transactions")
            for column in ("sample", *WAITS)
        ),
        *(f"ALTER TABLE transactions_1m DROP COLUMN {column}" for column in WAITS_1M),
        "ALTER TABLE schema_migrations DELETE WHERE name >= '019' SETTINGS mutations_sync = 1",
    ):
        engine.command(statement)
    old, new = (
        Sent(f"{at:031x}0", f"{at:016x}", "GET /x", time.time_ns(), MS, samples=[SentSample("shop/views.py:42")])
        for at in (1, 2)
    )
    engine.insert([Record(time.time_ns(), 1, export_request([old]))], "before the samples")
    engine.migrate()
    new.attributes = {f"walltime.{name}": number for number, name in enumerate(WAITS, 1)}
    engine.insert([Record(time.time_ns(), 1, export_request([new]))], "with the samples")
    rows = engine.query("SELECT hex(span_id) AS span, sample.line AS lines FROM transactions ORDER BY span")
    assert [row["lines"] for row in rows] == [[], ["shop/views.py:42"]]
    assert engine.query("SELECT line, samples FROM other_1m") == [{"line": "shop/views.py:42", "samples": 1}]
    rows = engine.query(f"SELECT {', '.join(WAITS)} FROM transactions ORDER BY span_id")
    assert [tuple(row.values()) for row in rows] == [(None, 0, None, None), (1, 2, 3, 4)]
    (row,) = engine.query(f"SELECT {', '.join(f'sum({name}) AS {name}' for name in WAITS_1M)} FROM transactions_1m")
    assert tuple(map(int, row.values())) == (1, 1, 4, 1)
    in_all, in_sample = (
        [(row["name"], row["type"]) for row in engine.query(f"DESCRIBE {table}")]
        for table in ("transactions", "sampled_transactions")
    )
    assert in_all == in_sample
    assert "walltime.sample.line" in str(engine.query("SELECT SpanAttributes FROM otel_traces"))
