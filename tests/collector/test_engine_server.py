"""The engine on a server keeps the promises of Engine, over real HTTP, and answers what the embedded one answers."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from walltime_collector.engine import Engine, Parameter, Rows, open_engine
from walltime_collector.engine.dialect import REFUSED_DATA
from walltime_collector.engine.server import ServerEngine
from walltime_collector.errors import EngineUnavailable, InsertRefused, QueryFailed, SettingsRefused
from walltime_collector.query import question
from walltime_collector.settings import Settings
from walltime_collector.spool.segment import Record

from tests.clickhouse_server import ClickHouseServer, Fault
from tests.collector.traffic import Shop, export_request
from tests.servers import eventually

MINUTE_NS = 60_000_000_000
QUERIES = sorted(
    path.name[:-4] for path in (files("walltime_collector") / "queries").iterdir() if path.name[-4:] == ".sql"
)
GARBAGE = Record(1, 1, b"\x0a\x05\x12\x03\x12\x7f\x00")


@pytest.fixture(scope="module")
def clickhouse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClickHouseServer]:
    with ClickHouseServer(tmp_path_factory.mktemp("clickhouse")) as server:
        yield server


def connect(clickhouse: ClickHouseServer, database: str = "walltime", **other: Any) -> ServerEngine:
    said = {"user": clickhouse.user, "password": clickhouse.password, "database": database, "timeout_s": 30, **other}
    return ServerEngine(clickhouse.url, **said)


@pytest.fixture(scope="module")
def server(clickhouse: ClickHouseServer) -> Iterator[ServerEngine]:
    engine = connect(clickhouse)
    engine.migrate()
    yield engine
    engine.close()


@pytest.fixture(autouse=True)
def all_is_well_again(clickhouse: ClickHouseServer) -> Iterator[None]:
    yield
    clickhouse.goes_wrong()


def some_records(seed: int, visits: int = 20) -> list[Record]:
    first_ns, makes = time.time_ns() - 9 * MINUTE_NS, Shop(seed=seed)
    sent = [makes.visit(first_ns + at * (8 * MINUTE_NS // visits)) for at in range(visits)]
    return [Record(first_ns + at, len(each), export_request(each)) for at, each in enumerate(sent)]


def count(engine: Engine, table: str = "transactions") -> int:
    return int(engine.query("SELECT count() AS n FROM {table:Identifier}", {"table": table})[0]["n"])


# The same answers


@dataclass
class Both:
    """The embedded engine and the server's, with the same ten minutes of the shop in both."""

    embedded: Engine
    server: Engine
    records: list[Record]

    def agree(self, sql: str, parameters: dict[str, Parameter] | None = None) -> Rows:
        answer = self.embedded.query(sql, parameters)
        assert self.server.query(sql, parameters) == answer
        return answer


@pytest.fixture(scope="module")
def both(engine: Engine, clickhouse: ClickHouseServer) -> Iterator[Both]:
    other = connect(clickhouse, "both")
    other.migrate()
    records = some_records(seed=5, visits=600)
    for each in (engine, other):
        each.insert(records, "shop")
    yield Both(engine, other, records)
    other.close()


def test_the_tables_are_the_embedded_engines_tables(both: Both) -> None:
    tables = both.agree(
        "SELECT name, engine, sorting_key, partition_key FROM system.tables"
        " WHERE database = currentDatabase() ORDER BY name"
    )
    assert len(tables) > 6
    both.agree(
        "SELECT table, name, type, default_expression, compression_codec FROM system.columns"
        " WHERE database = currentDatabase() ORDER BY table, position"
    )
    assert both.agree("SELECT name FROM schema_migrations ORDER BY name")


@pytest.mark.parametrize("table", ["transactions", "spans"])
def test_what_is_inserted_comes_out_the_same_in_every_column(both: Both, table: str) -> None:
    rows = both.agree(f"SELECT * FROM {table} ORDER BY started_at, span_id")
    assert len(rows) >= 600 if table == "transactions" else rows


@pytest.mark.parametrize("name", QUERIES)
def test_every_question_has_the_embedded_engines_answer(both: Both, name: str) -> None:
    sql = question(name)
    (one,) = both.embedded.query(
        "SELECT lower(hex(any(trace_id))) AS id, max(duration_ns) AS longest_ns FROM transactions"
    )
    now_ns = time.time_ns()
    known: dict[str, Parameter] = {
        **dict.fromkeys(("since_ns", "start_ns", "slow_start_ns", "usual_start_ns"), now_ns - 30 * MINUTE_NS),
        **dict.fromkeys(("end_ns", "until_ns", "slow_end_ns", "usual_end_ns"), now_ns),
        "trace_id": one["id"],
        "threshold_ns": one["longest_ns"] // 4,
        "name": "GET /product/{id}",
        "service": "shop",
        "by": "total",
        "limit": 50,
    }
    of_type: dict[str, Parameter] = {"String": "", "Float64": 0.5}
    placeholders = dict(re.findall(r"\{(\w+):([^}]+)\}", sql))
    parameters = {each: known.get(each, of_type.get(kind, 2)) for each, kind in placeholders.items()}
    answer = both.agree(sql, parameters)
    if name in {"top", "show_transactions"}:
        assert answer


