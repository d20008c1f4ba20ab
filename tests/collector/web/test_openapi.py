"""/api/openapi.json describes every route under /api/, and what a real collector answers is what it describes."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator
from shop.ask import iso
from starlette.routing import Route
from walltime_collector.config.settings import Settings
from walltime_collector.health.counters import Health
from walltime_collector.http.authentication import Access
from walltime_collector.observe.slowlog.imports import Imports
from walltime_collector.spool.spool import Spool
from walltime_collector.web.application import make_app
from walltime_collector.web.dead_letters import dead_letter_routes
from walltime_collector.web.openapi import ApiRoute, answer_route
from walltime_collector.web.plans import plan_routes
from walltime_collector.web.slow_log import slow_log_routes

from tests.by_day import by_day
from tests.collector.conftest import Collector
from tests.collector.traffic import Sent
from tests.servers import over_http

KIND = "GET /product/{id}"


@pytest.fixture(scope="module")
def document(collector: Collector) -> Any:
    """As the collector sends it, but an answer with a field that is not described is invalid."""
    document = collector.get("/api/openapi.json")[1]
    OpenAPIV31SpecValidator(document).validate()
    for schema in document["components"]["schemas"].values():
        if "properties" in schema:
            schema["additionalProperties"] = False
    return document


def check(document: Any, path: str, method: str, status: str, answer: Any) -> None:
    content = document["paths"][path][method]["responses"][status]["content"]["application/json"]
    schema = {**content["schema"], "components": document["components"]}
    problems = [f"{each.json_path}: {each.message}" for each in Draft202012Validator(schema).iter_errors(answer)]
    assert problems == []


def a_trace(collector: Collector) -> Sent:
    """Of a transaction whose calls were kept, below another one."""
    return next(each for each in collector.sent if each.parent_span_id and each.kept)


QUESTIONS = {
    "/api/top": ["", "since=1h", "since=1h&by=p95&limit=1", "since=1s"],
    "/api/why": [
        f"kind={quote(KIND)}",
        f"kind={quote(KIND)}&slowest=10&since=2h",
        f"kind={quote(KIND)}&when={quote('mysql.query.calls > 1')}",
        f"kind={quote(KIND)}&during={{middle}}..&against=1h..{{middle}}",
    ],
    "/api/profile": [f"kind={quote(KIND)}", f"kind={quote(KIND)}&during={{middle}}..&state=computing&host=web-1"],
    "/api/diff": [
        "during={middle}..&against=1h..{middle}",
        f"when={quote('mysql.query.calls > 1')}&limit=1",
    ],
    "/api/digest": ["", "since=all&by=calls", "since=1h&limit=1"],
    "/api/advice": ["", f"since=1h&kind={quote(KIND)}&dismissed=true", "limit=1&host=web-1"],
    "/api/advice/dismissed": [""],
    "/api/find": ["", f"kind={quote(KIND)}&sort=mysql.time&limit=3", "ended_within=1h&where=duration%3E1ms"],
    "/api/incidents": ["", "since=7d&open=1&limit=1"],
    "/api/applications": [""],
    "/api/status": [""],
    "/api/deadletters": [""],
    "/api/openapi.json": [""],
}


@pytest.mark.parametrize("path", by_day(QUESTIONS, 2))
def test_answers_are_what_the_document_describes(collector: Collector, document: Any, path: str) -> None:
    middle = iso(collector.sent[len(collector.sent) // 2].started_ns)
    for query in QUESTIONS[path]:
        status, answer, _ = collector.get(f"{path}?{query.replace('{middle}', middle)}".rstrip("?"))
        assert status == 200, answer
        check(document, path, "get", "200", answer)


def test_a_trace_is_what_the_document_describes(collector: Collector, document: Any) -> None:
    status, answer, _ = collector.get(f"/api/transactions/{a_trace(collector).trace_id}")
    assert status == 200
    assert any(bill["calls"] for bill in answer["transactions"])
    check(document, "/api/transactions/{trace_id}", "get", "200", answer)


def test_the_answer_to_a_statement_is_what_the_document_describes(collector: Collector, document: Any) -> None:
    sql = "SELECT name, duration_ns, target.calls, started_at FROM transactions LIMIT 3"
    answer = over_http("POST", f"{collector.url}/api/sql", json={"sql": sql})
    assert (answer.status_code, len(answer.json()["rows"])) == (200, 3)
    check(document, "/api/sql", "post", "200", answer.json())


def test_an_error_is_what_the_document_describes(collector: Collector, document: Any) -> None:
    for path, wrong, status in (
        ("/api/top", "/api/top?by=name", 400),
        ("/api/why", "/api/why?kind=nothing", 404),
        ("/api/profile", "/api/profile?kind=nothing", 404),
        ("/api/transactions/{trace_id}", f"/api/transactions/{'e' * 32}", 404),
        ("/api/incidents/{id}", "/api/incidents/0123", 404),
    ):
        answered, answer, _ = collector.get(wrong)
        assert answered == status
        check(document, path, "get", "default", answer)
    for action in ("retry", "drop"):
        url = f"{collector.url}/api/deadletters/{action}"
        for body, status in (({"all": True}, 200), ({"all": False}, 400)):
            answer = over_http("POST", url, json=body)
            assert answer.status_code == status
            check(document, f"/api/deadletters/{action}", "post", "200" if status == 200 else "default", answer.json())


def test_the_parameters_are_those_that_the_routes_take(collector: Collector, document: Any) -> None:
    for path, operations in document["paths"].items():
        if (get := operations.get("get")) is None or path == "/api/openapi.json":
            continue
        names = {each["name"]: each for each in get["parameters"]}
        url = path.replace("{trace_id}", a_trace(collector).trace_id)
        refused = collector.get(f"{url}?no_such={1}")
        if path not in ("/api/status", "/api/applications"):  # they look at none
            assert refused[0] == 400
            in_query = [name for name, each in names.items() if each["in"] == "query"]
            assert refused[1]["error"]["what_now"] == (
                f"use {', '.join(in_query)}" if in_query else "there are none here"
            )
        for each in names.values():
            assert each["description"]
            for value in each["schema"].get("enum", ()):
                assert collector.get(f"{url}?{each['name']}={value}")[0] == 200
        defaults = {name: each["schema"]["default"] for name, each in names.items() if "default" in each["schema"]}
        if defaults and path not in ("/api/why", "/api/diff", "/api/profile"):
            answered = collector.get(f"{url}?{urlencode(defaults)}")
            assert answered[0] == 200, answered


def every_route(directory: Path) -> list[Route]:
    nothing: Any = None
    access = Access(Settings())
    spool = Spool(directory, max_bytes=1, segment_bytes=1, segment_age_s=1)
    more = dead_letter_routes(spool, Health(), access) + slow_log_routes(Imports(directory, nothing, Health()), access)
    more += plan_routes(nothing, access)
    spool.close()
    app = make_app(nothing, Health(), nothing, access, nothing, more=more)
    return [each for each in app.routes if isinstance(each, Route) and each.path.startswith("/api/")]


def test_every_route_is_described_and_every_question_is_asked_here(tmp_path: Path, document: Any) -> None:
    routes = every_route(tmp_path)
    assert {each.path for each in routes} == set(document["paths"])
    for each in routes:
        assert isinstance(each, ApiRoute), f"{each.path} has no description: use answer_route"
        assert each.description.strip(), f"{each.path}: write a docstring"
    changes = {"/api/deadletters/retry", "/api/deadletters/drop", "/api/advice/dismiss", "/api/advice/restore"}
    changes |= {"/api/slow-log/known", "/api/slow-log/import", "/api/statements/{fingerprint_id}/plan"}
    asked = {*QUESTIONS, *changes, "/api/transactions/{trace_id}", "/api/incidents/{id}", "/api/sql"}
    assert asked == set(document["paths"]), "add the new route to QUESTIONS"


def test_a_route_without_a_description_is_noticed() -> None:
    def undescribed(params: dict[str, str]) -> Sent: ...  # type: ignore[empty-body]

    with pytest.raises(ValueError, match="/api/undescribed"):
        answer_route("/api/undescribed", undescribed)


def test_the_docstrings_of_answers_and_fields_are_in_the_document(document: Any) -> None:
    top = document["components"]["schemas"]["Top"]
    assert top["description"] == "The kinds that take the time, ranked."
    assert top["properties"]["window_s"]["description"].startswith("The time of the rates")
