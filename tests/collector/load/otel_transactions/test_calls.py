"""What spans of other SDKs say, in Walltime's words: components, servers, statements without literals, the request."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.load.otel_transactions.windows import Window, assemble
from walltime_collector.query.transaction.show import _kept
from walltime_collector.statements.fingerprint import redact

from tests.collector.clickhouse.spans import request, span, store
from tests.sdk.redaction.sql_grammar import DIALECTS, MARK, Grammar

CLIENT, PRODUCER, INTERNAL = Span.SPAN_KIND_CLIENT, Span.SPAN_KIND_PRODUCER, Span.SPAN_KIND_INTERNAL
CALLS = "SELECT name, component, address, sql_text, is_error FROM foreign_calls WHERE trace_id = unhex({id:String})"

# name of the span, its kind, what it says → component, address
CASES: tuple[tuple[str, int, Mapping[str, object], tuple[str, str]], ...] = (
    ("q", CLIENT, {"db.system": "mysql", "net.peer.name": "db", "net.peer.port": 33}, ("mysql.query", "db:33")),
    ("x", CLIENT, {"db.system.name": "mariadb", "server.address": "db", "server.port": 1}, ("mysql.query", "db:1")),
    ("connect", CLIENT, {"db.system": "mysql", "net.peer.name": "db"}, ("mysql.connect", "db")),
    ("pg-pool.connect", CLIENT, {"db.system": "postgresql"}, ("postgresql.connect", "")),
    ("COMMIT", CLIENT, {"db.system": "mysql"}, ("mysql.commit", "")),
    ("q", CLIENT, {"db.system": "mysql", "db.statement": "rollback;"}, ("mysql.commit", "")),
    ("get_many", CLIENT, {"db.system": "memcached", "db.statement": "get_many a"}, ("memcache.get", "")),
    ("set", CLIENT, {"db.system": "memcached", "db.operation": "set_multi"}, ("memcache.set", "")),
    ("GET", CLIENT, {"db.system": "redis", "db.statement": "GET ?", "net.peer.ip": "1.1"}, ("redis.get", "1.1")),
    ("find", CLIENT, {"db.system": "mongodb", "db.operation": "find"}, ("mongodb.find", "")),
    ("GET", CLIENT, {"http.method": "GET", "http.url": "https://u:p@pay/x?y"}, ("http.request", "pay:443")),
    ("GET", CLIENT, {"http.request.method": "GET", "url.full": "http://[::1]:81/"}, ("http.request", "[::1]:81")),
    ("a", CLIENT, {"rpc.system": "aws-api", "rpc.service": "S3", "rpc.method": "PutObject"}, ("s3.PutObject", "")),
    ("g", CLIENT, {"rpc.system.name": "grpc", "rpc.method": "shop.Cart/Add"}, ("grpc.Add", "")),
    ("k", PRODUCER, {"messaging.system": "kafka", "messaging.operation.name": "send"}, ("kafka.send", "")),
    ("k", PRODUCER, {"messaging.system": "mq", "messaging.url": "amqp://u:p@mq:56/v"}, ("mq.publish", "mq:56")),
    ("chat", CLIENT, {"gen_ai.system": "openai", "gen_ai.operation.name": "chat"}, ("openai.chat", "")),
    ("anything", CLIENT, {}, ("client.call", "")),
    ("anything", PRODUCER, {}, ("producer.call", "")),
    ("SELECT", INTERNAL, {"db.system": "sqlite"}, ("sqlite.query", "")),
    ("render", INTERNAL, {"server.address": "x"}, ("", "")),
    ("odd", CLIENT, {"db.system": "My DB!", "db.operation": "a b\n" + "c" * 90}, ("my_db_.a_b_" + "c" * 36, "")),
)  # fmt: skip

STATEMENTS = (
    "SELECT * FROM `it's` WHERE a = 'it''s' AND b = \"x\\\"y\" AND c = -1.5e-3 OR d = .5e+7 OR e=1e5 OR f=0x1F",
    "select a1, t2.c3, $1, :name, %s, %(name)s, ? from t /* why */ where x in (1, 2,3) -- the end",
    "SELECT 1 # comment 'it\nFROM b --\n, 'c' --x 'd'",
    "INSERT INTO t VALUES (X'1F', _utf8'é', N'x', E'a\\'b', $$abc$$, $tag$ 'x' $tag$), (NULL, 1.), (1.e+5, 12abc)",
    "SELECT 'not closed \\' at all",
    'SELECT "not closed',
    "SELECT `not closed 'x'",
    "SELECT /*+ MAX_EXECUTION_TIME(1000) */ 1 /**/ , 2 /***/ /* not closed 3",
    "SELECT naïve1, é2, 'ü' FROM größe WHERE ключ = 5",
    "  spaces \t\n everywhere   ",
    "a/b - c -- d",
    "select 'C:\\' as p, 's3cr3t' as q",
    "select 'C:\\' as p, 's3cr3t' as q, 'D:\\' as r",
    "select '\xb0\\' as p, 's3cr3t' as q",
    "select * from 123foo where a = 's3cr3t'",
    "",
)


def calls(engine: Engine, *spans: Span) -> list[dict[str, Any]]:
    trace_id = b"\x01" + time.time_ns().to_bytes(15, "big")
    for number, each in enumerate(spans, 1):
        each.trace_id, each.span_id = trace_id, number.to_bytes(8, "big")
    store(engine, request(*spans))
    return engine.query(f"{CALLS} ORDER BY span_id", {"id": trace_id.hex()})


def test_every_convention_is_understood(engine: Engine) -> None:
    found = calls(engine, *(span(attributes, name=name, kind=kind) for name, kind, attributes, *_ in CASES))
    assert [(row["component"], row["address"]) for row in found] == [expected for *_, expected in CASES]


def test_no_literal_is_left_in_a_statement_and_it_is_redacted_as_the_logs_are(engine: Engine) -> None:
    texts = [*STATEMENTS, *(Grammar(dialect, seed).statement()[0] for dialect in DIALECTS for seed in range(60))]
    sent: dict[str, str] = {}
    spans: list[Span] = []
    for text in texts:
        root = span({"http.request.method": "GET"})
        call = span(
            {"db.system": "mysql", "db.query.text": text},
            trace_id=root.trace_id, parent_span_id=root.span_id, kind=CLIENT,
            start_time_unix_nano=root.start_time_unix_nano, end_time_unix_nano=root.end_time_unix_nano,
        )  # fmt: skip
        spans += [root, call]
        sent[root.trace_id.hex()] = text
    store(engine, request(*spans, resource={"service.name": "redacted"}))
    now_s = int(time.time())
    assemble(engine, Window(now_s - 3600, now_s + 60))
    rows = engine.query(
        "SELECT lower(hex(trace_id)) AS trace, statement.text AS texts FROM transactions WHERE service = 'redacted'"
    )
    read = {sent[row["trace"]]: row["texts"] for row in rows}
    expected = {text: [redact(text)] if redact(text) else [] for text in texts}
    assert {text: texts for text, texts in read.items() if texts != expected[text]} == {}
    assert set(read) == set(texts)
    assert MARK not in json.dumps(rows)
    shown, _ = _kept(engine, next(trace for trace, text in sent.items() if text == STATEMENTS[0]))
    assert [row["statement"] for row in shown if row["statement"]] == expected[STATEMENTS[0]]


def test_only_sql_is_a_statement_and_only_of_a_call(engine: Engine) -> None:
    redis = span({"db.system": "redis", "db.statement": "SET secret"}, kind=CLIENT)
    served = span({"db.system": "mysql", "db.statement": "SELECT 1"})
    assert [row["sql_text"] for row in calls(engine, redis, served)] == ["", ""]


def test_what_failed(engine: Engine) -> None:
    found = calls(
        engine,
        span({}, kind=CLIENT, status=Status(code=Status.STATUS_CODE_ERROR)),
        span({"error.type": "timeout"}, kind=CLIENT),
        span({"http.status_code": 404}, kind=CLIENT),
        span({"http.response.status_code": 399}, kind=CLIENT),
    )
    assert [bool(row["is_error"]) for row in found] == [True, True, True, False]


# name, kind, attributes, more of the span → what the transaction says
REQUESTS: tuple[tuple[str, Mapping[str, object], Mapping[str, Any], Mapping[str, object]], ...] = (
    (
        "GET /a/{id}",
        {"http.request.method": "GET", "http.route": "/a/{id}", "http.response.status_code": 200, "user.id": "u"},
        {"trace_state": "x=y,ot=rv:1;th:c"},
        {"name": "GET /a/{id}", "method": "GET", "http_status": 200, "user": "u", "sample_probability": 0.25},
    ),
    (
        "/a",
        {"http.method": "POST", "http.route": "/a", "http.status_code": 500, "enduser.id": "v"},
        {},
        {"name": "POST /a", "method": "POST", "http_status": 500, "user": "v", "is_error": True, "error_type": "500"},
    ),
    (
        "work",
        {"messaging.system": "kafka"},
        {
            "kind": Span.SPAN_KIND_CONSUMER,
            "status": Status(code=Status.STATUS_CODE_ERROR),
            "events": [Span.Event(name="exception", attributes=span({"exception.type": "KeyError"}).attributes)],
            "trace_state": "ot=th:0",
        },
        {"name": "work", "kind": "consumer", "is_error": True, "error_type": "KeyError", "sample_probability": 1.0},
    ),
    ("GET", {"http.request.method": "GET", "error.type": "timeout"}, {}, {"name": "GET", "error_type": "timeout"}),
)


def test_the_request_itself_by_both_versions_of_the_conventions(engine: Engine) -> None:
    roots = [span(attributes, name=name, **more) for name, attributes, more, _ in REQUESTS]
    # inside of the request's time, whenever they are made; MySQL's are the longest, so it is among the 32 components
    start_ns = roots[0].start_time_unix_nano
    short, long = (
        {"start_time_unix_nano": start_ns, "end_time_unix_nano": start_ns + each} for each in (1_000_000, 4_000_000)
    )
    many = [
        span(
            {"db.system": f"db{at}", "server.address": f"h{at}"},
            trace_id=roots[0].trace_id,
            parent_span_id=roots[0].span_id,
            kind=CLIENT,
            **short,
        )
        for at in range(70)
    ]
    sql = [
        span(
            {"db.system": "mysql", "db.query.text": f"SELECT a{at}"},
            trace_id=roots[0].trace_id, parent_span_id=roots[0].span_id, kind=CLIENT, **long,
        )
        for at in range(66)
    ]  # fmt: skip
    resource = {"service.name": "theirs", "host.name": "h", "service.version": "v", "deployment.environment.name": "e"}
    store(engine, request(*roots, *many, *sql, resource=resource))
    now_s = int(time.time())
    assemble(engine, Window(now_s - 3600, now_s + 60))
    for root, (_, _, _, expected) in zip(roots, REQUESTS, strict=True):
        (row,) = engine.query(
            "SELECT * FROM transactions WHERE trace_id = unhex({id:String})", {"id": root.trace_id.hex()}
        )
        wanted = {"is_error": False, "service": "theirs", "host": "h", "version": "v", "environment": "e", **expected}
        if "error_type" in expected:
            wanted.pop("is_error") if "is_error" not in expected else None
        assert {name: row[name] for name in wanted} == wanted
        assert (row["kept"], row["queue_ns"], row["cpu_user_ns"]) == ("foreign", None, None)
        assert not {"http.request.method", "http.method", "user.id", "http.status_code"} & set(row["attributes"])
    (row,) = engine.query(
        "SELECT * FROM transactions WHERE trace_id = unhex({id:String})", {"id": roots[0].trace_id.hex()}
    )
    assert (len(row["custom_calls"]), row["mysql_query_calls"] + sum(row["custom_calls"].values())) == (32, 136)
    assert (len(row["target.calls"]), sum(row["target.calls"]), row["target.component"][-1]) == (65, 70, "(other)")
    assert (len(row["statement.calls"]), sum(row["statement.calls"]), row["statement.text"][-1]) == (65, 66, "(other)")
