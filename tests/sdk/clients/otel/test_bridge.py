"""Spans of other instrumentations become calls on the bill; what the application exports itself stays as it is."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import requests
import walltime
from opentelemetry import trace
from opentelemetry.instrumentation.requests import RequestsInstrumentor
from opentelemetry.instrumentation.sqlite3 import SQLite3Instrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON, Sampler
from opentelemetry.trace import SpanKind, Status, StatusCode, Tracer
from walltime.core import transaction as transaction_module

from tests.sdk.clients.http.upstream import Upstream
from tests.sdk.sink import Sink


def own(sampler: Sampler) -> tuple[TracerProvider, InMemorySpanExporter]:
    """A provider as an application sets it up, and what it exports."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(sampler=sampler, shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return provider, exporter


@pytest.fixture(params=["no SDK", "recording", "dropping"])
def tracer(request: pytest.FixtureRequest, recorded: Sink) -> Tracer:
    """An instrumentation's tracer, in an application without a provider, with one that keeps all, with one that keeps
    none."""
    if request.param == "no SDK":
        return trace.ProxyTracerProvider().get_tracer("opentelemetry.instrumentation.thing")
    provider, _ = own(ALWAYS_ON if request.param == "recording" else ALWAYS_OFF)
    return provider.get_tracer("opentelemetry.instrumentation.thing")


@pytest.fixture(params=["no SDK", "recording", "dropping"])
def sqlite(request: pytest.FixtureRequest, recorded: Sink) -> Iterator[sqlite3.Connection]:
    provider = None if request.param == "no SDK" else own(ALWAYS_ON if request.param == "recording" else ALWAYS_OFF)[0]
    SQLite3Instrumentor().instrument(tracer_provider=provider)
    connection = sqlite3.connect(":memory:")
    yield connection
    connection.close()
    SQLite3Instrumentor().uninstrument()


def test_what_an_instrumentation_measures_is_on_the_bill(recorded: Sink, sqlite: sqlite3.Connection) -> None:
    with walltime.transaction("job"):
        cursor = sqlite.cursor()
        cursor.execute("CREATE TABLE product (id INT)")
        for n in range(3):
            cursor.execute(f"INSERT INTO product VALUES ({n})")
        with pytest.raises(sqlite3.OperationalError):
            cursor.execute("SELECT * FROM no_such_table")
        cursor.close()
    bill = recorded.transaction()
    assert bill.cell("sqlite.query") == {"calls": 5, "errors": 1}
    assert bill.statements()["INSERT INTO product VALUES (?)"] == 3
    assert bill.targets() == {}  # it is in our process
    calls = recorded.calls("sqlite.query")
    assert [call.span.name for call in calls] == ["CREATE", "INSERT", "INSERT", "INSERT", "SELECT"]
    assert calls[-1].attributes["error.type"] == "OperationalError"
    assert {call.attributes["db.system.name"] for call in calls} == {"sqlite"}


def test_outside_of_a_transaction_the_calls_are_counted_and_nothing_else(
    recorded: Sink, sqlite: sqlite3.Connection
) -> None:
    transaction_module.outside_calls.clear()
    sqlite.execute("SELECT 1")
    cursor = sqlite.cursor()
    cursor.execute("SELECT 1")
    cursor.close()
    assert transaction_module.outside_calls["opentelemetry"] >= 1
    assert recorded.spans() == []


