"""`walltime doctor --clickhouse` on a server without faults, and with each fault that a server can have."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner
from walltime_collector.cli import app
from walltime_collector.cli.doctor import clickhouse
from walltime_collector.cli.doctor.cluster import Node, check_cluster, check_node, check_tokens
from walltime_collector.clickhouse.dialect import QUERY_LIMITS
from walltime_collector.clickhouse.inserts import insert_settings

from tests.by_day import by_day
from tests.clickhouse_server import ClickHouseServer, Fault
from tests.collector.cli.command import assert_one_sentence, run

CHECKS = ["connection", "version", "clock", "time zone", "settings", "disk", "tables", "once", "read", "clean up"]
SETTINGS = "max, readonly FROM system.settings"
_COLUMNS = ["name", "value", "min", "max", "readonly"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClickHouseServer]:
    with ClickHouseServer(tmp_path_factory.mktemp("clickhouse"), cluster="shop") as running:
        yield running


Found = tuple[int, dict[str, dict[str, str]]]


def examined(server: ClickHouseServer, *faults: Fault, cluster: str = "", database: str = "walltime") -> Found:
    """The exit status and the checks that are not OK."""
    server.goes_wrong(*faults)
    environment = {"WALLTIME_CLICKHOUSE_USER": server.user, "WALLTIME_CLICKHOUSE_PASSWORD": server.password}
    options = ["doctor", "--clickhouse", server.url, "--json"]
    environment |= {"WALLTIME_CLUSTER": cluster, "WALLTIME_DATABASE": database}
    done = CliRunner().invoke(app, options, env=environment, catch_exceptions=False)
    (examination,) = json.loads(done.stdout)["servers"]
    left = server.seen()["faults_left"]
    server.goes_wrong()
    assert not left, "a fault had no effect"
    assert examination["is_ok"] == (done.exit_code == 0)
    return done.exit_code, {check["name"]: check for check in examination["checks"] if check["level"] != "OK"}


def before_tables(server: ClickHouseServer, *faults: Fault, cluster: str = "") -> Found:
    """The same without creating tables, which takes most of the time: a right for them is missing."""
    _, found = examined(server, *faults, Fault("CREATE DATABASE", then="error", code=497), cluster=cluster)
    assert found.pop("tables")["level"] == "FAIL"
    return int(any(check["level"] == "FAIL" for check in found.values())), found


def rows(**columns: Any) -> str:
    """An answer of one row."""
    return json.dumps({"meta": [{"name": name} for name in columns], "data": [[*columns.values()]]})


def databases(server: ClickHouseServer) -> set[str]:
    engine = server.engine("system", cluster="")
    names = {str(row["name"]) for row in engine.query("SELECT name FROM system.databases")}
    engine.close()
    return names


def test_a_server_without_faults_passes_every_check_and_keeps_nothing(server: ClickHouseServer) -> None:
    before = databases(server)
    environment = {"WALLTIME_CLICKHOUSE_USER": server.user, "WALLTIME_CLICKHOUSE_PASSWORD": server.password}
    done = CliRunner().invoke(app, ["doctor", "--clickhouse", server.url], env={**environment, "COLUMNS": "200"})
    lines = done.stdout.splitlines()
    assert [re.split(r"  +", line)[:2] for line in lines[1:-1]] == [["OK", name] for name in CHECKS]
    assert lines[-1] == "OK: all checks passed"
    assert done.exit_code == 0
    assert databases(server) == before


def test_the_exit_status_is_1_when_one_of_several_servers_fails(server: ClickHouseServer) -> None:
    environment = {"WALLTIME_CLICKHOUSE_USER": server.user, "WALLTIME_CLICKHOUSE_PASSWORD": server.password}
    server.goes_wrong(Fault("CREATE DATABASE", then="error", code=497))
    options = ["doctor", "--clickhouse", "http://127.0.0.1:1", "--clickhouse", server.url]
    done = CliRunner().invoke(app, options, env={**environment, "COLUMNS": "200"})
    assert done.exit_code == 1
    assert re.search(r"FAIL  connection  .*refused", done.stdout)
    assert f"\n{server.url}\nOK    connection" in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("version", "level"),
    by_day([("26.0.1.1", "FAIL"), ("24.8.14.39", "FAIL"), ("26.1.2.3", "WARN"), ("26.7.9.9", "WARN")], 2),
)
def test_an_old_version_is_named_with_what_would_go_wrong(server: ClickHouseServer, version: str, level: str) -> None:
    examine = examined if level == "FAIL" else before_tables  # an old one is not asked for tables
    code, found = examine(server, Fault("version()", body=f"{version}\tUTC"))
    assert (found["version"]["level"], code) == (level, int(level == "FAIL"))
    assert version in found["version"]["what"]
    assert set(found) == {"version"}


def test_a_wrong_password_fails_the_connection(server: ClickHouseServer) -> None:
    environment = {"WALLTIME_CLICKHOUSE_USER": server.user, "WALLTIME_CLICKHOUSE_PASSWORD": "wrong"}
    done = CliRunner().invoke(app, ["doctor", "--clickhouse", server.url, "--json"], env=environment)
    (examination,) = json.loads(done.stdout)["servers"]
    assert [(check["name"], check["level"]) for check in examination["checks"]] == [("connection", "FAIL")]
    assert "516" in examination["checks"][0]["what"]
    assert done.exit_code == 1


@pytest.mark.parametrize(("ahead_s", "level"), by_day([(3, "WARN"), (60, "FAIL"), (-60, "FAIL"), (-3, "WARN")], 2))
def test_a_clock_that_differs(
    server: ClickHouseServer, monkeypatch: pytest.MonkeyPatch, ahead_s: int, level: str
) -> None:
    now_ns = time.time_ns()
    monkeypatch.setattr(clickhouse, "time", SimpleNamespace(time_ns=lambda: now_ns, monotonic=time.monotonic))
    body = rows(ns=str(now_ns + ahead_s * 10**9))
    code, found = before_tables(server, Fault("now64(9)", body=body))
    assert (set(found), found["clock"]["level"], code) == ({"clock"}, level, int(level == "FAIL"))
    assert ("ahead of" if ahead_s > 0 else "behind") in found["clock"]["what"]


def test_another_time_zone_is_a_warning(server: ClickHouseServer) -> None:
    code, found = before_tables(server, Fault("timezone() AS zone", body=rows(zone="Europe/Berlin")))
    assert (code, set(found)) == (0, {"time zone"})
    assert "Europe/Berlin" in found["time zone"]["what"]


def settings(**changes: list[Any]) -> str:
    """What `system.settings` has, with `value, min, max, readonly` of some of them changed; None: it is not there."""
    names = {**QUERY_LIMITS, **insert_settings(""), "compatibility": ""}
    data = [[name, *changes.get(name, ["", None, None, 0])] for name in names if changes.get(name) != []]
    return json.dumps({"meta": [{"name": name} for name in _COLUMNS], "data": data})


@pytest.mark.parametrize(
    ("name", "row", "level", "expected"),
    by_day(
        [
            ("max_execution_time", ["0", None, "10", 0], "FAIL", "does not allow to set max_execution_time"),
            ("async_insert", ["1", None, None, 1], "FAIL", "does not allow to set async_insert"),
            ("input_format_protobuf_oneof_presence", [], "FAIL", "does not know the settings input_format_protobuf"),
            ("readonly", ["2", None, None, 1], "FAIL", "does not allow to set readonly"),
            ("compatibility", ["24.8", None, None, 0], "WARN", "compatibility = '24.8'"),
            ("max_memory_usage", ["0", "2000000000", None, 0], "FAIL", "does not allow to set max_memory_usage"),
        ],
        2,
    ),
)
def test_a_profile_that_refuses_or_changes_settings(
    server: ClickHouseServer, name: str, row: list[Any], level: str, expected: str
) -> None:
    examine = examined if level == "FAIL" else before_tables  # nor one that refuses settings
    code, found = examine(server, Fault(SETTINGS, body=settings(**{name: row})))
    assert (found["settings"]["level"], code) == (level, int(level == "FAIL"))
    assert expected in found["settings"]["what"]
    assert set(found) == {"settings"}


def test_a_full_disk(server: ClickHouseServer) -> None:
    body = rows(name="default", free_space="1000", total_space="1000000")
    code, found = before_tables(server, Fault("system.disks", body=body))
    assert (code, set(found)) == (1, {"disk"})


@pytest.mark.parametrize(
    ("statement", "check"),
    [
        ("CREATE DATABASE", "tables"),
        ("CREATE TABLE IF NOT EXISTS spans", "tables"),
        ("CREATE MATERIALIZED VIEW", "tables"),
        pytest.param("INSERT INTO otlp_traces", "once", marks=pytest.mark.nightly),
    ],
)
def test_a_missing_right_is_a_failure_that_names_the_grant(
    server: ClickHouseServer, statement: str, check: str
) -> None:
    code, found = examined(server, Fault(statement, then="error", code=497, said="Not enough privileges"))
    assert code == 1
    assert "497" in found[check]["what"]
    assert "GRANT" in found[check]["what_now"] or check == "once"
    assert not any(name.startswith("walltime_doctor") for name in databases(server))


def test_a_user_without_the_right_to_create_databases_may_use_one_that_exists(server: ClickHouseServer) -> None:
    refused = Fault("CREATE DATABASE", then="error", code=497)
    code, found = examined(server, refused, database="default")
    assert (code, found["tables"]["level"], set(found)) == (0, "WARN", {"tables"})
    assert "INSERT ON default.* is granted" in found["tables"]["what"]
    code, found = examined(server, refused, Fault("CHECK GRANT", body="0\n"), database="default")
    assert (code, found["tables"]["level"]) == (1, "FAIL")


def test_a_missing_right_to_read_system_tables(server: ClickHouseServer) -> None:
    code, found = before_tables(server, Fault("system.disks", then="error", code=497, said="Not enough privileges"))
    assert (code, set(found)) == (1, {"disk"})
    assert found["disk"]["what_now"] == "SELECT on system.* is needed"


def test_a_database_that_cannot_be_removed_is_named(server: ClickHouseServer) -> None:
    refused = [Fault(statement, then="error", code=497) for statement in ("CREATE TABLE", "DROP DATABASE")]
    code, found = examined(server, *refused)
    assert (code, found["clean up"]["level"]) == (1, "WARN")
    (left,) = (name for name in databases(server) if name.startswith("walltime_doctor"))
    assert found["clean up"]["what_now"].startswith(f"DROP DATABASE {left};")
    engine = server.engine(left, cluster="")
    engine.command(f"DROP DATABASE {left}")
    engine.close()


@pytest.mark.parametrize(
    ("setting", "value", "stored"),
    [
        ("deduplicate_insert", "disable", "(1, 1), (2, 2), (3, 3)"),
        pytest.param("insert_deduplication_token", "", "(1, 1), (1, 1), (1, 1)", marks=pytest.mark.nightly),
    ],
)
def test_tokens_without_effect_are_found(server: ClickHouseServer, setting: str, value: str, stored: str) -> None:
    insert = Fault("INSERT INTO otlp_traces", run=True, settings={setting: value}, times=3)
    code, found = examined(server, insert)
    assert code == 1
    assert found["once"]["what"] == f"bills and calls after an INSERT, its repetition, and another: {stored}"


@pytest.mark.nightly
def test_views_without_effect_are_found(server: ClickHouseServer) -> None:
    code, found = examined(server, Fault("INSERT INTO otlp_traces", run=False, times=3))
    assert code == 1
    assert "stored 0 and 0" in found["once"]["what"]


_MACROS = [["shard", "1"], ["replica", "a"]]
MACROS = Fault(
    "system.macros", body=json.dumps({"meta": [{"name": "macro"}, {"name": "substitution"}], "data": _MACROS})
)


def test_a_cluster_needs_keeper_macros_and_its_name(server: ClickHouseServer) -> None:
    keeper = Fault("system.zookeeper", body=rows(n="2"))
    assert before_tables(server, keeper, MACROS, cluster="shop") == (0, {})
    code, found = examined(server, MACROS, cluster="shop")  # without Keeper no table is created
    assert (code, set(found)) == (1, {"keeper"})
    code, found = examined(server, keeper, cluster="other")
    assert code == 1
    assert found["cluster"]["what"] == "no cluster other"
    assert found["nodes"]["what"] == "no macro shard and no macro replica"
    assert set(found) == {"cluster", "nodes"}


@pytest.mark.nightly
def test_a_cluster_without_faults_passes_every_check(server: ClickHouseServer) -> None:
    keeper = Fault("system.zookeeper", body=rows(n="2"))
    assert examined(server, keeper, MACROS, cluster="shop") == (0, {})


def node(**changes: Any) -> dict[str, Any]:
    common = {"cluster": "shop", "shard_num": 1, "internal_replication": 1, "host_name": "a", "port": 9000}
    return {**common, "errors_count": 0, **changes}


def test_the_rows_of_a_cluster() -> None:
    assert check_cluster("shop", [node(), node(host_name="b"), node(shard_num=2)]).what == "shop: 2 shards, 3 nodes"
    assert check_cluster("shop", [node(internal_replication=0)]).level == "OK"
    assert check_cluster("shop", [node(internal_replication=0), node(host_name="b")]).level == "FAIL"
    away = check_cluster("shop", [node(), node(host_name="b", errors_count=3)])
    assert (away.level, away.what) == ("WARN", "recent errors of b:9000")


def test_nodes_with_the_same_macros_or_another_version() -> None:
    first = Node("http://a", "26.9", "UTC", {"shard": "1", "replica": "a"})
    second = Node("http://b", "26.9", "UTC", {"shard": "1", "replica": "b"})
    assert check_node(second, [first]).level == "OK"
    assert check_node(Node("http://b", "26.9", "UTC", first.macros), [first]).what == "the same macros as http://a"
    assert check_node(Node("http://b", "26.8", "UTC", second.macros), [first]).level == "WARN"
    assert check_node(Node("http://b", "26.9", "CET", second.macros), [first]).level == "WARN"


def test_an_address_that_is_none_is_refused_in_one_sentence() -> None:
    assert_one_sentence(run("doctor", "--clickhouse", "clickhouse:8123"), 1, "not an address")


def test_tokens_that_are_not_kept_for_half_an_hour_are_a_warning() -> None:
    tables = [{"name": "spans", "tokens": "10000"}, {"name": "transactions", "tokens": "10000"}]
    assert check_tokens(["new_unified_hash"], tables, 1) is None
    assert check_tokens([], tables, 5) is None
    many = check_tokens([], tables, 20)
    assert many is not None
    assert (many.level, many.what) == ("WARN", "spans keeps 10000 tokens, 8 minutes of 20 collectors")
    small = check_tokens([], [*tables, {"name": "targets_1m", "tokens": "100"}], 1)
    assert small is not None
    assert "targets_1m keeps 100 tokens, 1 minute of" in small.what
    old = check_tokens(["old_separate_hashes"], tables, 1)
    assert old is not None
    assert "26.7" in old.what
    assert "compatible_double_hashes" in old.what_now


def test_the_tokens_of_a_server_are_read(server: ClickHouseServer) -> None:
    engine = server.engine("walltime", cluster="")
    engine.migrate()
    engine.command("ALTER TABLE spans MODIFY SETTING non_replicated_deduplication_window = 60")
    no_right = Fault("CREATE DATABASE", then="error", code=497)
    _, found = examined(server, no_right)
    assert found["settings"]["what"] == "spans keeps 60 tokens, 1 minute of 1 collector"
    engine.command("ALTER TABLE spans MODIFY SETTING non_replicated_deduplication_window = 10000")
    engine.close()
    assert "settings" not in examined(server, no_right)[1]
    version = Fault("insert_deduplication_version", body=rows(value="old_separate_hashes"))
    assert "26.7" in examined(server, no_right, version)[1]["settings"]["what"]
