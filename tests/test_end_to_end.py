"""
The heart of the product: the bill is true.

The shop under gunicorn, through SDK, collector and ClickHouse, beside what MariaDB and memcached counted themselves.
"""

from __future__ import annotations

import http.client
import json
import re
import shutil
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from shop.demo import collector
from shop.load import Load, Sent
from shop.services import fast_folder
from shop.stack import Stack

from tests.server_folder import server_folder
from tests.servers import with_tables
from tests.slowness import ended_within

REQUESTS = 300
BUYER = 301
BUYER_TRACE_ID = "b" * 32

# A process of its own: one process can have one chDB directory open, and others of this run have theirs.
READ = """
import sys, chdb
connection = chdb.connect(sys.argv[1])
print(connection.query(sys.argv[2], "JSONEachRow").bytes().decode(), end="")
connection.close()
"""
TRANSACTIONS = """
SELECT
    * EXCEPT (trace_id, span_id, parent_span_id), other_ns,
    lower(hex(trace_id)) AS trace_id, lower(hex(span_id)) AS span_id, lower(hex(parent_span_id)) AS parent_span_id
FROM walltime.transactions SETTINGS output_format_json_quote_64bit_integers = 0
"""

ENTRY = re.compile(r"^(?:\d{6} [ \d]\d:\d\d:\d\d)?\t+ *(\d+) (Connect|Query|Quit|[A-Z][a-z ]+)\t?(.*)$")
COMMENT = re.compile(r" /\*.*traceparent='00-([0-9a-f]{32})-([0-9a-f]{16})-0[0-3]'\*/$")


@dataclass
class Run:
    """What everybody says about the same requests."""

    sent: Sent
    transactions: list[dict[str, Any]]
    mariadb: dict[str, int]
    """Differences of the server's own counters; the observer is in Com_show_status alone."""
    memcached: dict[str, dict[str, int]]
    """Each server's own counters, by address."""
    general_log: list[str]
    """Every statement of the shop, as the server logged it."""

    @property
    def shop(self) -> list[dict[str, Any]]:
        return [each for each in self.transactions if each["service"] == "shop"]

    def total(self, column: str) -> int:
        return sum(each[column] for each in self.transactions)

    def on(self, component: str, column: str) -> Counter[str]:
        """Σ of one target column by server."""
        totals: Counter[str] = Counter()
        for each in self.transactions:
            for name, address, value in zip(
                each["target.component"], each["target.address"], each[f"target.{column}"], strict=True
            ):
                if name == component:
                    totals[address] += value
        return totals


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    with server_folder() as folder:
        yield observe(folder)


def observe(folder: Path) -> Run:
    with_tables(folder / "collector" / "data" / "chdb")
    with collector(folder / "collector") as receiver:
        assert receiver.ready is not None
        endpoint = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://{receiver.ready['http']}"}
        with Stack(folder, endpoint, workers=3, general_log=True) as stack, stack.mariadb.admin() as observer:
            assert stack.mariadb.general_log is not None
            seeded_bytes = stack.mariadb.general_log.stat().st_size
            before = status(observer)
            load = Load(stack.url, limit=REQUESTS).start()
            sent = load.wait()
            buy_three_things(stack, sent)
            mariadb = {name: count - before[name] for name, count in status(observer).items()}
            stack.supplier.stop()
            stack.shop.stop()
            memcached = {
                cache.address: {name: int(value) for name, value in cache.stats().items() if value.isdecimal()}
                for cache in stack.caches
            }
        expected = sent.total + sent.requests["GET /recommendations"]
        wait_until_visible(receiver.ready["web"], expected)
    log = statements_of_the_shop((folder / "mariadb" / "general.log").read_bytes()[seeded_bytes:].decode())
    return Run(sent, stored(folder / "collector" / "data"), mariadb, memcached, log)


