"""Views in the layout of the OpenTelemetry Collector's ClickHouse exporter: what Grafana asks of them, by the guard."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from walltime.core.call import lines
from walltime.core.ids import Ids
from walltime.core.transaction import Transaction
from walltime.export import otlp, protobuf
from walltime.redaction.redact import Redaction
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.load.otel_transactions.windows import Window, assemble
from walltime_collector.sql.runner import QueryRunner

from tests.collector.clickhouse.spans import request, span, store
from tests.collector.conftest import Stored
from tests.sdk.sink import attributes_of

COLUMNS = {
    "Timestamp": "DateTime64(9, 'UTC')",
    **dict.fromkeys(("TraceId", "SpanId", "ParentSpanId", "TraceState"), "String"),
    **dict.fromkeys(("SpanName", "SpanKind", "ServiceName"), "LowCardinality(String)"),
    "ResourceAttributes": "Map(LowCardinality(String), String)",
    **dict.fromkeys(("ScopeName", "ScopeVersion"), "String"),
    "SpanAttributes": "Map(LowCardinality(String), String)",
    "Duration": "UInt64",
    "StatusCode": "LowCardinality(String)",
    "StatusMessage": "String",
    "Events.Timestamp": "Array(DateTime64(9, 'UTC'))",
    "Events.Name": "Array(LowCardinality(String))",
    "Events.Attributes": "Array(Map(LowCardinality(String), String))",
    **dict.fromkeys(("Links.TraceId", "Links.SpanId", "Links.TraceState"), "Array(String)"),
    "Links.Attributes": "Array(Map(LowCardinality(String), String))",
}
# What Grafana's plugin 4 sends for one trace: bounds from the companion table, then all that its panel draws.
ONE_TRACE = """
WITH '{trace_id}' as trace_id,
    (SELECT min(Start) FROM "walltime"."otel_traces_trace_id_ts" WHERE TraceId = trace_id) as trace_start,
    (SELECT max(End) + 1 FROM "walltime"."otel_traces_trace_id_ts" WHERE TraceId = trace_id) as trace_end
SELECT "TraceId" as traceID, "SpanId" as spanID, "ParentSpanId" as parentSpanID, "ServiceName" as serviceName,
    "SpanName" as operationName, multiply(toUnixTimestamp64Nano("Timestamp"), 0.000001) as startTime,
    multiply("Duration", 0.000001) as duration,
    arrayMap(key -> map('key', key, 'value',"SpanAttributes"[key]), mapKeys("SpanAttributes")) as tags,
    arrayMap(key -> map('key', key, 'value',"ResourceAttributes"[key]), mapKeys("ResourceAttributes")) as serviceTags,
    if("StatusCode" IN ('Error', 'STATUS_CODE_ERROR'), 2, 0) as statusCode,
    arrayMap((name, timestamp, attributes) -> tuple(name, toString(toUnixTimestamp64Milli(timestamp)),
        arrayMap( key -> map('key', key, 'value', attributes[key]), mapKeys(attributes)))
        ::Tuple(name String, timestamp String, fields Array(Map(String, String))),
        "Events".Name, "Events".Timestamp, "Events".Attributes) AS logs,
    arrayMap((traceID, spanID, attributes) -> tuple(traceID, spanID,
        arrayMap(key -> map('key', key, 'value', attributes[key]), mapKeys(attributes)))
        ::Tuple(traceID String, spanID String, tags Array(Map(String, String))),
        "Links".TraceId, "Links".SpanId, "Links".Attributes) AS references,
    "SpanKind" as kind, "StatusMessage" as statusMessage, "ScopeName" as instrumentationLibraryName,
    "ScopeVersion" as instrumentationLibraryVersion, "TraceState" as traceState
FROM "walltime"."otel_traces" WHERE traceID = trace_id AND "Timestamp" >= trace_start AND "Timestamp" <= trace_end
"""
SEARCH = """
SELECT "TraceId" as traceID, "ServiceName" as serviceName, "SpanName" as operationName,
    multiply(toUnixTimestamp64Nano("Timestamp"), 0.000001) as startTime, multiply("Duration", 0.000001) as duration
FROM "walltime"."otel_traces"
WHERE ( Timestamp >= toDateTime({from_s}) AND Timestamp <= toDateTime({to_s}) )
    AND ( ParentSpanId = '' ) AND ( Duration > 0 ) AND ( ServiceName = '{service}' )
