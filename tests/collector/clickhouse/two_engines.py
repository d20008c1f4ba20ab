"""The same records in the embedded engine and on a server, and the same questions about them."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from opentelemetry.proto.trace.v1.trace_pb2 import Span
from walltime_collector.clickhouse.engine import Engine, Parameters, Rows
from walltime_collector.observe.events import System, event_row
from walltime_collector.observe.writer import Row
from walltime_collector.spool.segment import Record
from walltime_collector.statements.fingerprint import fingerprint_id, of_template

from tests.collector.clickhouse.spans import pairs
from tests.collector.clickhouse.spans import request as stock_request
from tests.collector.every_question import Asked, Questions
from tests.collector.traffic import CACHES, DATABASE, MS, Sent, Shop, export_request

MINUTE_NS = 60_000_000_000
DAY_NS = 1_440 * MINUTE_NS
CONNECTION_ID = 7


def some_visits(seed: int, visits: int = 20) -> list[list[Sent]]:
    """Pages of the shop, of the last nine minutes."""
    first_ns, makes = time.time_ns() - 9 * MINUTE_NS, Shop(seed=seed)
    return [makes.visit(first_ns + at * (8 * MINUTE_NS // visits)) for at in range(visits)]


def some_records(seed: int, visits: int = 20) -> list[Record]:
    return [_record(export_request(each)) for each in some_visits(seed, visits)]


def _record(payload: bytes) -> Record:
    return Record(time.time_ns(), len(payload), payload)


def store_everything(engines: Sequence[Engine], visits: int = 600) -> list[Sent]:
    """Store the same rows, of which every query of the product finds some, in these engines."""
    pages = some_visits(5, visits)
    for each in (sent for page in pages for sent in page):
        each.version = "2.0"
        each.attributes |= {"user.id": "7", "tenant": "a", "walltime.memcache.get.skipped": 1}
        each.attributes |= {
            "walltime.loop_wait_ns": MS,
            "walltime.loop_held_ns": MS,
            "walltime.loop_held_line": "a.py:1 f",
        }
        for call in each.calls:
            if call.component == "mysql.query":
                call.attributes["walltime.mysql.connection_id"] = CONNECTION_ID
    sent = [each for page in pages for each in page]
    # Its clock is behind: found for 15 minutes, so the newest.
    caller, called = next(page for page in reversed(pages) if len(page) == 2)
    called.started_ns = caller.started_ns - 50 * MS
    kept = [each for each in sent if each.kept]
    now_ns = time.time_ns()
    pages.append(
        [
            Sent("0f" * 16, "0f" * 8, "_OTHER", now_ns - MINUTE_NS, 9 * MS, service="batch"),
            Sent("0e" * 16, "0e" * 8, "GET /before", now_ns - 3 * DAY_NS, MS),
        ]
    )
    calls = [
        Span(
            trace_id=bytes.fromhex(kept[0].trace_id),
            span_id=name.encode(),
            parent_span_id=bytes.fromhex(kept[0].span_id),
            name=name,
            kind=Span.SPAN_KIND_CLIENT,
            start_time_unix_nano=kept[0].started_ns,
            end_time_unix_nano=kept[0].started_ns + MS,
            attributes=pairs(attributes),
        )
        for name, attributes in (("s3.fetch", {}), ("s3.parse", {"walltime.component": "s3.parse"}))
    ]
    of_another, own = (stock_request(call, resource={"service.name": "shop"}) for call in calls)
    of_another.resource_spans[0].scope_spans[0].scope.name = "another instrumentation"
    own.resource_spans[0].scope_spans[0].scope.attributes.extend(pairs({"walltime.spans_dropped": 3}))
    records = [_record(export_request(page)) for page in pages]
    records += [_record(each.SerializeToString()) for each in (of_another, own)]
    minutes = {"minute": now_ns // 10**9 // 60 * 60 - 60, "collector": "a", "host": "b", "received": 9, "is_ok": True}
    slow = slow_rows(20) + _logged(kept)
    dismissed = {"id": "0123456789", "decided_at": now_ns / 10**9, "until": now_ns // 10**9 + 3_600, "why": "later"}
    observed = _observed(kept, now_ns // 10**9)
    for engine in engines:
        engine.insert(records, "shop")
        for table, rows in observed.items():
            engine.insert_rows(table, "".join(json.dumps(row) + "\n" for row in rows).encode(), table)
        engine.insert_rows("slow_log_entries", slow, "slow")
        engine.insert_rows("plans", _plans(kept, now_ns // 10**9), "plans")
        engine.insert_rows("dismissed_advice", json.dumps(dismissed).encode(), "dismissed")
        engine.insert_rows("walltime_health", json.dumps(minutes).encode(), "minutes")
    return sent


def _observed(sent: Sequence[Sent], at_s: int) -> dict[str, Sequence[Row]]:
    """
    By table, what the servers say: of the database and a cache for ten minutes, in one of which the cache is slow.

    Each of `sent` waits for a lock that the one before it holds; the database knows every other of these.
    """
    asked = [{"at": at_s - ago_s, "over_ns": 10**10, "max_connections": 9} for ago_s in range(0, 600, 10)]
    cache = {"server": CACHES[0], "system": "memcached", "hits": 9, "misses": 1}
    servers: tuple[tuple[str, System], ...] = (DATABASE, "mysql"), (CACHES[0], "memcached")
    others = {"pings": 1, "store_too_large": 1}
    return {
        "mysql_status": [row | {"server": DATABASE, "threads_running": row["at"] % 7} for row in asked],
        "cache_status": [
            row | cache | {"others": others | {"ping_ns": 50 * MS if 180 <= at_s - row["at"] < 240 else MS}}
            for row in asked
        ],
        "server_events": [
            event_row(server, system, "restarted", "It is.", at_s=at_s - 240, until_s=at_s - 200)
            for server, system in servers
        ],
        "lock_wait_entries": [
            {
                "started_at": waits.started_ns // 1_000 / 10**6,
                "updated_at": at_s,
                "server": DATABASE,
                "sort": "row",
                "waited_ns": 200 * MS + at,
                "object": "shop.cart_line",
                "connection_id": CONNECTION_ID + 1,
                "trace_id": waits.trace_id,
                "span_id": waits.span_id,
                "holder_connection_id": CONNECTION_ID,
                "holder_idle_ns": MS + at,
            }
            | ({"holder_trace_id": holds.trace_id, "holder_span_id": holds.span_id} if at % 2 else {})
            for at, (holds, waits) in enumerate(pairwise(sent))
        ],
    }


def _plans(sent: Sequence[Sent], at_s: int) -> bytes:
    """One of each of their statements."""
    texts = {of_template(str(call.attributes.get("db.query.text", ""))) for each in sent for call in each.calls}
    row = {
        "server": "10.0.0.5:3306",
        "plan_id": 1,
        "first_seen": str(at_s),
        "last_seen": str(at_s),
        "summary": "t: scan",
    }
    row["shape"] = json.dumps({"does": "plan", "table": "", "key": "", "parts": 0, "rows": 0, "steps": []})
    return "".join(
        json.dumps({**row, "fingerprint_id": fingerprint_id(text)}) + "\n" for text in sorted(texts)
    ).encode()


def _logged(sent: Sequence[Sent]) -> bytes:
    """The slow-log entries of their statements, each also without its comment, as of a prepared statement."""
    lines = []
    for each in sent:
        for call in each.calls:
            if "db.query.text" in call.attributes:
                text = of_template(str(call.attributes["db.query.text"]))
                line = {
                    "started_us": (each.started_ns + call.offset_ns) // 1_000,
                    "read_at": int(time.time()),
                    "query_ns": call.duration_ns // 2,
                    "fingerprint": text,
                    "fingerprint_id": fingerprint_id(text),
                    "connection_id": CONNECTION_ID,
                    "weight": 1,
                }
                joined = {"trace_id": each.trace_id, "span_id": each.span_id, "service": each.service}
                lines += [line | joined, line]
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def slow_rows(number: int) -> bytes:
    """Entries of a slow log as the reader inserts them."""
    now_s = int(time.time())
    lines = [
        {
            "started_us": (now_s - 60 + at) * 1_000_000,
            "read_at": now_s,
            "query_ns": 1_000_000 * at,
            "fingerprint": f"select {at % 3}",
            "fingerprint_id": at % 3,
            "trace_id": f"{at:032x}",
            "service": "shop",
            "route": "GET /product/{id}",
            "weight": 1,
        }
        for at in range(number)
    ]
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def count(engine: Engine, table: str = "transactions") -> int:
    return int(engine.query("SELECT count() AS n FROM {table:Identifier}", {"table": table})[0]["n"])


@dataclass
class Both:
    """The embedded engine and the server's, with the same ten minutes of the shop in both."""

    embedded: Engine
    server: Engine
    sent: list[Sent]
    incident_id: str

    def agree(self, sql: str, parameters: Parameters | None = None) -> Rows:
        answer = self.embedded.query(sql, parameters)
        assert self.server.query(sql, parameters) == answer
        return answer

    def answer_alike(self, asked: Asked) -> None:
        """Run each text of a query on both, once, with as many parameters as the product does; it finds something."""
        assert asked, "every_question.py asks nothing that needs it"
        by_text = {
            sql: (sql, params) for sql, params in sorted(asked, key=lambda each: sum(map(bool, each[1].values())))
        }
        rows = sum(len(self._same_rows(*each)) for each in by_text.values())
        assert rows or any(self._same_rows(*each) for each in asked), "no row: store_everything lacks something"

    def answer_everything_alike(self, questions: Questions) -> int:
        """Run all queries on both with all parameters that the product runs them with; return the number of rows."""
        return sum(len(self._same_rows(*each)) for asked in questions.values() for each in asked)

    def _same_rows(self, sql: str, parameters: Parameters) -> Rows:
        answers = [engine.query(sql, parameters) for engine in (self.embedded, self.server)]
        if "system.parts" in sql:  # what is on the disk of a node: its parts and bytes change with every merge
            return answers[0]
        if "\nORDER BY" not in sql:
            answers = [sorted(rows, key=repr) for rows in answers]
        assert answers[0] == answers[1]
        return answers[0]