SHAPES = [
    ({"db.system": "postgresql", "db.statement": "SELECT 'x'", "db.name": "shop", "net.peer.name": "db1",
      "net.peer.port": 5432}, SpanKind.CLIENT, "postgresql.query", "db1:5432"),  # psycopg, asyncpg
    ({"db.system.name": "postgresql", "db.query.text": "SELECT 1", "server.address": "db1", "server.port": 5433},
     SpanKind.CLIENT, "postgresql.query", "db1:5433"),
    ({"db.system": "elasticsearch", "db.operation": "search", "http.request.method": "POST", "server.address": "es1",
      "server.port": 9200}, SpanKind.CLIENT, "elasticsearch.search", "es1:9200"),
    ({"db.system": "mongodb", "db.operation": "find", "net.peer.name": "mongo1", "net.peer.port": 27017},
     SpanKind.CLIENT, "mongodb.find", "mongo1:27017"),
    ({"rpc.system": "aws-api", "rpc.service": "S3", "rpc.method": "PutObject", "server.address": "s3.test"},
     SpanKind.CLIENT, "s3.PutObject", "s3.test"),  # botocore
    ({"rpc.system": "grpc", "rpc.service": "shop.Stock", "rpc.method": "Get", "net.peer.name": "stock",
      "net.peer.port": "50051"}, SpanKind.CLIENT, "grpc.Get", "stock:50051"),
    ({"rpc.system.name": "grpc", "rpc.method": "shop.Stock/Get", "server.address": "stock", "server.port": 50051},
     SpanKind.CLIENT, "grpc.Get", "stock:50051"),
    ({"messaging.system": "kafka", "messaging.destination": "orders", "messaging.url": '["kafka1:9092", "k2:9092"]'},
     SpanKind.PRODUCER, "kafka.publish", "kafka1:9092"),  # kafka-python
    ({"messaging.system": "rabbitmq", "messaging.operation.name": "send", "server.address": "mq", "server.port": 5672},
     SpanKind.PRODUCER, "rabbitmq.send", "mq:5672"),
    ({"http.method": "GET", "http.url": "https://prices.test/x?token=hidden"}, SpanKind.CLIENT, "http.request",
     "prices.test:443"),  # tornado
    ({"gen_ai.system": "openai", "gen_ai.operation.name": "chat", "server.address": "api.openai.test"},
     SpanKind.CLIENT, "openai.chat", "api.openai.test"),
    ({"db.system": "mariadb", "db.statement": "SELECT 1", "net.peer.name": "/run/db.sock"}, SpanKind.CLIENT,
     "mysql.query", "/run/db.sock"),
    ({}, SpanKind.CLIENT, "client.call", None),
    ({"db.system": 7, "db.operation": object(), "server.address": None, "server.port": "many"}, SpanKind.CLIENT,
     "client.call", None),
    ({"db.system": "odd system!\n", "db.operation": "dröp", "net.peer.name": "h"}, SpanKind.CLIENT,
     "odd_system__.dr_p", "h"),
]  # fmt: skip


@pytest.mark.parametrize(("attributes", "kind", "component", "server"), SHAPES, ids=[shape[2] for shape in SHAPES])
@pytest.mark.parametrize("when", ["at the start", "later"])
@pytest.mark.filterwarnings("ignore:Invalid type")
def test_component_and_server_are_what_the_conventions_say_old_and_new(
    recorded: Sink, tracer: Tracer, attributes: dict[str, Any], kind: SpanKind, component: str, server: str, when: str
) -> None:
    given = attributes if when == "at the start" else None
    with walltime.transaction("job"), tracer.start_as_current_span("x", kind=kind, attributes=given) as span:
        if when == "later":
            for key, value in attributes.items():
                span.set_attribute(key, value)
    bill = recorded.transaction()
    assert bill.cell(component)["calls"] == 1
    assert [target for target in bill.targets() if target[0] == component] == ([(component, server)] if server else [])
    (call,) = recorded.calls(component)
    assert "hidden" not in str(call.span)
    assert "'x'" not in str(call.span)


@pytest.mark.parametrize("kind", [SpanKind.INTERNAL, SpanKind.SERVER, SpanKind.CONSUMER])
def test_spans_that_wait_for_nobody_are_no_calls(recorded: Sink, tracer: Tracer, kind: SpanKind) -> None:
    sql = {"db.system": "sqlite"}
    with (
        walltime.transaction("job"),
        tracer.start_as_current_span("x", kind=kind),
        tracer.start_as_current_span("y", kind=SpanKind.CLIENT, attributes=sql),
        tracer.start_as_current_span("z", kind=kind),
    ):
        pass
    bill = recorded.transaction()
    assert {name: bill.cell(name)["calls"] for name in bill.times_ns() if name != "python.gc"} == {"sqlite.query": 1}


