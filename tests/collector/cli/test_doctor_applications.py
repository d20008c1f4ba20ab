"""`walltime doctor` checks applications: each finding names the service, what was found and what to do."""

from __future__ import annotations

import html
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from walltime_collector.cli import app
from walltime_collector.conversion import from_json
from walltime_collector.health.applications import Application, Applications, Uncovered
from walltime_collector.health.findings import described, findings, summary
from walltime_collector.health.status import Loss

from tests.collector.clickhouse.spans import pairs, request, span
from tests.collector.traffic import MS
from tests.servers import Collector, over_http

S = 1_000 * MS


def of(
    service: str, name: str, *, in_call_ns: int = 90 * MS, all_ns: int = 100 * MS, ahead_ns: int = 0, **counters: int
) -> ExportTraceServiceRequest:
    """One transaction with a kept call, and the counters that its process reports."""
    started_ns = time.time_ns() - S + ahead_ns
    times = {"start_time_unix_nano": started_ns, "end_time_unix_nano": started_ns + all_ns}
    bill = {
        "walltime.schema": 1,
        "walltime.kept": "forced",
        "walltime.covered_ns": in_call_ns,
        "walltime.cpu_user_ns": 5 * MS,
        "walltime.cpu_system_ns": MS,
        "walltime.mysql.query.calls": 1,
        "walltime.mysql.query.time_ns": in_call_ns,
    }
    root = span(bill, name=name, **times)
    call = span({"walltime.component": "mysql.query"}, trace_id=root.trace_id, parent_span_id=root.span_id, **times)
    body = request(root, call, resource={"service.name": service, "host.name": "web-1"})
    scope = body.resource_spans[0].scope_spans[0].scope
    scope.name, scope.version = "walltime", "0.4.2"
    scope.attributes.extend(pairs({f"walltime.{what.replace('__', '.')}": count for what, count in counters.items()}))
    return body


def without_calls(body: ExportTraceServiceRequest, resource: dict[str, object]) -> ExportTraceServiceRequest:
    """The transaction without its kept call, from a process with this resource too."""
    del body.resource_spans[0].scope_spans[0].spans[1:]
    body.resource_spans[0].resource.attributes.extend(pairs(resource))
    return body


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collector]:
    sent = [
        of("losing", "GET /", lost__queue_full=2_262, outside__calls=33_988),
        of("unknown_service", "GET /x"),
        of("tomorrow", "GET /x", ahead_ns=3_600 * S),
        of("opaque", "GET /slow", in_call_ns=10 * MS),
        without_calls(
            of("one line", "GET /health", in_call_ns=MS, all_ns=5 * MS), {"telemetry.distro.version": "0.4.3"}
        ),
        without_calls(of("old", "GET /health"), {}),
        of("routeless", "GET"),
        of("well", "GET /fine"),
    ]
    unbilled = of("unbilled", "", outside__calls=300, outside__wsgi__bottle=200)
    del unbilled.resource_spans[0].scope_spans[0].spans[:]  # a process without any transaction
    of_jobs = of("well", "", outside__worker__dramatiq=7, outside__calls=7)
    del of_jobs.resource_spans[0].scope_spans[0].spans[:]
    with Collector(tmp_path_factory.mktemp("applications") / "data") as running:
        for body in [unbilled, of_jobs, *sent]:
            assert running.send(body.SerializeToString()).status_code == 200
        running.wait_until_loaded(2 * len(sent) - 2)
        yield running


@pytest.fixture(scope="module")
def examined(collector: Collector) -> tuple[int, dict[str, Any], str]:
    environment = {"WALLTIME_URL": collector.web_url, "COLUMNS": "300"}
    done = CliRunner().invoke(app, ["doctor", "--json"], env=environment, catch_exceptions=False)
    shown = CliRunner().invoke(app, ["doctor"], env=environment, catch_exceptions=False)
    return done.exit_code, json.loads(done.stdout), shown.stdout


def test_lost_transactions_and_wrong_clocks_fail_and_the_rest_is_a_warning(
    examined: tuple[int, dict[str, Any], str],
) -> None:
    code, document, shown = examined
    assert code == 1
    assert [step["name"] for step in document["steps"] if not step["is_ok"]] == ["applications"]
    assert document["steps"][-1]["name"] == "once"  # all others ran
    failures = {
        (finding["service"], finding["message"][:22]) for finding in document["findings"] if finding["is_failure"]
    }
    assert failures == {
        ("losing", "2,262 transactions los"),
        ("tomorrow", "the clock of host web-"),
        ("unbilled", "200 calls outside of a"),
        ("unbilled", "100 calls outside of a"),
    }
    assert all(finding["what_now"] for finding in document["findings"])
    assert "OK: all checks passed" not in shown