@given(text=st.text(st.characters(exclude_categories=["Cs"])), numbers=st.lists(st.integers(-(2**63), 2**63 - 1)))
@settings(max_examples=100)
def test_a_parameter_is_a_value_whatever_is_in_it(both: Both, text: str, numbers: list[int]) -> None:
    parameters: dict[str, Parameter] = {
        "text": text,
        "texts": [text, "'", text],
        "numbers": numbers,
        "nothing": None,
        "yes": True,
        "share": 0.1,
    }
    (row,) = both.agree(
        "SELECT {text:String} AS text, {texts:Array(String)} AS texts, {numbers:Array(Int64)} AS numbers,"
        " {nothing:Nullable(String)} AS nothing, {yes:Bool} AS yes, {share:Float64} AS share",
        parameters,
    )
    assert row == parameters


def test_a_parameter_too_long_for_a_url_is_answered_too(both: Both, clickhouse: ClickHouseServer) -> None:
    text = "ü&%'" * 20_000
    (row,) = both.agree("SELECT {text:String} AS text", {"text": text})
    assert row == {"text": text}
    assert len(clickhouse.seen()["seen"][-1]["target"]) < 2_000


def test_a_parameter_the_question_does_not_name_is_left_out(both: Both) -> None:
    assert both.agree("SELECT '100 %' AS text", {"unused": "x"}) == [{"text": "100 %"}]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT number FROM numbers(1000001)",
        "SELECT no_such_column FROM transactions",
        "SELECT 1 FROM no_such_table",
        "SELECT {wanted:String}",
        "INSERT INTO spans SELECT * FROM spans",
        "DROP TABLE spans",
        "SELECT * FROM url('http://127.0.0.1:9/', CSV, 'a String')",
        "SELECT groupArray(repeat('x', 1000000)) FROM numbers(5000)",
    ],
)
def test_what_the_embedded_engine_refuses_to_answer_the_server_refuses(both: Both, sql: str) -> None:
    before = count(both.server, "spans")
    for engine in (both.embedded, both.server):
        with pytest.raises(QueryFailed, match=r"^Code: \d+"):
            engine.query(sql)
    assert count(both.server, "spans") == before


# Other people's statements


@pytest.mark.parametrize("format_name", ["Native", "JSONCompact", "TabSeparatedWithNames"])
def test_a_statement_is_answered_in_the_format_asked_for(both: Both, format_name: str) -> None:
    sql = "SELECT service, name, count() FROM transactions GROUP BY ALL ORDER BY ALL -- a comment"
    settings = {"max_result_rows": "1000", "output_format_write_statistics": "0"}
    answers = [each.read(sql, format_name, name="one", settings=settings) for each in (both.embedded, both.server)]
    assert answers[0] == answers[1]
    assert b"product" in answers[0]


def test_nothing_of_one_read_is_left_for_the_next_and_none_writes(both: Both) -> None:
    with pytest.raises(QueryFailed, match="Code: 396"):
        both.server.read("SELECT number FROM numbers(9)", "CSV", name="one", settings={"max_result_rows": "8"})
    assert both.server.read("SELECT count() FROM numbers(9)", "CSV", name="two", settings={}) == b"9\n"
    with pytest.raises(QueryFailed, match="Code: 164"):
        both.server.read("CREATE TABLE t (a Int8) ENGINE = Memory", "CSV", name="three", settings={})


def test_a_read_that_is_stopped_ends(both: Both) -> None:
    failed: list[QueryFailed] = []
    slow = "SELECT sum(sleepEachRow(0.1)) FROM numbers(200)"

    def ask() -> None:
        with pytest.raises(QueryFailed) as error:
            both.server.read(slow, "CSV", name="long", settings={"max_block_size": "1"})
        failed.append(error.value)

    thread = threading.Thread(target=ask)
    thread.start()
    running = "SELECT count() AS n FROM system.processes WHERE Settings['log_comment'] = 'long'"
    eventually(lambda: both.server.query(running)[0]["n"])
    both.server.stop("nobody")
    both.server.stop("long")
    thread.join(10)
    assert "Code: 394" in str(failed[0])


# Migrating


