"""The engine on a server that fails, or with bad data: everything is stored once, or an error is raised."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest
from walltime_collector.clickhouse.dialect import REFUSED_DATA
from walltime_collector.clickhouse.opening import open_engine
from walltime_collector.clickhouse.server.engine import ServerEngine
from walltime_collector.config.settings import Settings
from walltime_collector.errors import EngineUnavailable, InsertRefused, QueryFailed, SettingsRefused

from tests.clickhouse_server import ClickHouseServer, Fault
from tests.collector.clickhouse.bad_record import GARBAGE
from tests.collector.clickhouse.two_engines import count, some_records

MINUTE_NS = 60_000_000_000


@pytest.fixture(scope="module")
def clickhouse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClickHouseServer]:
    with ClickHouseServer(tmp_path_factory.mktemp("clickhouse")) as server:
        yield server


@pytest.fixture(scope="module")
def server(clickhouse: ClickHouseServer) -> Iterator[ServerEngine]:
    engine = clickhouse.engine()
    engine.migrate()
    yield engine
    engine.close()


@pytest.fixture(autouse=True)
def all_is_well_again(clickhouse: ClickHouseServer) -> Iterator[None]:
    yield
    clickhouse.goes_wrong()


# Migrating


@pytest.mark.nightly
def test_several_collectors_may_migrate_at_once_and_again(clickhouse: ClickHouseServer) -> None:
    engines = [clickhouse.engine("crowded") for _ in range(3)]
    threads = [threading.Thread(target=engine.migrate) for engine in engines]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    engines[0].migrate()
    applied = engines[0].query("SELECT DISTINCT name FROM schema_migrations")
    assert len(applied) == len(
        [path for path in (files("walltime_collector.clickhouse") / "schema").iterdir() if path.name[0] == "0"]
    )
    engines[1].insert(some_records(seed=1), "first")
    assert count(engines[2]) > 0
    for engine in engines:
        engine.close()


def test_an_interrupted_migration_continues(clickhouse: ClickHouseServer) -> None:
    engine = clickhouse.engine("cut_off")
    clickhouse.goes_wrong(Fault("CREATE MATERIALIZED VIEW IF NOT EXISTS store_spans", run=True, then="reset", times=9))
    with pytest.raises(EngineUnavailable):
        engine.migrate()
    clickhouse.goes_wrong()
    engine.migrate()
    engine.insert(some_records(seed=2), "first")
    assert count(engine, "spans") > 0
    engine.close()


# Inserting once


def test_the_same_token_stores_once_through_the_views(server: ServerEngine) -> None:
    records = some_records(seed=3)
    before = count(server), count(server, "spans")
    server.insert(records, "same")
    once = count(server), count(server, "spans")
    server.insert(records, "same")
    assert (count(server), count(server, "spans")) == once
    server.insert(records, "other")
    assert count(server) - before[0] == 2 * (once[0] - before[0]) > 0


def test_rows_of_a_table_are_stored_once_too(server: ServerEngine) -> None:
    line = {"started_us": 1, "read_at": int(time.time()), "fingerprint": "select ?", "trace_id": "ab" * 16}
    rows = json.dumps(line).encode() + b"\n"
    before = count(server, "slow_queries")
    server.insert_rows("slow_log_entries", rows * 3, "rows-1")
    server.insert_rows("slow_log_entries", rows * 3, "rows-1")
    assert count(server, "slow_queries") - before == 3
    with pytest.raises(InsertRefused, match="rows-2"):
        server.insert_rows("slow_log_entries", b"{no json\n", "rows-2")


def test_bytes_that_are_no_request_are_refused_and_not_stored(server: ServerEngine) -> None:
    before = count(server)
    with pytest.raises(InsertRefused, match="bad-1"):
        server.insert([*some_records(seed=4), GARBAGE], "bad-1")
    assert count(server) == before


@pytest.mark.parametrize("code", [0, 159, 202, 209, 210, 241, 242, 243, 252, 516, 999])
def test_a_temporary_error_does_not_refuse_the_data(
    server: ServerEngine, clickhouse: ClickHouseServer, code: int
) -> None:
    clickhouse.goes_wrong(Fault("INSERT INTO otlp_traces", then="error", code=code, times=9))
    with pytest.raises(EngineUnavailable, match=f"insert try-{code}: .*{code or 'Bad Gateway'}"):
        server.insert(some_records(seed=6), f"try-{code}")


@pytest.mark.parametrize("code", sorted(REFUSED_DATA))
def test_an_error_about_the_bytes_refuses_the_data(
    server: ServerEngine, clickhouse: ClickHouseServer, code: int
) -> None:
    clickhouse.goes_wrong(Fault("INSERT INTO otlp_traces", then="error", code=code, status=400))
    with pytest.raises(InsertRefused):
        server.insert(some_records(seed=7), f"refused-{code}")


def test_a_proxys_page_is_not_taken_for_stored_data(server: ServerEngine, clickhouse: ClickHouseServer) -> None:
    clickhouse.goes_wrong(Fault("INSERT INTO otlp_traces", then="page"))
    with pytest.raises(EngineUnavailable, match="not as ClickHouse does"):
        server.insert(some_records(seed=8), "page")
    clickhouse.goes_wrong(Fault("SELECT 7", then="page"))
    with pytest.raises(EngineUnavailable, match="not as ClickHouse does"):
        server.query("SELECT 7")


# Queries while the server fails


@pytest.mark.parametrize(
    "fault",
    [
        Fault("SELECT 8", then="reset", times=9),
        Fault("SELECT 8", then="half", run=True, times=9),
        Fault("SELECT 8", then="error", status=502, times=9),
        Fault("SELECT 8", then="error", code=202, status=503, times=9),
        Fault("SELECT 8", run=True, delay_s=3, times=9),
    ],
    ids=["reset", "half an answer", "bad gateway", "too many queries", "slow"],
)
def test_no_answer_raises_engine_unavailable_and_the_next_query_is_answered(
    clickhouse: ClickHouseServer, fault: Fault
) -> None:
    engine = clickhouse.engine(timeout_s=1)
    assert engine.query("SELECT 9 AS n") == [{"n": 9}]
    clickhouse.goes_wrong(fault)
    with pytest.raises(EngineUnavailable, match=re.escape(clickhouse.url)):
        engine.query("SELECT 8 AS n")
    clickhouse.goes_wrong()
    assert engine.query("SELECT 8 AS n") == [{"n": 8}]
    engine.close()


def test_a_query_is_repeated_once_after_a_reset_connection(server: ServerEngine, clickhouse: ClickHouseServer) -> None:
    clickhouse.goes_wrong(Fault("SELECT 8", then="reset"))
    assert server.query("SELECT 8 AS n") == [{"n": 8}]


def test_a_query_over_its_memory_limit_fails_and_a_server_out_of_memory_is_unavailable(
    server: ServerEngine, clickhouse: ClickHouseServer
) -> None:
    clickhouse.goes_wrong(Fault("SELECT 10", then="error", code=241))
    with pytest.raises(QueryFailed):
        server.query("SELECT 10")
    clickhouse.goes_wrong(Fault("SELECT 10", then="error", code=241, said="(total) memory limit exceeded"))
    with pytest.raises(EngineUnavailable):
        server.query("SELECT 10")


# Credentials


def test_the_password_is_in_no_url_and_in_no_message(
    server: ServerEngine, clickhouse: ClickHouseServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    wrong = clickhouse.engine(password="wr0ng-but-mine")
    with pytest.raises(EngineUnavailable, match="cannot connect as walltime: Code: 516") as refused:
        wrong.query("SELECT 1")
    server.query("SELECT 1")
    texts = f"{refused.value} {caplog.text} {json.dumps(clickhouse.seen())} {clickhouse.output()}"
    assert "wr0ng" not in texts
    assert "s3cret" not in texts


def test_the_password_comes_from_a_file_or_the_environment_and_is_not_shown(
    clickhouse: ClickHouseServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WALLTIME_CLICKHOUSE", clickhouse.url)
    monkeypatch.setenv("WALLTIME_CLICKHOUSE_USER", clickhouse.user)
    monkeypatch.setenv("WALLTIME_CLICKHOUSE_PASSWORD", clickhouse.password)
    assert open_engine(Settings()).query("SELECT 1 AS n") == [{"n": 1}]
    assert "s3cret" not in f"{Settings()!r} {Settings()}"
    monkeypatch.setenv("WALLTIME_CLICKHOUSE_PASSWORD", "wrong")
    secret = tmp_path / "password"
    monkeypatch.setenv("WALLTIME_CLICKHOUSE_PASSWORD_FILE", str(secret))
    with pytest.raises(SettingsRefused, match=r"WALLTIME_CLICKHOUSE_PASSWORD_FILE .*No such file"):
        open_engine(Settings())
    secret.write_text(clickhouse.password + "\n")
    assert open_engine(Settings()).query("SELECT 1 AS n") == [{"n": 1}]


@pytest.mark.parametrize(
    "url",
    ["localhost:8123", "tcp://host:9000", "http://", "http://host:99999", "http://u:s3cret@host", "http://h/?a=b"],
)
def test_an_address_that_cannot_work_is_refused_at_once(url: str) -> None:
    with pytest.raises(SettingsRefused) as refused:
        ServerEngine(url, user="u", password="", database="walltime", timeout_s=1)
    assert "s3cret" not in str(refused.value)


def test_a_database_that_a_later_version_has_migrated_is_used_with_a_warning(
    clickhouse: ClickHouseServer, caplog: pytest.LogCaptureFixture
) -> None:
    """Collectors that share it are updated one after the other; an embedded one is refused (tests/upgrades)."""
    engine = clickhouse.engine("later")
    engine.migrate()
    assert "later" not in caplog.text
    engine.command("INSERT INTO schema_migrations (name) SELECT '999_later.sql'")
    engine.migrate()
    assert "has migrated the database (it has 999_later.sql); this version goes on" in caplog.text
    engine.close()