def status(observer: Any) -> dict[str, int]:
    with observer.cursor() as cursor:
        cursor.execute("SHOW GLOBAL STATUS WHERE Variable_name LIKE 'Com\\_%' OR Variable_name = 'Connections'")
        return {name: int(value) for name, value in cursor.fetchall()}


def buy_three_things(stack: Stack, sent: Sent) -> None:
    """Known contents of one cart, and a checkout whose trace id is known."""
    connection = http.client.HTTPConnection("127.0.0.1", stack.shop.port, timeout=30)
    cookie = {"Cookie": f"user={BUYER}"}
    for product in (21, 22, 23):
        connection.request("POST", "/cart", f"product={product}", {**cookie, "X-Request-Start": now()})
        assert connection.getresponse().read() == b""
        sent.requests["POST /cart"] += 1
    traceparent = f"00-{BUYER_TRACE_ID}-00000000000000a1-01"
    connection.request("POST", "/checkout", headers={**cookie, "traceparent": traceparent, "X-Request-Start": now()})
    assert connection.getresponse().status == 303
    sent.requests["POST /checkout"] += 1
    connection.close()


def now() -> str:
    return f"t={time.time_ns() // 1000}"


def wait_until_visible(web: str, expected: int) -> None:
    """The last of them must be visible within 2 s of its end; more time is for a busy machine."""
    deadline = time.monotonic() + 20
    count = -1
    while count != expected and time.monotonic() < deadline:
        connection = http.client.HTTPConnection(web, timeout=30)
        connection.request("GET", "/api/top")
        count = json.loads(connection.getresponse().read())["transactions"]
        connection.close()
        time.sleep(0.1)
    assert count == expected


def statements_of_the_shop(log: str) -> list[str]:
    statements: list[str] = []
    is_ours = False
    observers: set[str] = set()
    for line in log.splitlines():
        entry = ENTRY.match(line)
        if entry is None:
            if is_ours:
                statements[-1] += "\n" + line
            continue
        connection, command, text = entry.groups()
        if text.startswith("SHOW GLOBAL STATUS"):
            observers.add(connection)
        is_ours = command == "Query" and connection not in observers
        if is_ours:
            statements.append(text)
    return statements


def stored(data: Path) -> list[dict[str, Any]]:
    read = subprocess.run(
        [sys.executable, "-c", READ, str(data / "chdb" / "data"), TRANSACTIONS],
        capture_output=True,
        text=True,
        check=True,
    )
    return [json.loads(line) for line in read.stdout.splitlines()]


def test_every_request_sent_is_stored_once_under_its_kind(run: Run) -> None:
    assert run.sent.errors == 0
    assert Counter(each["name"] for each in run.shop) == run.sent.requests
    assert len({each["span_id"] for each in run.transactions}) == len(run.transactions)
    supplier = [each for each in run.transactions if each["service"] == "supplier"]
    assert len(supplier) == run.sent.requests["GET /recommendations"]
    shops = {(each["trace_id"], each["span_id"]) for each in run.shop}
    assert all((each["trace_id"], each["parent_span_id"]) in shops for each in supplier)


def test_for_every_transaction_the_components_and_other_are_the_duration(run: Run) -> None:
    for each in run.transactions:
        components_ns = sum(
            value for column, value in each.items() if column.endswith("_time_ns") and "custom" not in column
        )
        components_ns += sum(each["custom_time_ns"].values())
        assert abs(components_ns + each["other_ns"] - each["duration_ns"]) <= 1000, each
        assert each["covered_ns"] <= each["duration_ns"]


def test_targets_and_statements_add_up_to_their_components(run: Run) -> None:
    for each in run.transactions:
        by_component: Counter[str] = Counter()
        for name, calls in zip(each["target.component"], each["target.calls"], strict=True):
            by_component[name] += calls
        assert by_component["mysql.query"] == each["mysql_query_calls"]
        assert by_component["memcache.get"] == each["memcache_get_calls"]
        assert by_component["http.request"] == each["http_request_calls"]
        assert sum(each["statement.calls"]) == each["mysql_query_calls"]
        assert each["memcache_get_hits"] + each["memcache_get_misses"] == each["memcache_get_keys"]


