"""The API on the web port of a real collector: responses, error messages, and the Host check."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from walltime_collector.conversion import from_json
from walltime_collector.query.answers import Top, Trace

from tests.collector.conftest import Collector


def test_top_counts_every_transaction_that_was_sent(collector: Collector) -> None:
    status, document, headers = collector.get("/api/top?since=1h&by=p95&limit=3")
    top = from_json(Top, document)

    assert status == 200
    assert headers["content-type"] == "application/json"
    assert (top.transactions, len(top.kinds), top.by) == (len(collector.sent), 3, "p95")
    assert top.total_ns == sum(sent.duration_ns for sent in collector.sent)


def test_a_trace_has_all_its_bills_and_a_traceparent_works_like_its_id(collector: Collector) -> None:
    sent = next(sent for sent in collector.sent if sent.parent_span_id)
    status, document, _ = collector.get(f"/api/transactions/{sent.trace_id}")
    trace = from_json(Trace, document)

    assert status == 200
    assert [bill.span_id for bill in trace.transactions] == [sent.parent_span_id, sent.span_id]
    for bill in trace.transactions:
        assert sum(each.time_ns for each in bill.components) + bill.other_ns - bill.overlap_ns == bill.duration_ns
    assert collector.get(f"/api/transactions/00-{sent.trace_id}-{sent.span_id}-01")[1] == document


@pytest.mark.parametrize(
    ("path", "status", "where"),
    [
        ("/api/top?since=yesterday", 400, "since"),
        ("/api/top?since=", 400, "since"),
        ("/api/top?by=name", 400, "by"),
        ("/api/top?limit=0", 400, "limit"),
        ("/api/top?limit=1001", 400, "limit"),
        ("/api/top?limit=1e3", 400, "limit"),
        ("/api/top?limit=%EF%BC%91", 400, "limit"),
        ("/api/top?limt=5", 400, "'limt'"),
        ("/api/transactions/xyz", 400, "trace_id"),
        ("/api/transactions/" + "0" * 32, 400, "trace_id"),
        ("/api/transactions/" + "e" * 32 + "?x=1", 400, "'x'"),
        ("/api/transactions/" + "e" * 32, 404, "trace_id"),
        ("/api/find?where=duration%3E1", 400, "where"),
        ("/api/find?sort=colour", 400, "sort"),
        ("/api/find?after=1", 400, "after"),
        ("/api/find?status=ok", 400, "status"),
        ("/api/find?kind=nothing-like-it", 404, "kind"),
        ("/api/find?ended_within=x", 400, "since"),
        ("/api/nothing", 404, "/api/nothing"),
    ],
)
def test_an_error_has_where_what_and_what_now(collector: Collector, path: str, status: int, where: str) -> None:
    answered, document, _ = collector.get(path)

    assert answered == status
    assert set(document) == {"error"}
    assert document["error"]["where"] == where
    assert document["error"]["what"]
    assert document["error"]["what_now"]


def test_only_get_is_accepted(collector: Collector) -> None:
    status, document, _ = collector.get("/api/top", method="POST")
    assert (status, document["error"]["what_now"]) == (405, "use GET")


@pytest.mark.parametrize(
    "host",
    ["localhost", "LOCALHOST:8464", "walltime.localhost:1", "127.0.0.1", "127.9.9.9:8464", "[::1]:8464", "localhost."],
)
def test_names_of_this_machine_are_accepted(collector: Collector, host: str) -> None:
    assert collector.get("/healthz", Host=host)[0] == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8464",
        "127.0.0.1.evil.example",
        "10.0.0.7",
        "[2001:db8::1]",
        "localhost:x",
        "",
        "::1@x",
    ],
)
def test_other_host_names_are_refused_on_every_path(collector: Collector, host: str) -> None:
    for path in ("/healthz", "/api/top", "/nothing"):
        status, document, _ = collector.get(path, Host=host)
        assert (status, document["error"]["where"]) == (421, "Host")


def test_no_other_origin_can_read_a_response(collector: Collector) -> None:
    _, _, headers = collector.get("/api/top", Origin="http://evil.example")

    assert not [name for name in headers if name.lower().startswith("access-control-")]
    assert headers["x-content-type-options"] == "nosniff"


def test_health_counts_everything_received_as_stored(collector: Collector) -> None:
    status, report, _ = collector.get("/healthz")
    spans = report["spans"]

    assert (status, report["ok"]) == (200, True)
    assert spans["received"] == sum(spans[name] for name in ("stored", "rejected", "spooled", "dead", "lost"))
    assert spans["received"] >= len(collector.sent)


def test_more_concurrent_requests_than_engine_readers_are_all_answered(collector: Collector) -> None:
    with ThreadPoolExecutor(24) as pool:
        answers = list(pool.map(lambda _: collector.get("/api/top?since=1h"), range(24)))

    assert [status for status, _, _ in answers] == [200] * 24
    assert {document["total_ns"] for _, document, _ in answers} == {sum(sent.duration_ns for sent in collector.sent)}
