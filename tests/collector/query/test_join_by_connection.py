"""A statement whose comment was lost is joined by its connection and time, where that is certain and nowhere else."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

import pytest
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.observe.slowlog.rows import TABLE

from tests.collector.conftest import Store
from tests.collector.query.showing import asked, make, said
from tests.collector.traffic import MS, SentCall

_numbers = count(1000)
TEXT = "SELECT a FROM t WHERE id = %s"
FINGERPRINT = "select a from t where id = ?"


@dataclass
class Entry:
    """An entry of the slow log without a comment."""

    connection_id: int
    began_ns: int
    took_ns: int = 5 * MS
    fingerprint: str = FINGERPRINT
    server: str = "db"
    is_cut: bool = False


Log = Callable[[list[Entry]], None]


@pytest.fixture
def log(engine: Engine) -> Log:
    tokens = count()

    def insert(entries: list[Entry]) -> None:
        rows = [
            {
                "started_us": entry.began_ns // 1000,
                "read_at": int(time.time()),
                "query_ns": entry.took_ns,
                "rows_examined": 4711,
                "connection_id": entry.connection_id,
                "position": next(_numbers),
                "fingerprint": entry.fingerprint,
                "sample": entry.fingerprint,
                "server": entry.server,
                "weight": 1,
                "fields": {"cut": "its end is missing"} if entry.is_cut else {},
            }
            for entry in entries
        ]
        payload = "\n".join(map(json.dumps, rows)).encode()
        engine.insert_rows(TABLE, payload, f"glue-{time.time_ns()}-{next(tokens)}")

    return insert


def call(at_ns: int, connection_id: int, took_ns: int = 6 * MS, text: str = TEXT) -> SentCall:
    return SentCall(
        "mysql.query", at_ns, took_ns, {"db.query.text": text, "walltime.mysql.connection_id": connection_id}
    )


def test_each_call_finds_its_entry_by_connection_and_order(engine: Engine, store: Store, log: Log) -> None:
    connection = next(_numbers)
    sent = make(kept="slow", duration_ns=60 * MS, calls=[call(0, connection), call(20 * MS, connection)])
    sent.calls.append(call(40 * MS, connection, text="UPDATE t SET a = %s"))
    store([sent])
    second = sent.started_ns // 10**9 * 10**9  # some servers say whole seconds
    log(
        [
            Entry(connection, second, 3 * MS),
            Entry(connection, second, 4 * MS),
            Entry(connection, second, 5 * MS, "update t set a = ?"),
            Entry(connection + 1, second),
        ]
    )
    calls = asked(engine, sent.trace_id).transactions[0].calls
    assert [each.server.query_ns if each.server else None for each in calls] == [3 * MS, 4 * MS, 5 * MS]
    assert [each.server.network_ns if each.server else None for each in calls] == [3 * MS, 2 * MS, MS]
    assert "server 3.00 ms" in said(asked(engine, sent.trace_id), width=160)


def test_an_entry_whose_end_is_missing_is_of_the_call_that_begins_like_it(
    engine: Engine, store: Store, log: Log
) -> None:
    connection = next(_numbers)
    sent = make(kept="slow", duration_ns=30 * MS, calls=[call(0, connection)])
    store([sent])
    log([Entry(connection, sent.started_ns, fingerprint="select a from t wh", is_cut=True)])
    (only,) = asked(engine, sent.trace_id).transactions[0].calls
    assert only.server is not None


@pytest.mark.parametrize(
    ("entries", "why"),
    [
        (lambda c, ns: [Entry(c, ns), Entry(c, ns)], "another transaction ran the same on this connection"),
        (lambda c, ns: [Entry(c, ns, 20 * MS)], "the server took longer than the client waited"),
        (lambda c, ns: [Entry(c, ns - 5 * 10**9)], "it was long before"),
        (lambda c, ns: [Entry(c, ns + 5 * 10**9)], "it was long after"),
        (lambda c, ns: [Entry(c + 500_000, ns)], "it was another connection"),
        (lambda c, ns: [Entry(c, ns, fingerprint="select b from t")], "it was another statement"),
        (lambda c, ns: [Entry(c, ns, fingerprint="select a from t wh")], "it was a whole statement"),
        (lambda c, ns: [Entry(c, ns), Entry(c, ns, server="db2")], "two servers have a connection of this number"),
    ],
)
def test_where_it_is_not_certain_nothing_is_joined(
    engine: Engine, store: Store, log: Log, entries: Callable[[int, int], list[Entry]], why: str
) -> None:
    connection = next(_numbers)
    sent = make(kept="slow", duration_ns=30 * MS, calls=[call(0, connection)])
    store([sent])
    log(entries(connection, sent.started_ns))
    (only,) = asked(engine, sent.trace_id).transactions[0].calls
    assert only.server is None, why
