"""docs/instrumentation-for-php.md is true: each counter of the first implementation has a home that calls fill."""

from __future__ import annotations

import re
import resource
import threading
from pathlib import Path
from typing import Any

import mysql.connector
import pymysql
import pytest
import walltime
from pymemcache.client.base import Client
from shop.services import MariaDB, Memcached

from tests.sdk.sink import Sink

ROOT = Path(__file__).parents[2]
TABLE = (ROOT / "docs" / "instrumentation-for-php.md").read_text()
SCHEMA = "\n".join(path.read_text() for path in (ROOT / "collector").rglob("schema/*.sql"))
ATTRIBUTES = re.findall(r"^\| `[\w…]+`(?: \(`[^`]+`\))? \| `([\w.]+)` \|", TABLE, re.MULTILINE)
COLUMNS = re.findall(r"^\|[^|]+\|[^|]+\| `([^`]+)` \|", TABLE, re.MULTILINE)


def deadlock(mariadb: MariaDB) -> Any:
    """A connection that is about to be the victim: its next update of row 2 closes the circle."""
    account = {**mariadb.account(), "autocommit": False}
    with mariadb.admin().cursor() as cursor:
        cursor.execute("CREATE OR REPLACE TABLE accounts (id INT PRIMARY KEY, n INT) ENGINE=InnoDB")
        cursor.execute("INSERT INTO accounts VALUES (1, 0), (2, 0), (3, 0), (4, 0), (5, 0)")
    other, victim = pymysql.connect(**account), pymysql.connect(**account)
    with other.cursor() as cursor:  # it has changed more, so it is the other one that has to give way
        cursor.execute("UPDATE accounts SET n = 1 WHERE id > 1")
    with victim.cursor() as cursor:
        cursor.execute("UPDATE accounts SET n = 1 WHERE id = 1")
    waiting = threading.Thread(target=lambda: other.cursor().execute("UPDATE accounts SET n = 2 WHERE id = 1"))
    waiting.start()
    return victim, waiting, other


def peak_rss() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def test_every_counter_has_its_home(recorded: Sink, mariadb: MariaDB, memcached: tuple[Memcached, Memcached]) -> None:
    victim, waiting, other = deadlock(mariadb)
    account = mariadb.account()

    def app(_: Any, start_response: Any) -> list[bytes]:
        current = walltime.current()
        current.set_session("s3cr3t-session")
        current.set_user("ann")
        with walltime.component("session"):
            sum(range(200_000))
        connection = pymysql.connect(**account)
        connection.query("SELECT 1")
        with pytest.raises(pymysql.err.OperationalError, match="1213"), victim.cursor() as cursor:
            cursor.execute("UPDATE accounts SET n = 2 WHERE id = 2")
        prepares = mysql.connector.connect(**account, use_pure=True)
        with prepares.cursor(prepared=True) as prepared:
            prepared.execute("SELECT %s", (1,))
            prepared.fetchall()
        prepares.close()
        connection.close()
        cache = Client(("127.0.0.1", memcached[0].port), default_noreply=False)
        cache.set("n", b"1")
        cache.add("n", b"1")
        cache.replace("n", b"1")
        cache.get("n")
        cache.get("missing")
        cache.incr("n", 1)
        cache.decr("n", 1)
        cache.delete("n")
        cache.close()
        peak, grown = peak_rss(), []
        while peak_rss() == peak:  # other pages may leave the memory meanwhile
            grown.append(bytearray(b"1" * (4 << 20)))
        start_response("200 OK", [])
        return [b""]

    for _ in walltime.WSGIMiddleware(app)({"REQUEST_METHOD": "GET"}, lambda *_: None):
        pass
    waiting.join(30)
    other.close()
    victim.close()
    attributes = recorded.transaction().attributes
    assert len(ATTRIBUTES) >= 30
    assert [name for name in ATTRIBUTES if name not in attributes and name != "walltime.cpu_system_ns"] == []
    assert attributes["walltime.mysql.query.deadlocks"] == 1
    assert attributes["walltime.mysql.prepare.calls"] >= 1
    assert attributes["walltime.memcache.get.misses"] == 1
    assert attributes["walltime.peak_rss_growth_bytes"] > 0
    assert attributes["user.id"] == "ann"
    assert re.fullmatch(r"#[0-9a-f]{16}", attributes["session.id"])


@pytest.mark.setting("raw_session_ids")
def test_a_session_goes_out_as_it_is_by_setting_alone(sink: Sink) -> None:
    for raw in (False, True):
        walltime.configure(endpoint=sink.endpoint, raw_session_ids=raw, key_salt="the same")
        for _ in range(2):
            with walltime.transaction("job"):
                walltime.current().set_session("s-1")
        walltime.flush()
    hashed, again, *raw_ones = [found.attributes["session.id"] for found in sink.transactions()]
    assert hashed == again
    assert "s-1" not in hashed
    assert raw_ones == ["s-1", "s-1"]


@pytest.mark.parametrize("column", COLUMNS)
def test_every_column_is_in_the_schema(column: str) -> None:
    for name in re.findall(r"[a-z_]+", re.sub(r"\[.*\]", "", column)):
        assert re.search(rf"\b{name}\b", SCHEMA), name
