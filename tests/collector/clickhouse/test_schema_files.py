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
from collections.abc import Iterator
from pathlib import Path

import pytest
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.clickhouse.schema_files import ONE_MACHINE, on_cluster, schema_files, statements

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