def test_each_nanosecond_is_counted_once_whatever_is_inside_what(recorded: Sink, tracer: Tracer) -> None:
    def client(system: str) -> Any:
        attributes = {"rpc.system": system, "rpc.method": "call"}
        return tracer.start_as_current_span("x", kind=SpanKind.CLIENT, attributes=attributes)

    with walltime.transaction("job"), walltime.component("outer"):
        with client("a"):
            with walltime.component("inner"), client("b"):
                pass
            with client("b"):
                pass
        with client("a"):
            pass
    bill = recorded.transaction()  # asserts that the parts add up
    assert {name: bill.cell(name)["calls"] for name in ("a.call", "b.call", "outer", "inner")} == {
        "a.call": 2, "b.call": 2, "outer": 1, "inner": 1,
    }  # fmt: skip
    (first, second) = recorded.calls("a.call")
    nested = [recorded.calls("inner")[0], recorded.calls("b.call")[1]]
    assert first.attributes["walltime.own_ns"] == first.duration_ns - sum(call.duration_ns for call in nested)
    assert second.attributes["walltime.own_ns"] == second.duration_ns


def test_a_call_that_two_see_is_one(recorded: Sink, tracer: Tracer, upstream: Upstream) -> None:
    with requests.Session() as session, walltime.transaction("job"):
        session.trust_env = False
        http = {"http.request.method": "GET", "url.full": upstream.url, "server.address": "127.0.0.1"}
        with tracer.start_as_current_span("GET", kind=SpanKind.CLIENT, attributes=http):
            session.get(upstream.url)  # measured by ours
        sql = {"db.system": "postgresql", "db.statement": "SELECT 1"}
        with (
            tracer.start_as_current_span("SELECT", kind=SpanKind.CLIENT, attributes=sql),  # such as SQLAlchemy's
            tracer.start_as_current_span("SELECT", kind=SpanKind.CLIENT, attributes=sql),  # around psycopg's
        ):
            pass
        search = {"db.system": "elasticsearch", "db.operation": "search"}
        with tracer.start_as_current_span("search", kind=SpanKind.CLIENT, attributes=search):
            session.get(upstream.url)
    bill = recorded.transaction()
    assert bill.cell("http.request") == {"calls": len(upstream.paths)} == {"calls": 2}
    assert bill.cell("postgresql.query") == {"calls": 1}
    assert bill.cell("elasticsearch.search") == {"calls": 1}


def test_an_instrumentation_of_a_library_of_ours_is_not_asked(recorded: Sink, upstream: Upstream) -> None:
    provider, exported = own(ALWAYS_ON)
    for ours_first in (True, False):
        walltime.uninstrument()
        if ours_first:
            walltime.instrument()
        RequestsInstrumentor().instrument(tracer_provider=provider)
        walltime.instrument()
        with requests.Session() as session, walltime.transaction("job"):
            session.trust_env = False
            session.get(upstream.url)
        RequestsInstrumentor().uninstrument()
    assert [bill.cell("http.request") for bill in recorded.transactions()] == [{"calls": 1}, {"calls": 1}]
    assert len(exported.get_finished_spans()) == 2


def test_failures_are_errors_by_their_class_and_without_their_message(recorded: Sink, tracer: Tracer) -> None:
    sql = {"db.system": "postgresql", "db.statement": "SELECT 1"}
    with walltime.transaction("job"):
        with (
            pytest.raises(KeyError, match="secret"),
            tracer.start_as_current_span("x", kind=SpanKind.CLIENT, attributes=sql),
        ):
            raise KeyError("secret")
        with tracer.start_as_current_span("x", kind=SpanKind.CLIENT, attributes=sql) as span:
            span.set_status(Status(StatusCode.ERROR, "secret"))
        with tracer.start_as_current_span("x", kind=SpanKind.CLIENT, attributes=sql) as span:
            span.set_status(StatusCode.ERROR, "secret")
            span.set_attribute("error.type", "timeout")
        http: dict[str, Any] = {"http.request.method": "GET", "http.response.status_code": 503, "server.address": "h"}
        with tracer.start_as_current_span("x", kind=SpanKind.CLIENT, attributes=http):
            pass
    bill = recorded.transaction()
    assert bill.cell("postgresql.query") == {"calls": 3, "errors": 3}
    assert bill.cell("http.request") == {"calls": 1, "errors": 1}
    kept = recorded.calls()
    assert [call.attributes["error.type"] for call in kept if "error.type" in call.attributes] == [
        "KeyError", "ERROR", "timeout", "503",
    ]  # fmt: skip
    assert not any("secret" in str(call.span) for call in kept)