@pytest.mark.parametrize(
    ("service", "expected", "what_now"),
    [
        ("losing", "2,262 transactions lost on its side: queue full (1 process, since they began)", "MAX_QUEUE_SIZE"),
        ("losing", "33,988 calls outside of any transaction, on no bill, 33,988 per transaction", "transaction("),
        ("unbilled", "200 calls outside of any transaction in bottle, on no bill (1 process", "WSGIMiddleware(app)"),
        ("unbilled", "100 calls outside of any transaction, on no bill (1 process", "with walltime.transaction("),
        ("well", "7 calls outside of any transaction in dramatiq, on no bill (1 process", "@walltime.transaction("),
        ("unknown_service", "its processes have no service name", "OTEL_SERVICE_NAME"),
        ("tomorrow", "the clock of host web-1 is ", "NTP"),
        ("opaque", "of its time in the last hour is in no measured call and on no sampled line (90.0 ms", "component("),
        ("routeless", "100 % of its transactions have no route for a name", "set_name("),
    ],
)  # fmt: skip
def test_each_finding_has_what_was_found_and_what_to_do(
    examined: tuple[int, dict[str, Any], str], service: str, expected: str, what_now: str
) -> None:
    _, document, shown = examined
    mine = [finding for finding in document["findings"] if finding["service"] == service]
    (finding,) = [each for each in mine if expected in each["message"]]
    assert what_now in finding["what_now"]
    assert expected in shown
    assert finding["what_now"] in shown


def test_every_service_is_listed_with_its_sdk_and_its_measured_time(examined: tuple[int, dict[str, Any], str]) -> None:
    _, document, shown = examined
    seen = {each["service"]: each for each in document["applications"]}
    services = {"losing", "unknown_service", "tomorrow", "opaque", "one line", "old", "routeless", "well", "unbilled"}
    assert set(seen) == services
    assert [each for each in document["findings"] if each["service"] == "one line"] == []  # 4 ms are a framework's
    assert "unbilled  no transaction in 7 days" in shown
    sdks = [seen[service]["sdks"] for service in ("well", "one line", "old")]
    assert sdks == [["walltime 0.4.2"], ["walltime 0.4.3"], ["walltime"]]
    assert [each["is_failure"] for each in document["findings"] if each["service"] == "well"] == [False]
    (line,) = [line for line in shown.splitlines() if line.startswith("well  ")]
    assert "SDK walltime 0.4.2, 1 transaction in a day, 0 % failed, 90.0 % of their time on lines of the bill" in line


def test_the_page_of_the_collector_has_the_same_findings(
    collector: Collector, examined: tuple[int, dict[str, Any], str]
) -> None:
    page = html.unescape(over_http("GET", f"{collector.web_url}/collector").text)
    assert "200 calls outside of any transaction in bottle, on no bill" in page
    for finding in examined[1]["findings"]:
        assert finding["what_now"] in page, finding


def test_a_silent_service_is_a_warning_and_a_silent_job_is_not() -> None:
    now_s = 1_000_000_000.0
    shop = Application("shop", 0, int(now_s) - 7_200, 9_000, 0, 9, 0, busy_minutes=900)
    job = Application("nightly", 0, int(now_s) - 7_200, 3, 0, 9, 0, busy_minutes=2)
    seen = Applications(now_s, (shop, job))
    (finding,) = findings(seen)
    assert (finding.service, finding.is_failure, finding.message) == ("shop", False, "it has sent nothing for 2 h")
    assert summary(seen) == "2 services in 7 days: shop, nightly"
    assert described(Application("old", 0, int(now_s) - 400_000), now_s).startswith("last seen 5 days ago")


@pytest.mark.parametrize(
    ("cpu_ns", "expected"), [(0, "(50.0 ms each)"), (5 * S, "(50.0 ms each, at most 10.0 % of it CPU)")]
)
def test_cpu_time_that_an_sdk_does_not_send_is_not_called_0(cpu_ns: int, expected: str) -> None:
    uncovered = [Uncovered("GET /", 1_000, 50 * S, 50 * S, cpu_ns)]
    (finding,) = findings(Applications(0.0, (Application("shop", transactions=1_000, uncovered=uncovered),)))
    assert finding.message.endswith(expected)


def test_without_transactions_the_summary_explains_how_to_begin() -> None:
    assert "walltime-run" in summary(Applications(0.0, ()))
    assert "with walltime.transaction" in summary(Applications(0.0, ()))


def test_status_of_an_empty_collector_explains_how_to_begin(tmp_path: Path) -> None:
    with Collector(tmp_path / "data") as empty:
        environment = {"WALLTIME_URL": empty.web_url, "COLUMNS": "300"}
        shown = CliRunner().invoke(app, ["status"], env=environment, catch_exceptions=False).stdout
        assert "no transaction is stored yet. Is the application instrumented" in shown
        assert 'with walltime.transaction("name"):' in shown
        assert empty.send(of("first", "job").SerializeToString()).status_code == 200
        empty.wait_until_loaded(2)
        shown = CliRunner().invoke(app, ["status"], env=environment, catch_exceptions=False).stdout
        assert "no transaction is stored yet" not in shown


def test_losses_of_a_service_that_sent_no_transaction_lately_are_found_too() -> None:
    lost = Application("gone", losses=[Loss("gone", "lost.unreachable", 5, 1)])
    (finding,) = findings(Applications(time.time(), (lost,)))
    assert finding.is_failure
    assert "OTEL_EXPORTER_OTLP_ENDPOINT" in finding.what_now
    assert from_json(Applications, {"now_s": 1.0, "applications": []}) == Applications(1.0, ())
