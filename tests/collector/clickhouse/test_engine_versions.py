"""
Everything that is sent to a server is known to the oldest supported version.

No server of another version is here. What is: `compatibility`, which gives functions and defaults of that version, and
what the engine records of itself in `system.functions` (`introduced_in`) and `system.settings_changes`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

import pytest
from walltime_collector.cli.doctor.clickhouse import OLDEST, OLDEST_FOR_SQL
from walltime_collector.clickhouse.dialect import QUERY_LIMITS
from walltime_collector.clickhouse.retention import keep
from walltime_collector.config.settings import Settings
from walltime_collector.query.queries import query_text
from walltime_collector.sql.runner import QueryRunner

from tests.clickhouse_server import ClickHouseServer
from tests.collector.clickhouse.conftest import SERVER
from tests.collector.clickhouse.two_engines import Both, slow_rows, some_records
from tests.collector.every_question import QUERIES, Questions

Version = tuple[int, ...]
_OLD = "Array Bool Date DateTime DateTime64 Enum8 FixedString Float32 Float64 LowCardinality Map Nullable String Tuple"
_INTEGERS = {f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)}
OLD_TYPES = {*_OLD.split(), *_INTEGERS, "AggregateFunction", "SimpleAggregateFunction"}
"""
Data types of servers long before 24.8. Newer ones: Variant (24.1), Dynamic (24.5) and JSON (24.8), experimental until
25.3; Time and Time64 (25.6), QBit (25.10): ClickHouse/agent-skills, clickhouse-js-node-coding/reference/data-types.md.
"""
_NOT_CODE = re.compile(r"'(?:[^'\\]|\\.|'')*'|--[^\n]*|/\*.*?\*/", re.DOTALL)
_CALLED = re.compile(r"\b([A-Za-z_]\w*)\s*\(")
_SETTINGS = re.compile(r"\bSETTINGS\s+((?:\w+\s*=\s*\S+\s*)+)")
_IS_NEW = "reason ILIKE '%new%setting%' OR reason ILIKE '%add%setting%' OR reason ILIKE '%introduc%'"


@pytest.fixture(scope="module")
def both(server_and_cluster: tuple[Both, Both]) -> Both:
    return server_and_cluster[0]


@pytest.fixture(scope="module", params=["26.1", "24.8"])
def older(request: pytest.FixtureRequest, shared_clickhouse: ClickHouseServer, both: Both) -> Iterator[Both]:
    """The server, as compatible with an older version as the engine can be."""
    engine = shared_clickhouse.engine(SERVER, cluster="")
    engine._query_settings = {"compatibility": request.param}
    yield replace(both, server=engine)
    engine.close()


@pytest.mark.nightly
def test_every_query_has_the_same_answer_with_the_functions_and_defaults_of_an_older_version(
    older: Both, everything: Questions
) -> None:
    for asked in everything.values():
        older.answer_alike(asked)


@pytest.mark.nightly
@pytest.mark.parametrize("version", ["26.1", "24.8"])
def test_tables_are_created_and_filled_once_with_the_defaults_of_an_older_version(
    shared_clickhouse: ClickHouseServer, version: str
) -> None:
    engine = shared_clickhouse.engine(f"older_{version.replace('.', '_')}", cluster="")
    engine._query_settings = engine._insert_settings = {"compatibility": version}
    engine.migrate()
    records = some_records(seed=17)
    counts = []
    for token in ("a", "a", "b"):
        engine.insert(records, token)
        engine.insert_rows("slow_log_entries", slow_rows(7), f"slow {token}")
        counts.append(
            [engine.query(f"SELECT count() AS n FROM {table}")[0]["n"] for table in ("spans", "slow_queries")]
        )
    assert counts[0] == counts[1]
    assert counts[2] == [2 * number for number in counts[0]]
    engine.close()


@pytest.fixture(scope="module", params=["by_commands", pytest.param("everything", marks=pytest.mark.nightly)])
def sent(request: pytest.FixtureRequest, shared_clickhouse: ClickHouseServer) -> dict[str, list[str]]:
    """All statements that a collector sends, and the settings with them: tables, data, queries, retention, SQL."""
    engine = shared_clickhouse.engine("recorded")
    engine.migrate()
    engine.insert(some_records(seed=17, visits=2), "a")
    engine.insert_rows("slow_log_entries", slow_rows(2), "b")
    keep(engine, Settings(retention_spans_days=3))
    engine.stop("nobody")
    QueryRunner(engine, "recorded").run("SELECT count() FROM spans", name="x", parameters={}, format_name="CSV")
    engine.close()
    asked: Questions = request.getfixturevalue(request.param)
    texts = {*map(query_text, QUERIES), *(sql for questions in asked.values() for sql, _ in questions)}
    queries = {text: list(QUERY_LIMITS) for text in texts}
    return {**queries, **shared_clickhouse.statements()}


def test_all_that_is_sent_was_recorded(sent: dict[str, list[str]]) -> None:
    for beginning in ("CREATE DATABASE", "CREATE TABLE", "CREATE MATERIALIZED VIEW", "ALTER TABLE", "INSERT INTO",
                      "SELECT", "KILL QUERY", "WITH"):  # fmt: skip
        assert any(_code(text).lstrip().startswith(beginning) for text in sent), beginning
    assert len(sent) > 300


def test_functions_are_in_the_oldest_supported_version(both: Both, sent: dict[str, list[str]]) -> None:
    known = both.server.query("SELECT name, introduced_in, alias_to FROM system.functions")
    versions = {str(row["name"]).lower(): _version(row["introduced_in"]) for row in known}
    versions |= {
        str(row["name"]).lower(): versions.get(str(row["alias_to"]).lower(), (0,)) for row in known if row["alias_to"]
    }
    used = {name.lower() for text in sent for name in _CALLED.findall(_code(text))} & versions.keys()
    newer = {name: versions[name] for name in used if versions[name] > OLDEST}
    assert newer == {"parsequerytojson": OLDEST_FOR_SQL, "formatqueryfromjson": OLDEST_FOR_SQL}
    assert len(used) > 100


def test_settings_are_in_the_oldest_supported_version(both: Both, sent: dict[str, list[str]]) -> None:
    changes = both.server.query(
        "SELECT change.name AS name, version, type FROM system.settings_changes ARRAY JOIN changes AS change"
        f" WHERE change.reason ILIKE '%setting%' AND ({_IS_NEW.replace('reason', 'change.reason')})"
    )
    introduced: dict[str, Version] = {}
    for row in changes:
        name = str(row["name"])
        introduced[name] = min(introduced.get(name, (99,)), _version(row["version"]))
    names = {name for settings in sent.values() for name in settings} - {"compatibility"}
    written = {name for text in sent for clause in _SETTINGS.findall(_code(text)) for name in _names(clause)}
    assert {"insert_deduplication_token", "readonly"} <= names
    assert "non_replicated_deduplication_window" in written
    newest = max((introduced.get(name, (0,)), name) for name in names | written)
    assert newest[0] == OLDEST, newest
    for table in ("system.settings", "system.merge_tree_settings"):
        obsolete = both.server.query(f"SELECT name FROM {table} WHERE is_obsolete")
        assert not (names | written) & {str(row["name"]) for row in obsolete}


def test_data_types_are_in_the_oldest_supported_version(both: Both) -> None:
    rows = both.server.query("SELECT DISTINCT type FROM system.columns WHERE database = currentDatabase()")
    families = {name for row in rows for name in re.findall(r"\b[A-Z]\w*", re.sub(r"'[^']*'", "", str(row["type"])))}
    assert {"FixedString", "LowCardinality", "DateTime64"} <= families
    assert families <= OLD_TYPES


@pytest.mark.nightly
def test_answers_do_not_depend_on_the_time_zone_of_the_server(
    shared_clickhouse: ClickHouseServer, both: Both, everything: Questions
) -> None:
    engine = shared_clickhouse.engine(SERVER, cluster="")
    engine._query_settings = {"session_timezone": "America/St_Johns"}
    elsewhere = replace(both, server=engine)
    for asked in everything.values():
        elsewhere.answer_alike(asked)
    engine.close()


def _code(text: str) -> str:
    """The statement without texts and comments."""
    return _NOT_CODE.sub(lambda part: "''" if part[0].startswith("'") else " ", text)


def _version(text: str) -> Version:
    """Year and month; of what is older than the records, (0,)."""
    return tuple(int(part) for part in text.split(".")[:2]) if text else (0,)


def _names(clause: str) -> Iterable[str]:
    return re.findall(r"(\w+)\s*=", clause)