ORDER BY Timestamp DESC, Duration DESC LIMIT 1000
"""


@pytest.fixture(scope="module")
def runner(engine: Engine) -> QueryRunner:
    return QueryRunner(engine, "walltime")


def ask(runner: QueryRunner, sql: str) -> list[dict[str, Any]]:
    content = runner.run(sql, name="grafana", parameters={}, format_name="JSON").content
    return list(json.loads(content)["data"])


def spans_of(runner: QueryRunner, trace_id: str) -> list[dict[str, Any]]:
    return ask(runner, f"SELECT * FROM otel_traces WHERE TraceId = '{trace_id}' ORDER BY Timestamp, SpanId")


def as_text(value: object) -> str:
    if isinstance(value, list):
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return str(value)


def test_the_columns_are_the_exporters(runner: QueryRunner) -> None:
    assert {row["name"]: row["type"] for row in ask(runner, "DESCRIBE otel_traces")} == COLUMNS
    companion = {row["name"]: row["type"] for row in ask(runner, "DESCRIBE otel_traces_trace_id_ts")}
    assert companion == {"TraceId": "String", "Start": "DateTime('UTC')", "End": "DateTime('UTC')"}


def sdk_request(is_rich: bool) -> ExportTraceServiceRequest:
    """A transaction as the SDK writes it: calls of many kinds, or none at all."""
    ids = Ids(int.from_bytes(b"t" * 15 + bytes([is_rich]), "big"), 2)
    transaction = Transaction("GET /a/{id}", "server", ids, 0, 0)
    transaction.queue_ns = 0
    transaction.cpu_user_ns = transaction.cpu_system_ns = 3
    if is_rich:
        database, cache = ("10.0.0.5", 3306), "/run/m'\"\\cached.sock"
        made = (
            ("mysql.query", database, "SELECT * FROM `a/b` WHERE c = 'it''s \\ \"q\"' -- é", 0, "1213", 0, 0),
            ("mysql.query", database, "SELECT 1", 300, None, 0, 2),
            ("memcache.get", cache, None, 700, None, 3, 2),
            ("redis.get", ("r", 6379), None, 800, None, 1, 1),
            ("render", None, None, 900, None, 0, 0),
        )
        for component, target, subject, at_ns, failure, asked, hits in made:
            line = lines(component)[target]
            transaction.nested_ns = 0
            transaction.record(line, subject, at_ns, at_ns + 50, 0, failure, asked, hits)
    transaction.duration_ns = 900_000_000
    bill = transaction.add_up(detail=True)
    encoder = otlp.Encoder(protobuf.resource_attribute("service.name", "sdk"), "1.2", 0.25, Redaction(b"salt"))
    body = encoder.request(encoder.transaction(transaction, bill, "random" if is_rich else ""), {})
    return ExportTraceServiceRequest.FromString(body)


@pytest.mark.parametrize("is_rich", [False, True])
def test_what_the_sdk_sends_comes_out_as_it_was_on_the_wire(engine: Engine, runner: QueryRunner, is_rich: bool) -> None:
    whole = sdk_request(is_rich)
    store(engine, whole)
    sent = {each.span_id.hex(): each for each in whole.resource_spans[0].scope_spans[0].spans}
    found = {row["SpanId"]: row for row in spans_of(runner, next(iter(sent.values())).trace_id.hex())}
    assert set(found) == set(sent)
    assert len(sent) == (6 if is_rich else 1)
    for span_id, row in found.items():
        said = attributes_of(sent[span_id].attributes)
        assert row["SpanAttributes"] == {key: as_text(value) for key, value in said.items()}
        assert int(row["Duration"]) == sent[span_id].end_time_unix_nano - sent[span_id].start_time_unix_nano
        assert row["ResourceAttributes"] == {"service.name": "sdk"}


def test_a_span_of_another_sdk_comes_out_whole_and_its_transaction_is_not_told_again(
    engine: Engine, runner: QueryRunner
) -> None:
    root = span(
        {"http.request.method": "GET", "http.route": "/x", "list": ["a/b", "c"]},
        parent_span_id=b"\x07" * 8,
        trace_state="ot=th:c",
        status=Status(code=Status.STATUS_CODE_ERROR, message="it broke"),
        events=[Span.Event(time_unix_nano=1_700_000_000_000_000_001, name="exception", attributes=[])],
        links=[Span.Link(trace_id=b"\x01" * 16, span_id=b"\x02" * 8, trace_state="a=b")],
    )
    resource = {
        "service.name": "theirs",
        "host.name": "h",
        "service.instance.id": "i",
        "service.version": "v",
        "os": "x",
    }
    store(engine, request(root, resource=resource))
    now_s = int(time.time())
    assemble(engine, Window(now_s - 3600, now_s + 60))
    (row,) = spans_of(runner, root.trace_id.hex())
    assert (row["SpanKind"], row["StatusCode"], row["StatusMessage"]) == ("Server", "Error", "it broke")
    assert (row["ParentSpanId"], row["TraceState"], row["SpanName"]) == ("07" * 8, "ot=th:c", "GET /product/{id}")
    assert row["ResourceAttributes"] == resource
    assert row["SpanAttributes"] == {"http.request.method": "GET", "http.route": "/x", "list": '["a/b","c"]'}
    assert (row["Events.Name"], row["Events.Timestamp"]) == (["exception"], ["2023-11-14 22:13:20.000000001"])
    assert (row["Links.TraceId"], row["Links.SpanId"], row["Links.TraceState"]) == (["01" * 16], ["02" * 8], ["a=b"])
    transactions = ask(runner, "SELECT name, sample_probability FROM transactions WHERE service = 'theirs'")
    assert transactions == [{"name": "GET /x", "sample_probability": 0.25}]


def test_grafana_draws_a_trace(runner: QueryRunner, shop: Stored) -> None:
    sent = next(each for each in shop.sent if each.kept and each.calls)
    rows = ask(runner, ONE_TRACE.format(trace_id=sent.trace_id))
    of_trace = [each for each in shop.sent if each.trace_id == sent.trace_id]
    assert len(rows) == sum(1 + len(each.calls) * bool(each.kept) for each in of_trace)
    by_span = {row["spanID"]: row for row in rows}
    root = by_span[sent.span_id]
    assert root["duration"] == pytest.approx(sent.duration_ns / 1e6)
    assert root["startTime"] == pytest.approx(sent.started_ns / 1e6)
    assert {"key": "walltime.schema", "value": "1"} in root["tags"]
    assert all(row["parentSpanID"] in by_span or row is root or not row["parentSpanID"] for row in rows)


def test_grafana_finds_traces_of_a_service_in_a_range(runner: QueryRunner, shop: Stored) -> None:
    from_s = min(each.started_ns for each in shop.sent) // 10**9 + 120
    within = [
        each
        for each in shop.sent
        if each.service == "shop"
        and not each.parent_span_id
        and from_s * 10**9 <= each.started_ns <= (from_s + 60) * 10**9
    ]
    rows = ask(runner, SEARCH.format(from_s=from_s, to_s=from_s + 60, service="shop"))
    assert 0 < len(within) < 1000
    assert [row["traceID"] for row in rows] == [each.trace_id for each in reversed(within)]


def read(engine: Engine, sql: str) -> dict[str, tuple[int, int]]:
    """Of each table: granules read, granules there are."""
    plan = [next(iter(row.values())) for row in engine.query(f"EXPLAIN indexes = 1 {sql}")]
    found: dict[str, list[tuple[int, int]]] = {}
    table = ""
    for line in plan:
        if began := re.search(r"ReadFromMergeTree \(walltime\.(\w+)\)", line):
            table = began[1]
        elif granules := re.search(r"Granules: (\d+)/(\d+)", line):
            found.setdefault(table, []).append((int(granules[1]), int(granules[2])))
    return {table: (steps[-1][0], steps[0][1]) for table, steps in found.items()}


FILL: Mapping[str, str] = {
    "spans": "INSERT INTO spans (trace_id, span_id, started_at, duration_ns, kind, component, service)"
    " SELECT unhex(hex(MD5(toString(number)))), 'abcdefgh', now64(9) - number / 1000, 5, 'client', 'x', 'many'"
    " FROM numbers(100000)",
    "transactions": "INSERT INTO transactions (trace_id, span_id, started_at, duration_ns, service, name)"
    " SELECT unhex(hex(MD5(toString(number)))), 'abcdefgh', now64(9) - number / 1000, 5, 'many', 'n'"
    " FROM numbers(100000)",
}


def test_a_trace_id_reads_few_granules_of_both_tables(engine: Engine) -> None:
    for sql in FILL.values():
        engine.command(sql)
    trace_id = engine.query("SELECT lower(hex(MD5('777'))) AS id")[0]["id"]
    for view in ("otel_traces", "otel_traces_trace_id_ts"):
        for how in (f"= '{trace_id}'", f"IN ('{trace_id}')"):
            for table, (few, all_there) in read(engine, f"SELECT * FROM {view} WHERE TraceId {how}").items():
                assert all_there > 10, table
                assert few <= 3, (view, how, table)
    assert engine.query("SELECT count() AS n FROM otel_traces WHERE TraceId = {id:String}", {"id": trace_id}) == [
        {"n": 2}
    ]


def test_a_service_and_a_range_read_few_granules_of_transactions(engine: Engine) -> None:
    sql = "SELECT TraceId FROM otel_traces WHERE ServiceName = 'many' AND Timestamp >= now() - 2"
    few, all_there = read(engine, sql)["transactions"]
    assert all_there > 10
    assert few <= 3
