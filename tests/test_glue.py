"""The glue: what MariaDB wrote to its own slow log joins what the shop's transactions say, a lock wait included."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from shop.ask import Asker
from shop.demo import collector
from shop.load import Load
from shop.stack import Stack
from shop.story import LockWait, wait_for_a_lock
from shop.watch import Watch, Window

from tests.server_folder import server_folder
from tests.servers import eventually, over_http, with_tables
from tests.slowness import stretched

REQUESTS = 250

# A process of its own: one process can have one chDB directory open, and others of this run have theirs.
READ = """
import sys, chdb
connection = chdb.connect(sys.argv[1])
print(connection.query(sys.argv[2], "JSONEachRow").bytes().decode(), end="")
connection.close()
"""
JOINED = """
SELECT
    user,
    count() AS entries,
    countIf((trace_id, span_id) IN (SELECT trace_id, span_id FROM walltime.transactions)) AS joined,
    countIf(startsWith(fingerprint, 'select')) AS selects
FROM walltime.slow_queries
GROUP BY user SETTINGS output_format_json_quote_64bit_integers = 0
"""


@dataclass
class Glued:
    """What the collector made of a run, and what the servers say of it."""

    users: dict[str, dict[str, int]]
    """By account: entries stored, and how many of them have their transaction."""
    logged: dict[str, int]
    """Entries in the log itself."""
    window: Window
    lock_wait: LockWait
    checkout: dict[str, Any]
    """`walltime show --json` of the checkout that waited."""


@pytest.fixture(scope="module")
def glued() -> Iterator[Glued]:
    with server_folder() as folder:
        yield observe(folder)


def observe(folder: Path) -> Glued:
    slow_log = folder / "mariadb" / "slow.log"
    with_tables(folder / "collector" / "data" / "chdb")
    with collector(folder / "collector", "--slow-log", slow_log) as receiver:
        assert receiver.ready is not None
        web = f"http://{receiver.ready['web']}"
        with Stack(
            folder, {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://{receiver.ready['http']}"}, slow_log_s=0.0
        ) as stack:
            watch = Watch(stack)
            stack.mariadb.write_logs(on=True)
            with watch.window() as window:
                sent = Load(stack.url, limit=REQUESTS).start().wait()
            assert sent.errors == 0
            lock_wait = wait_for_a_lock(stack, watch)
            stack.mariadb.write_logs(on=False)
        logged = {
            user: len(re.findall(rf"^# User@Host: {user}\[", slow_log.read_text(errors="replace"), re.MULTILINE))
            for user in ("shop", "admin")
        }
        eventually(lambda: counted(web)["slow_log_entries"] >= sum(logged.values()))
        checkout = Asker(web).read_when(lambda trace: waiting(trace)["server"], "show", lock_wait.trace_id)
    done = subprocess.run(
        [sys.executable, "-c", READ, str(folder / "collector" / "data" / "chdb" / "data"), JOINED],
        capture_output=True,
        text=True,
        check=True,
    )
    users = {row.pop("user"): row for row in map(json.loads, done.stdout.splitlines())}
    return Glued(users, logged, window, lock_wait, checkout)


def counted(web: str) -> dict[str, int]:
    counts: dict[str, int] = over_http("GET", f"{web}/healthz").json()["counts"]
    return counts


def waiting(trace: dict[str, Any]) -> dict[str, Any]:
    """The statement the checkout waited in."""
    (statement,) = (
        each
        for bill in trace["transactions"]
        for each in bill["statements"]
        if "FROM cart_items" in each["text"] and each["text"].endswith("FOR UPDATE")
    )
    return dict(statement)


def test_every_entry_of_the_log_is_stored_once(glued: Glued) -> None:
    assert {user: each["entries"] for user, each in glued.users.items()} == glued.logged


def test_at_least_999_of_1000_entries_of_the_shop_have_their_transaction(glued: Glued) -> None:
    shop = glued.users["shop"]
    assert shop["entries"] > 2 * REQUESTS
    assert shop["joined"] >= 0.999 * shop["entries"]
    assert shop["selects"] >= glued.window.mariadb["Com_select"]  # the lock wait's come later


def test_a_wait_for_a_lock_is_shown_as_long_as_the_database_says(glued: Glued) -> None:
    statement, (bill,) = waiting(glued.checkout), glued.checkout["transactions"]
    assert bill["name"] == "POST /checkout"
    assert glued.lock_wait.waited_ms > 50
    reported_ns = glued.lock_wait.waited_ms * 1_000_000
    assert abs(statement["server"]["query_ns"] - round(glued.lock_wait.query_s * 1e9)) < 1_000
    assert abs(statement["server"]["likely_row_lock_ns"] - reported_ns) <= stretched(0.005) * 1e9
    assert (
        statement["time_ns"] >= statement["server"]["query_ns"]
    )  # how much more is up to the network and this machine