def test_the_queries_are_those_that_mariadb_counted(run: Run) -> None:
    server = run.mariadb
    verbs = ("select", "insert", "update", "delete", "begin")
    assert run.total("mysql_query_calls") == sum(server[f"Com_{verb}"] for verb in verbs)
    assert run.total("mysql_commit_calls") == server["Com_commit"] + server["Com_rollback"]
    assert run.total("mysql_connect_calls") == server["Connections"]
    assert server["Com_set_option"] == server["Connections"]  # PyMySQL's SET NAMES, part of the connect
    assert server["Com_show_status"] == 1  # the observer's second look; the first is before the difference
    accounted = {*(f"Com_{verb}" for verb in verbs), "Com_commit", "Com_rollback", "Com_set_option", "Com_show_status"}
    assert [name for name, count in server.items() if count and name not in {*accounted, "Connections"}] == []


def test_hits_and_misses_are_those_that_both_memcached_counted(run: Run) -> None:
    for counter in ("hits", "misses"):
        servers = {address: stats[f"get_{counter}"] for address, stats in run.memcached.items()}
        assert run.on("memcache.get", counter) == servers
        assert run.total(f"memcache_get_{counter}") == sum(servers.values())
        assert min(servers.values()) > 0
    assert run.on("memcache.set", "calls") == {address: stats["cmd_set"] for address, stats in run.memcached.items()}


def test_every_statement_in_the_general_log_carries_the_id_of_its_transaction(run: Run) -> None:
    logged: Counter[tuple[str, str]] = Counter()
    for statement in run.general_log:
        comment = COMMENT.search(statement)
        assert comment is not None, statement
        logged[comment.group(1), comment.group(2)] += 1
    billed = Counter(
        {
            (each["trace_id"], each["span_id"]): each["mysql_query_calls"]
            + each["mysql_commit_calls"]
            + each["mysql_connect_calls"]
            for each in run.transactions
        }
    )
    assert logged == +billed


def test_executemany_of_three_rows_is_one_statement_and_one_call(run: Run) -> None:
    (checkout,) = (each for each in run.shop if each["trace_id"] == BUYER_TRACE_ID)
    calls = dict(zip(checkout["statement.text"], checkout["statement.calls"], strict=True))
    (inserts,) = (count for text, count in calls.items() if text.startswith("INSERT INTO order_items"))
    assert inserts == 1
    (statement,) = (text for text in run.general_log if "INSERT INTO order_items" in text and BUYER_TRACE_ID in text)
    assert statement.count("),(") == 2
    assert checkout["kept"] == "upstream"
    assert checkout["user"] == str(BUYER)
    assert checkout["attributes"]["cart.items"] == "3"


def test_queue_time_and_cpu_are_known_for_every_request_of_the_shop(run: Run) -> None:
    assert all(each["queue_ns"] is not None for each in run.shop)
    assert all(each["cpu_user_ns"] is not None for each in run.transactions)


@pytest.mark.nightly
@pytest.mark.parametrize("is_listening", [True, False], ids=["never answers", "refuses"])
def test_without_a_collector_the_shop_serves_and_its_workers_exit_within_2_s(is_listening: bool) -> None:
    folder = fast_folder()
    try:
        with socket.socket() as nobody:
            nobody.bind(("127.0.0.1", 0))
            if is_listening:
                nobody.listen()
            endpoint = f"http://127.0.0.1:{nobody.getsockname()[1]}"
            with Stack(folder, {"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}, workers=2) as stack:
                sent = Load(stack.url, limit=100).start().wait()
                assert sent.total == 100
                assert sent.errors == 0
                assert stack.shop.process is not None
                stack.shop.process.terminate()
                assert ended_within(2, stack.shop.process) == 0
                assert "Worker exiting" in stack.shop.output()
                assert "was sent SIGKILL" not in stack.shop.output()
    finally:
        shutil.rmtree(folder)
