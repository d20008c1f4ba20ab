"""Data of earlier versions, kept in this folder: today's collector opens it, migrates it and answers. See make.py."""

from __future__ import annotations

import re
import tarfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from walltime_collector.clickhouse.embedded.engine import EmbeddedEngine
from walltime_collector.clickhouse.schema_files import ONE_MACHINE, schema_files
from walltime_collector.errors import MigrationFailed
from walltime_collector.query.scope import Filters, Scope
from walltime_collector.query.top import top_of
from walltime_collector.query.windows import Window
from walltime_collector.spool.segment import Record

from tests.by_day import by_day
from tests.servers import Collector, CollectorDied, Program, over_http, with_tables

HERE = Path(__file__).parent
KEPT = sorted(HERE.glob("*.tar.xz"))
SCHEMA = [name for name, _ in schema_files(ONE_MACHINE)]
RETENTION = {f"retention_{each}_days": 3650 for each in ("spans", "transactions", "minutes")}
NUMBERS = ("calls", "time_ns", "errors", "hits", "misses")


@dataclass
class Kept:
    """An unpacked folder after a run of today's collector on it."""

    data: Path
    requests: list[bytes]
    shown: list[Any]
    """What the API answered about the first trace of each request."""
    pages: list[int]
    left: list[str]
    """Files in the spool."""

    def bills(self) -> list[Span]:
        return [
            span
            for body in self.requests
            for resource_spans in ExportTraceServiceRequest.FromString(body).resource_spans
            for scope_spans in resource_spans.scope_spans
            for span in scope_spans.spans
            if attributes(span).get("walltime.schema") == 1
        ]


def attributes(span: Span) -> dict[str, int]:
    return {each.key: each.value.int_value for each in span.attributes if each.value.HasField("int_value")}


@pytest.fixture(scope="module", params=by_day(KEPT, 2), ids=lambda path: path.name.removesuffix(".tar.xz"))
def kept(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Kept:
    folder = tmp_path_factory.mktemp("kept")
    with tarfile.open(request.param) as archive:
        archive.extractall(folder, filter="data")
    kept = Kept(folder / "data", [each.read_bytes() for each in sorted((folder / "requests").iterdir())], [], [], [])
    assert list((kept.data / "spool").glob("*.segment"))
    with Collector(kept.data, **RETENTION) as collector:
        collector.wait_until_loaded(len(spans_of(kept.requests[len(kept.requests) // 2 :])))
        for body in kept.requests:
            trace_id = spans_of([body])[0].trace_id.hex()
            kept.shown.append(over_http("GET", f"{collector.web_url}/api/transactions/{trace_id}").json())
        for path in ("/", "/transactions", "/advice", "/collector"):
            kept.pages.append(over_http("GET", f"{collector.web_url}{path}").status_code)
    kept.left = [each.name for each in (kept.data / "spool").glob("*.segment")]
    return kept


def spans_of(bodies: list[bytes]) -> list[Span]:
    requests = map(ExportTraceServiceRequest.FromString, bodies)
    return [
        span
        for each in requests
        for resource_spans in each.resource_spans
        for scope_spans in resource_spans.scope_spans
        for span in scope_spans.spans
    ]


def ranked(engine: EmbeddedEngine) -> dict[str, Any]:
    """What `top` says of the only kind."""
    (kind,) = top_of(engine, Scope(Window(0, 9 * 10**18), Filters()), 9 * 10**18).kinds
    parts = {each.name: {number: getattr(each, number) for number in NUMBERS} for each in kind.components}
    return {
        "kind": (kind.service, kind.transactions, kind.errors, kind.total_ns),
        "components": {name: counts for name, counts in parts.items() if name != "other"},
    }


def sent(bills: list[Span]) -> dict[str, Any]:
    """The same, from the bills themselves."""
    components: dict[str, Counter[str]] = {}
    for bill in bills:
        for key, number in attributes(bill).items():
            if match := re.fullmatch(rf"walltime\.(\w+(?:\.\w+)?)\.({'|'.join(NUMBERS)})", key):
                components.setdefault(match[1], Counter())[match[2]] += number
    total_ns = sum(bill.end_time_unix_nano - bill.start_time_unix_nano for bill in bills)
    errors = sum(bill.status.code == 2 for bill in bills)
    return {
        "kind": ("kept-shop", len(bills), errors, total_ns),
        "components": {name: {number: counts[number] for number in NUMBERS} for name, counts in components.items()},
    }


def test_an_earlier_folder_migrates_by_itself_and_answers_top(kept: Kept) -> None:
    """Half of it was in its database, half in its spool."""
    engine = EmbeddedEngine(kept.data / "chdb", "walltime")
    engine.migrate()
    applied = [row["name"] for row in engine.query("SELECT name FROM schema_migrations ORDER BY name")]
    assert applied == SCHEMA
    assert len(kept.bills()) == 40
    assert ranked(engine) == sent(kept.bills())
    engine.close()
    assert kept.left == []


def test_show_has_transactions_of_its_database_and_of_its_spool(kept: Kept) -> None:
    for body, shown in zip(kept.requests, kept.shown, strict=True):
        first = spans_of([body])[0]
        (bill,) = shown["transactions"]
        assert shown["trace_id"] == first.trace_id.hex()
        if attributes(first).get("walltime.schema") == 1:
            assert bill["duration_ns"] == first.end_time_unix_nano - first.start_time_unix_nano
    assert set(kept.pages) == {200}


def test_bills_of_an_earlier_sdk_are_read(kept: Kept, tmp_path: Path) -> None:
    engine = EmbeddedEngine(with_tables(tmp_path / "chdb"), "walltime")
    engine.migrate()
    received_ns = max(bill.end_time_unix_nano for bill in kept.bills()) + 10**9
    records = [Record(received_ns, len(spans_of([body])), body) for body in kept.requests]
    engine.insert(records, "kept")
    assert ranked(engine) == sent(kept.bills())
    engine.close()


def test_the_folders_that_were_kept_stay() -> None:
    """Of the oldest schema that can be opened, and of that before the first release; a release adds its own."""
    assert [each.name for each in KEPT][:2] == ["0.1.0-schema-011.tar.xz", "0.1.0-schema-020.tar.xz"]
    assert all(each.stat().st_size < 300_000 for each in KEPT)


def test_a_folder_that_a_later_version_has_migrated_is_refused_and_left_alone(tmp_path: Path) -> None:
    engine = EmbeddedEngine(with_tables(tmp_path / "data" / "chdb"), "walltime")
    engine.command("INSERT INTO schema_migrations (name) VALUES ('999_later.sql')")
    with pytest.raises(MigrationFailed, match=r"999_later\.sql"):
        engine.migrate()
    engine.close()
    with pytest.raises(CollectorDied) as died:
        Program(tmp_path / "data")
    assert died.value.status == 1
    assert died.value.log.splitlines()[-1] == (
        "walltime: a later version of Walltime has migrated the database (it has 999_later.sql);"
        " start that version again. The data is untouched"
    )
