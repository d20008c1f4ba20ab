"""All beyond the first three clients: from real servers through SDK and collector to what `walltime show` says."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from shop.services import MariaDB

from tests.redis_server import RedisServer
from tests.server_folder import server_folder
from tests.servers import Collector, eventually

PROGRAM = """
import gc, json, sys
import redis, sqlalchemy, walltime
from pymemcache.client.hash import HashClient

told = json.load(sys.stdin)
walltime.instrument()
cache = HashClient([("127.0.0.1", told["dead_port"])], ignore_exc=True, retry_attempts=0, dead_timeout=60)
store = redis.Redis(port=told["redis_port"])
engine = sqlalchemy.create_engine(told["database"])

def cart():
    with engine.connect() as connection:
        connection.exec_driver_sql("SELECT SLEEP(0.02)")

with walltime.transaction("GET /cart", kind="server") as transaction:
    transaction.keep()
    store.set("cart:1", "x")
    store.get("cart:1")
    store.mget(["cart:1", "cart:2", "cart:3"])
    for n in range(4):
        cache.get(f"product:{n}")
    cart()
    gc.collect()
print(transaction.request_id)
sys.exit(not walltime.flush(20))
"""


@dataclass
class Seen:
    trace: dict[str, Any]
    top: dict[str, Any]
    shown: str
    """`walltime show`, as it is printed."""
    lookups: tuple[int, int]
    """Keys that Redis itself counted as found, and as not found."""

    @property
    def bill(self) -> dict[str, Any]:
        (only,) = self.trace["transactions"]
        return dict(only)

    def line(self, component: str) -> dict[str, Any]:
        (found,) = [each for each in self.bill["components"] if each["name"] == component]
        return dict(found)


@pytest.fixture(scope="module")
def seen() -> Iterator[Seen]:
    with server_folder() as folder:
        yield observe(folder)


def observe(folder: Path) -> Seen:
    mariadb, redis = MariaDB(folder / "mariadb", slow_log_s=0.01), RedisServer(folder / "redis")
    with socket.create_server(("127.0.0.1", 0)) as dead:
        dead_port = dead.getsockname()[1]
    mariadb.start()
    redis.start()
    try:
        with Collector(folder / "collector", slow_log=str(mariadb.slow_log)) as collector:
            account = mariadb.account()
            told = {
                "dead_port": dead_port,
                "redis_port": redis.port,
                "database": "mysql+pymysql://{user}:{password}@{host}:{port}/{database}".format(**account),
            }
            environment = {
                **os.environ,
                "OTEL_SERVICE_NAME": "shop",
                "OTEL_EXPORTER_OTLP_ENDPOINT": collector.otlp_url.removesuffix("/v1/traces"),
                "WALLTIME_SQL_COMMENT": "off",
                "OTEL_TRACES_SAMPLER": "always_off",  # one trace in 100 would be kept as random, not as forced
            }
            done = subprocess.run(
                [sys.executable, "-c", PROGRAM],
                env=environment,
                input=json.dumps(told),
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            assert done.returncode == 0, done.stderr
            trace_id = done.stdout.strip()
            collector.wait_until_loaded(1)

            def ask() -> dict[str, Any]:
                answer = httpx.get(f"{collector.web_url}/api/transactions/{trace_id}", timeout=30).json()
                return dict(answer)

            def is_joined() -> bool:
                return any(call["server"] for call in ask()["transactions"][0]["calls"])

            eventually(is_joined)
            command = [str(Path(sys.executable).with_name("walltime")), "show", trace_id, "--url", collector.web_url]
            wide = {**os.environ, "COLUMNS": "300", "NO_COLOR": "1"}
            shown = subprocess.run(command, env=wide, capture_output=True, text=True, timeout=60, check=True).stdout
            top = httpx.get(f"{collector.web_url}/api/top?since=1h", timeout=30).json()
            return Seen(ask(), top, shown, redis.lookups())
    finally:
        redis.stop()
        mariadb.stop()


def test_redis_is_on_the_bill_with_the_hits_and_misses_it_counts_itself(seen: Seen) -> None:
    got, several = seen.line("redis.get"), seen.line("redis.mget")
    assert (got["calls"], got["hits"], got["misses"]) == (1, 1, 0)
    assert (several["calls"], several["keys"], several["hits"], several["misses"]) == (1, 3, 1, 2)
    assert (got["hits"] + several["hits"], got["misses"] + several["misses"]) == seen.lookups
    assert seen.line("redis.set")["calls"] == 1
    assert seen.line("redis.connect")["calls"] == 1
    keys = {call["text"].split("#")[0] for call in seen.bill["calls"] if call["component"].startswith("redis.")}
    assert "cart:" in keys


def test_calls_to_a_dead_cache_server_are_skipped_and_no_misses(seen: Seen) -> None:
    line = seen.line("memcache.get")
    assert (line["calls"], line["errors"], line["skipped"], line["misses"]) == (1, 1, 3, 0)
    assert "3 skipped: the server was known to be dead" in seen.shown
    (kind,) = seen.top["kinds"]
    (share,) = [each for each in kind["components"] if each["name"] == "memcache.get"]
    assert share["skipped"] == 3


def test_waiting_for_a_pool_and_the_garbage_collector_have_their_lines(seen: Seen) -> None:
    assert seen.line("mysql.pool")["calls"] == 1
    assert seen.line("python.gc")["calls"] >= 1
    assert seen.line("mysql.connect")["calls"] == 1


def test_why_the_calls_are_kept_is_told(seen: Seen) -> None:
    assert seen.bill["kept"] == "forced"
    assert "every call kept: asked for by code or header" in seen.shown


def test_a_statement_says_its_line_of_code_and_its_connection(seen: Seen) -> None:
    (call,) = [each for each in seen.bill["calls"] if "SLEEP" in each["text"]]
    assert call["source"].endswith(" cart")
    assert call["connection_id"] > 0
    assert call["source"] in seen.shown
    assert f"connection {call['connection_id']}" in seen.shown


def test_the_databases_log_is_joined_by_the_connection_where_statements_have_no_comment(seen: Seen) -> None:
    (call,) = [each for each in seen.bill["calls"] if "SLEEP" in each["text"]]
    assert 20_000_000 <= call["server"]["query_ns"] <= call["duration_ns"] + 1_000_000