def test_several_collectors_may_migrate_at_once_and_again(clickhouse: ClickHouseServer) -> None:
    engines = [connect(clickhouse, "crowded") for _ in range(3)]
    threads = [threading.Thread(target=engine.migrate) for engine in engines]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    engines[0].migrate()
    applied = engines[0].query("SELECT DISTINCT name FROM schema_migrations")
    assert len(applied) == len(
        [path for path in (files("walltime_collector") / "schema").iterdir() if path.name[0] == "0"]
    )
    engines[1].insert(some_records(seed=1), "first")
    assert count(engines[2]) > 0
    for engine in engines:
        engine.close()


def test_a_migration_that_was_cut_off_goes_on_where_it_was(clickhouse: ClickHouseServer) -> None:
    engine = connect(clickhouse, "cut_off")
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


def test_bytes_that_are_no_request_are_refused_and_nothing_is_stored(server: ServerEngine) -> None:
    before = count(server)
    with pytest.raises(InsertRefused, match="bad-1"):
        server.insert([*some_records(seed=4), GARBAGE], "bad-1")
    assert count(server) == before


@pytest.mark.parametrize("code", [0, 159, 202, 209, 210, 241, 242, 243, 252, 516, 999])
def test_an_error_that_may_pass_is_no_verdict_on_the_data(
    server: ServerEngine, clickhouse: ClickHouseServer, code: int
) -> None:
    clickhouse.goes_wrong(Fault("INSERT INTO otlp_traces", then="error", code=code, times=9))
    with pytest.raises(EngineUnavailable, match=f"insert try-{code}: .*{code or 'Bad Gateway'}"):
        server.insert(some_records(seed=6), f"try-{code}")


@pytest.mark.parametrize("code", sorted(REFUSED_DATA))
def test_an_error_that_speaks_of_the_bytes_is_a_verdict(
    server: ServerEngine, clickhouse: ClickHouseServer, code: int
) -> None:
    clickhouse.goes_wrong(Fault("INSERT INTO otlp_traces", then="error", code=code, status=400))
    with pytest.raises(InsertRefused):
        server.insert(some_records(seed=7), f"refused-{code}")


def test_the_page_of_a_proxy_does_not_pass_for_stored_data(server: ServerEngine, clickhouse: ClickHouseServer) -> None:
    clickhouse.goes_wrong(Fault("INSERT INTO otlp_traces", then="page"))
    with pytest.raises(EngineUnavailable, match="not as ClickHouse does"):
        server.insert(some_records(seed=8), "page")
    clickhouse.goes_wrong(Fault("SELECT 7", then="page"))
    with pytest.raises(EngineUnavailable, match="not as ClickHouse does"):
        server.query("SELECT 7")


# Asking while something is wrong


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
def test_no_answer_now_is_said_as_such_and_the_next_question_is_answered(
    clickhouse: ClickHouseServer, fault: Fault
) -> None:
    engine = connect(clickhouse, timeout_s=1)
    assert engine.query("SELECT 9 AS n") == [{"n": 9}]
    clickhouse.goes_wrong(fault)
    with pytest.raises(EngineUnavailable, match=re.escape(clickhouse.url)):
        engine.query("SELECT 8 AS n")
    clickhouse.goes_wrong()
    assert engine.query("SELECT 8 AS n") == [{"n": 8}]
    engine.close()


def test_a_reset_connection_is_tried_once_more_for_a_question(
    server: ServerEngine, clickhouse: ClickHouseServer
) -> None:
    clickhouse.goes_wrong(Fault("SELECT 8", then="reset"))
    assert server.query("SELECT 8 AS n") == [{"n": 8}]


def test_memory_of_the_query_is_a_limit_and_of_the_server_a_reason_to_wait(
    server: ServerEngine, clickhouse: ClickHouseServer
) -> None:
    clickhouse.goes_wrong(Fault("SELECT 10", then="error", code=241))
    with pytest.raises(QueryFailed):
        server.query("SELECT 10")
    clickhouse.goes_wrong(Fault("SELECT 10", then="error", code=241, said="(total) memory limit exceeded"))
    with pytest.raises(EngineUnavailable):
        server.query("SELECT 10")


# Who may, and what nobody sees


def test_the_password_is_in_no_url_and_in_no_message(
    server: ServerEngine, clickhouse: ClickHouseServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    wrong = connect(clickhouse, password="wr0ng-but-mine")
    with pytest.raises(EngineUnavailable, match="cannot connect as walltime: Code: 516") as refused:
        wrong.query("SELECT 1")
    server.query("SELECT 1")
    said = f"{refused.value} {caplog.text} {json.dumps(clickhouse.seen())} {clickhouse.output()}"
    assert "wr0ng" not in said
    assert "s3cret" not in said


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
