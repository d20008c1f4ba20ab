"""
An application under Walltime and another instrumentation, set up in either order.

    python -m tests.safety.beside SERVERS_JSON OTHER FIRST → one JSON line: what each of the two recorded, step by step
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pymysql
import requests
import walltime
from pymemcache.client import base


@dataclass
class Other:
    """Somebody else's instrumentation; `seen` returns the names of its spans since the last time."""

    on: Callable[[], object]
    off: Callable[[], object]
    seen: Callable[[], list[str]]


def opentelemetry() -> Other:
    from opentelemetry import trace
    from opentelemetry.instrumentation.pymemcache import PymemcacheInstrumentor
    from opentelemetry.instrumentation.pymysql import PyMySQLInstrumentor
    from opentelemetry.instrumentation.requests import RequestsInstrumentor
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    instrumentors: list[Any] = [PyMySQLInstrumentor(), PymemcacheInstrumentor(), RequestsInstrumentor()]

    def seen() -> list[str]:
        names = [
            f"{span.name} {(span.attributes or {}).get('db.system', '')}".strip()
            for span in exporter.get_finished_spans()
        ]
        exporter.clear()
        return names

    return Other(
        lambda: [i.instrument() for i in instrumentors], lambda: [i.uninstrument() for i in instrumentors], seen
    )


def sentry() -> Other:
    import sentry_sdk
    from sentry_sdk.envelope import Envelope
    from sentry_sdk.transport import Transport

    spans: list[str] = []

    class Kept(Transport):
        def capture_envelope(self, envelope: Envelope) -> None:
            for item in envelope.items:
                event: Any = item.get_transaction_event()
                spans.extend(str(span["op"]) for span in event["spans"])

    def on() -> None:
        sentry_sdk.init(
            dsn="http://key@127.0.0.1:1/1", transport=Kept, traces_sample_rate=1.0, auto_enabling_integrations=False
        )

    def seen() -> list[str]:
        names = spans.copy()
        spans.clear()
        return names

    return Other(on, sentry_sdk.init, seen)


def ddtrace() -> Other:
    os.environ.update(
        DD_INSTRUMENTATION_TELEMETRY_ENABLED="false", DD_REMOTE_CONFIGURATION_ENABLED="false",
        DD_TRACE_AGENT_URL="http://127.0.0.1:1", DD_TRACE_STARTUP_LOGS="false", DD_CRASHTRACKING_ENABLED="false",
    )  # fmt: skip
    import logging

    logging.getLogger("ddtrace").setLevel(logging.CRITICAL)  # there is no agent
    import ddtrace
    from ddtrace.contrib.internal.pymemcache.patch import unpatch as unpatch_pymemcache
    from ddtrace.contrib.internal.pymysql.patch import unpatch as unpatch_pymysql
    from ddtrace.contrib.internal.requests.patch import unpatch as unpatch_requests
    from ddtrace.trace import TraceFilter, tracer

    spans: list[str] = []

    class Kept(TraceFilter):
        def process_trace(self, trace: Any) -> None:
            spans.extend(span.name for span in trace)

    tracer.configure(trace_processors=[Kept()])

    def seen() -> list[str]:
        names = spans.copy()
        spans.clear()
        return names

    def off() -> None:
        unpatchers: tuple[Any, ...] = (unpatch_pymysql, unpatch_pymemcache, unpatch_requests)
        for unpatch in unpatchers:
            unpatch()

    return Other(lambda: ddtrace.patch(pymysql=True, pymemcache=True, requests=True), off, seen)


OTHERS = {"opentelemetry": opentelemetry, "sentry": sentry, "ddtrace": ddtrace}


def work(servers: dict[str, Any], around: Any) -> list[object]:
    """Three calls in one transaction of each; what the application was told."""
    with around("theirs"), walltime.transaction("ours"):
        with pymysql.connect(**servers["mysql"]) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT 1 + 1")
            told: list[object] = [cursor.fetchall()]
        client = base.Client(tuple(servers["memcached"][0]), no_delay=True)
        told += [client.set("beside", b"1", noreply=False), client.get("beside")]
        client.close()
        told.append(requests.get(servers["http"] + "/hello", timeout=5).text)
    return told


def main() -> None:
    servers, which, first = json.loads(sys.argv[1]), sys.argv[2], sys.argv[3]
    other = OTHERS[which]()
    around: Any = lambda _name: __import__("contextlib").nullcontext()  # noqa: E731
    if which == "sentry":
        import sentry_sdk

        around = lambda name: sentry_sdk.start_transaction(name=name)  # noqa: E731

    def ours_on() -> None:
        walltime.configure(endpoint=servers["endpoint"], sample_probability=1.0)
        walltime.instrument("pymysql", "pymemcache", "urllib3")

    def step(name: str) -> None:
        told = work(servers, around)
        walltime.flush(5)
        steps.append({"step": name, "told": repr(told), "theirs": sorted(set(other.seen()))})

    steps: list[dict[str, Any]] = []
    for set_up in (ours_on, other.on) if first == "ours" else (other.on, ours_on):
        set_up()
    step("both")
    other.off()
    step("theirs off")
    other.on()
    step("theirs on again")
    walltime.uninstrument()
    step("ours off")
    for _ in range(200):
        walltime.instrument("pymysql", "pymemcache", "urllib3")
        walltime.uninstrument()
    walltime.instrument("pymysql", "pymemcache", "urllib3")
    step("ours on again")
    other.off()
    step("theirs off in the end")
    print(json.dumps({"steps": steps, "counters": walltime.counters()}))
    sys.stdout.flush()
    walltime.shutdown()
    os._exit(0)  # what the others do at their exit is not asked here


if __name__ == "__main__":
    main()