def test_what_the_application_exports_is_what_it_exports_without_us(sink: Sink) -> None:
    def exported(with_us: bool) -> list[Any]:
        walltime.configure(service_name="test", endpoint=sink.endpoint, sample_probability=1.0)
        if with_us:
            walltime.instrument()
        provider, exporter = own(ALWAYS_ON)
        tracer = provider.get_tracer("theirs")
        with (
            walltime.transaction("job"),
            tracer.start_as_current_span("a", kind=SpanKind.CLIENT, attributes={"db.system": "x"}) as a,
        ):
            a.add_event("event")
            with tracer.start_as_current_span("b"), tracer.start_as_current_span("c", kind=SpanKind.PRODUCER) as c:
                c.update_name("d")
        walltime.uninstrument()
        spans = exporter.get_finished_spans()
        names = {span.context.span_id: span.name for span in spans if span.context is not None}
        return [
            (span.name, span.kind, dict(span.attributes or {}), len(span.events), span.status.status_code,
             names.get(span.parent.span_id) if span.parent else None)
            for span in spans
        ]  # fmt: skip

    assert exported(with_us=True) == exported(with_us=False)


def test_spans_that_end_out_of_order_or_elsewhere_leave_the_rest_right(recorded: Sink, tracer: Tracer) -> None:
    def start(system: str) -> trace.Span:
        return tracer.start_span("x", kind=SpanKind.CLIENT, attributes={"rpc.system": system, "rpc.method": "call"})

    with walltime.transaction("job"), walltime.component("outer"):
        first, second, third = start("a"), start("b"), start("c")
        first.end()
        third.end()
        second.end()
        second.end()  # OpenTelemetry says: the first one counts
        future = start("d")
        thread = threading.Thread(target=future.end)
        thread.start()
        thread.join()
        start("e").end()
    (bill,) = recorded.transactions()
    assert [bill.cell(f"{system}.call")["calls"] for system in "abcde"] == [1, 1, 1, 1, 1]
    assert bill.cell("outer") == {"calls": 1}
    assert bill.attributes["walltime.covered_ns"] <= bill.duration_ns
    assert all(value >= 0 for value in bill.times_ns().values())


def test_concurrent_tasks_have_their_own_nesting(recorded: Sink, tracer: Tracer) -> None:
    async def ask(n: int) -> None:
        attributes = {"db.system": "postgresql", "db.statement": "SELECT 1", "server.address": f"db{n}"}
        with tracer.start_as_current_span("SELECT", kind=SpanKind.CLIENT, attributes=attributes):
            await asyncio.sleep(0.02)

    async def job() -> None:
        await asyncio.gather(*[ask(n) for n in range(10)])

    with walltime.transaction("job"):
        asyncio.run(job())
    (bill,) = recorded.transactions()
    assert bill.cell("postgresql.query") == {"calls": 10}
    total_ns, covered_ns = bill.times_ns()["postgresql.query"], bill.attributes["walltime.covered_ns"]
    assert covered_ns <= bill.duration_ns
    assert total_ns >= 10 * 0.02e9
    assert total_ns > covered_ns


def test_a_span_that_outlives_its_transaction_changes_nothing(recorded: Sink, tracer: Tracer) -> None:
    with walltime.transaction("job"):
        late = tracer.start_span("x", kind=SpanKind.CLIENT, attributes={"db.system": "sqlite"})
    with walltime.transaction("next"):
        late.end()
        with tracer.start_as_current_span("x", kind=SpanKind.CLIENT, attributes={"db.system": "sqlite"}):
            pass
    first, second = recorded.transactions()
    assert first.cell("sqlite.query") == {}
    assert second.cell("sqlite.query") == {"calls": 1}


def test_names_from_outside_are_bounded(recorded: Sink, tracer: Tracer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("walltime.clients.otel.conventions._components", {})
    with walltime.transaction("job"):
        for n in range(300):
            with tracer.start_as_current_span(
                "x", kind=SpanKind.CLIENT, attributes={"rpc.system": "r", "rpc.method": f"m{n}"}
            ):
                pass
    bill = recorded.transaction()
    assert bill.cell("(other)")["calls"] > 200
    from walltime.clients.otel import conventions

    assert len(conventions._components) == conventions.MAX_COMPONENTS
