"""Real OTLP in, rows out: every attribute of docs/wire.md lands in its column, and nothing absurd stops an insert."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span, Status
from walltime_collector.clickhouse.engine import Engine

from tests.collector.clickhouse.spans import pairs, request, rows, span, store

DAY_NS = 86_400_000_000_000
BUILT_IN = (
    *("mysql.connect", "mysql.query", "mysql.fetch", "mysql.commit"),
    *("memcache.connect", "memcache.get", "memcache.set", "memcache.delete", "memcache.incr"),
    *("http.connect", "http.request"),
)
EXTRA = (
    *("mysql.query.rows", "mysql.query.deadlocks", "mysql.query.lock_timeouts", "mysql.fetch.rows"),
    *("memcache.get.keys", "memcache.get.hits", "memcache.get.misses", "memcache.set.not_stored"),
    *(f"memcache.{operation}.{counter}" for operation in ("delete", "incr") for counter in ("keys", "hits", "misses")),
)
Row = Mapping[str, Any]


@pytest.fixture(scope="module")
def the(engine: Engine) -> Callable[[str, Span], dict[str, Any]]:
    """The one row of a span."""

    def find(table: str, one: Span) -> dict[str, Any]:
        found = rows(engine, table, one)
        assert len(found) == 1
        return found[0]

    return find


def test_every_attribute_of_a_transaction_lands_in_its_column(
    engine: Engine, the: Callable[[str, Span], dict[str, Any]]
) -> None:
    numbers = itertools.count(1000)
    counters = {
        **{
            f"{component}.{counter}": next(numbers)
            for component in BUILT_IN
            for counter in ("calls", "time_ns", "max_ns", "errors")
        },
        **{name: next(numbers) for name in EXTRA},
    }
    sent = span(
        {
            "walltime.schema": 1,
            "walltime.kept": "slow",
            "walltime.sample_probability": 0.25,
            "walltime.queue_ns": 11,
            "walltime.covered_ns": 4_000_000,
            "walltime.cpu_user_ns": 13,
            "walltime.cpu_system_ns": 14,
            "walltime.peak_rss_growth_bytes": 15,
            "walltime.calls_dropped": 16,
            "http.request.method": "GET",
            "http.route": "/product/{id}",
            "url.scheme": "https",
            "http.response.status_code": 503,
            "error.type": "OperationalError",
            "server.address": "shop.example",
            "user.id": "u42",
            "cart.size": 3,
            **{f"walltime.{name}": number for name, number in counters.items()},
            "walltime.target.component": ["mysql.query", "memcache.get"],
            "walltime.target.address": ["db:3306", "/run/memcached.sock"],
            "walltime.target.calls": [1, 2],
            "walltime.target.time_ns": [3, 4],
            "walltime.target.errors": [5, 6],
            "walltime.target.hits": [0, 7],
            "walltime.target.misses": [0, 8],
            "walltime.statement.text": ["SELECT ?", "COMMIT"],
            "walltime.statement.calls": [21, 22],
            "walltime.statement.time_ns": [23, 24],
            "walltime.statement.errors": [25, 26],
            "walltime.sample.interval_ns": 10_000_000,
            "walltime.sample.component": ["view", "other"],
            "walltime.sample.line": ["shop/views.py:42", ""],
            "walltime.sample.function": ["product", ""],
            "walltime.sample.library": ["json.dumps"],
            "walltime.sample.state": ["computing", "gil", "lock"],
            "walltime.sample.stack": ["main (shop/main.py:3);product (shop/views.py:42)", ""],
            "walltime.sample.count": [31, -1],
            "walltime.sample.time_ns": [310],
        },
        parent_span_id=b"\x01" * 8,
        status=Status(code=Status.STATUS_CODE_ERROR),
    )
    resource = {
        "service.name": "shop",
        "service.version": "1.2",
        "host.name": "web-1",
        "service.instance.id": "i-1",
        "deployment.environment.name": "prod",
        "process.pid": 7,
    }
    store(engine, request(sent, resource=resource))
    row = the("transactions", sent)
    assert {name: row[name.replace(".", "_")] for name in counters} == counters
    expected = {
        "duration_ns": 5_000_000,
        "other_ns": 1_000_000,
        "service": "shop",
        "name": "GET /product/{id}",
        "kind": "server",
        "host": "web-1",
        "instance": "i-1",
        "version": "1.2",
        "environment": "prod",
        "user": "u42",
        "method": "GET",
        "http_status": 503,
        "is_error": True,
        "error_type": "OperationalError",
        "kept": "slow",
        "sample_probability": 0.25,
        "queue_ns": 11,
        "cpu_user_ns": 13,
        "cpu_system_ns": 14,
        "peak_rss_growth_bytes": 15,
        "covered_ns": 4_000_000,
        "calls_dropped": 16,
        "target.component": ["mysql.query", "memcache.get"],
        "target.address": ["db:3306", "/run/memcached.sock"],
        "target.calls": [1, 2],
        "target.time_ns": [3, 4],
        "target.errors": [5, 6],
        "target.hits": [0, 7],
        "target.misses": [0, 8],
        "statement.text": ["SELECT ?", "COMMIT"],
        "statement.calls": [21, 22],
        "statement.time_ns": [23, 24],
        "statement.errors": [25, 26],
        "sample": [
            {
                "component": "view",
                "line": "shop/views.py:42",
                "function": "product",
                "library": "json.dumps",
                "state": "computing",
                "stack": "main (shop/main.py:3);product (shop/views.py:42)",
                "count": 31,
                "time_ns": 310,
            },
            # arrays of other lengths and negative numbers stop nothing
            {**dict.fromkeys(("line", "function", "library", "stack"), ""), "component": "other", "state": "gil"}
            | {"count": 0, "time_ns": 0},
        ],
        "attributes": {
            "http.route": "/product/{id}",
            "url.scheme": "https",
            "server.address": "shop.example",
            "cart.size": "3",
            "walltime.sample.interval_ns": "10000000",
        },
        "resource": {"process.pid": "7"},
        "custom_calls": {},
        "custom_time_ns": {},
        "custom_max_ns": {},
        "custom_errors": {},
    }
    assert {name: row[name] for name in expected} == expected
    whole = engine.query(
        "SELECT hex(parent_span_id) AS parent, hex(span_id) AS span, toUnixTimestamp64Nano(started_at) AS started_ns"
        " FROM transactions WHERE trace_id = unhex({id:String})",
        {"id": sent.trace_id.hex()},
    )
    assert whole == [{"parent": "01" * 8, "span": sent.span_id.hex().upper(), "started_ns": sent.start_time_unix_nano}]
    assert rows(engine, "spans", sent) == []


def test_components_the_application_named_are_in_the_maps(
    engine: Engine, the: Callable[[str, Span], dict[str, Any]]
) -> None:
    sent = span(
        {
            "walltime.schema": 1,
            "walltime.render.calls": 2,
            "walltime.render.time_ns": 300,
            "walltime.render.max_ns": 200,
            "walltime.python.gc.time_ns": 9,
            "walltime.(other).errors": 4,
            "walltime.memcache.touch.calls": 5,
            "walltime.mysql.query.calls": 6,
            "walltime.target.calls": 7,  # a component may be called target: it is a number, not an array
            "walltime.calls": 8,
            "walltime.mysql.query.max_rows": 9,
        }
    )
    store(engine, request(sent))
    row = the("transactions", sent)
    assert row["custom_calls"] == {"render": 2, "memcache.touch": 5, "target": 7}
    assert row["custom_time_ns"] == {"render": 300, "python.gc": 9}
    assert row["custom_max_ns"] == {"render": 200}
    assert row["custom_errors"] == {"(other)": 4}
    assert row["attributes"] == {"walltime.calls": "8", "walltime.mysql.query.max_rows": "9"}
    assert row["mysql_query_calls"] == 6


def test_what_is_unknown_is_null_and_what_is_absent_is_zero(
    engine: Engine, the: Callable[[str, Span], dict[str, Any]]
) -> None:
    sent = span({"walltime.schema": 1, "walltime.cpu_user_ns": 0, "walltime.queue_ns": "soon"})
    store(engine, request(sent))
    row = the("transactions", sent)
    assert (row["cpu_user_ns"], row["cpu_system_ns"], row["queue_ns"]) == (0, None, None)
    assert row["attributes"] == {"walltime.queue_ns": "soon"}
    assert row["other_ns"] == row["duration_ns"] == 5_000_000
    assert row["target.component"] == row["statement.text"] == []


def test_a_kept_call_has_its_component_and_its_attributes(
    engine: Engine, the: Callable[[str, Span], dict[str, Any]]
) -> None:
    sent = span(
        {
            "walltime.component": "mysql.query",
            "walltime.own_ns": 1234,
            "db.query.text": "SELECT ?",
            "server.port": 3306,
        },
        kind=Span.SPAN_KIND_CLIENT,
        trace_state="a=b",
        status=Status(code=Status.STATUS_CODE_ERROR, message="gone away"),
        events=[
            Span.Event(
                name="retry", time_unix_nano=1_700_000_000_000_000_001, attributes=pairs({"n": 1, "why": "deadlock"})
            )
        ],
        links=[
            Span.Link(trace_id=b"\x02" * 16, span_id=b"\x03" * 8, trace_state="c=d", attributes=pairs({"is": True}))
        ],
    )
    store(engine, request(sent))
    row = the("spans", sent)
    expected = {
        "component": "mysql.query",
        "own_ns": 1234,
        "kind": "client",
        "status": "error",
        "status_message": "gone away",
        "trace_state": "a=b",
        "scope_name": "walltime",
        "scope_version": "0.1.0",
        "attributes": {"db.query.text": "SELECT ?", "server.port": "3306"},
        "events.at": ["2023-11-14 22:13:20.000000001"],
        "events.name": ["retry"],
        "events.attributes": [{"n": "1", "why": "deadlock"}],
        "links.trace_id": ["\x02" * 16],
        "links.span_id": ["\x03" * 8],
        "links.trace_state": ["c=d"],
        "links.attributes": [{"is": "true"}],
    }
    assert {name: row[name] for name in expected} == expected
    assert rows(engine, "transactions", sent) == []


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("", ""),
        ("it's\n", "it's\n"),
        (0, "0"),
        (-(2**63), str(-(2**63))),
        (False, "false"),
        (True, "true"),
        (0.0, "0"),
        (1.5, "1.5"),
        (b"\xff\x00", "/wA="),
        ([], "[]"),
        (["a", 'b"\n', 1, True, 0.5, b"\xff"], '["a","b\\"\\n",1,true,0.5,"/w=="]'),
        ({"k": "v", "n": 2}, '{"k":"v","n":2}'),
        (["outer", ["inner"]], '["outer",null]'),
        (AnyValue(), ""),
    ],
    ids=repr,
)
def test_an_attribute_of_any_type_becomes_text(
    engine: Engine, the: Callable[[str, Span], dict[str, Any]], value: object, text: str
) -> None:
    plain = span({"tag": value})
    transaction = span({"walltime.schema": 1, "tag": value})
    store(engine, request(plain, transaction, resource={"service.name": "shop", "tag": value}))
    for table, one in (("spans", plain), ("transactions", transaction)):
        assert the(table, one)["attributes"] == {"tag": text}
        assert the(table, one)["resource"] == {"tag": text}


@pytest.mark.parametrize(
    ("kind", "word"), [(0, "internal"), (1, "internal"), (2, "server"), (3, "client"), (4, "producer"), (5, "consumer")]
)
def test_kinds_are_words(
    engine: Engine, the: Callable[[str, Span], dict[str, Any]], kind: Span.SpanKind.ValueType, word: str
) -> None:
    sent = span(kind=kind)
    store(engine, request(sent))
    assert the("spans", sent)["kind"] == word


def test_only_schema_1_is_a_transaction(engine: Engine) -> None:
    others = [span({"walltime.schema": 2}), span({"walltime.schema": "1"}), span({"walltime.schemas": 1}), span()]
    store(engine, request(*others))
    for each in others:
        assert len(rows(engine, "spans", each)) == 1
        assert rows(engine, "transactions", each) == []


def test_several_resources_and_scopes_in_one_request_keep_apart(
    engine: Engine, the: Callable[[str, Span], dict[str, Any]]
) -> None:
    spans = [span() for _ in range(4)]
    whole = ExportTraceServiceRequest(
        resource_spans=[
            ResourceSpans(scope_spans=[ScopeSpans(spans=spans[:1]), ScopeSpans(spans=spans[1:2]), ScopeSpans()]),
            ResourceSpans(),
            *request(*spans[2:], resource={"service.name": "second"}).resource_spans,
        ]
    )
    whole.resource_spans[0].scope_spans[1].scope.name = "other"
    store(engine, whole)
    assert [(the("spans", each)["service"], the("spans", each)["scope_name"]) for each in spans] == [
        ("", ""),
        ("", "other"),
        ("second", "walltime"),
        ("second", "walltime"),
    ]


def test_migrating_again_changes_nothing(engine: Engine) -> None:
    applied = engine.query("SELECT name FROM schema_migrations ORDER BY name")
    engine.migrate()
    assert engine.query("SELECT name FROM schema_migrations ORDER BY name") == applied
    numbers = [row["name"][:3] for row in applied]
    assert numbers == sorted(set(numbers))
