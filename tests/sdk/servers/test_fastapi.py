"""FastAPI and Starlette without a change of the application: named by route, mounts and routers included."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import flask
import pytest
import walltime
from fastapi import FastAPI
from shop.process import Program
from starlette.applications import Starlette
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route

from tests.sdk.servers.asgi_server import connected
from tests.sdk.servers.fastapi_shop import BLOCKS, shop
from tests.sdk.servers.serving import Client, logged_by_walltime, uvicorn_serving
from tests.sdk.sink import Sink

ASKED = {
    ("GET", "/product/7"): ("GET /product/{id}", 200),
    ("GET", "/product/seven"): ("GET /product/{id}", 422),
    ("DELETE", "/product/7"): ("DELETE /product/{id}", 405),
    ("GET", "/sync/7"): ("GET /sync/{id}", 200),
    ("POST", "/outer/acme/inner/item/3"): ("POST /outer/{tenant}/inner/item/{id}", 200),
    ("PUT", "/v1/deep/2/thing/x"): ("PUT /v1/deep/{level}/thing/{name}", 200),
    ("GET", "/v1/none"): ("GET /v1/{path}", 404),
    ("GET", "/static/__init__.py"): ("GET /static/{path}", 200),
    ("GET", "/stream"): ("GET /stream", 200),
    ("GET", "/sync%20stream"): ("GET /sync stream", 200),
    ("GET", "/refused"): ("GET /refused", 418),
    ("GET", "/nowhere"): ("GET", 404),
    ("GET", "/product/7/"): ("GET", 307),
}


def test_every_request_is_one_transaction_named_by_its_route_and_answered_as_without_us(recorded: Sink) -> None:
    def answers(app: FastAPI) -> list[bytes]:
        with uvicorn_serving(app) as client:
            answers = [client.ask(path, method=method) for method, path in ASKED]
        assert app.state.states == ["started", "stopped"]
        return [answer.replace(str(client.address[1]).encode(), b"port") for answer in answers]

    walltime.uninstrument()
    without = answers(shop())
    assert recorded.transactions() == []
    walltime.instrument()
    assert answers(shop()) == without
    found = recorded.wait_for(len(ASKED))
    found.sort(key=lambda span: span.span.start_time_unix_nano)  # they are sent when their application has returned
    assert [(span.span.name, span.attributes["http.response.status_code"]) for span in found] == list(ASKED.values())
    assert all("walltime.cpu_user_ns" in span.attributes for span in found)
    bills = {span.span.name: span for span in found if span.attributes["http.response.status_code"] == 200}
    assert bills["GET /product/{id}"].cell("render") == {"calls": 1}
    assert bills["GET /product/{id}"].cell("dependency") == {"calls": 1}, "in a thread of the pool"
    assert bills["GET /sync/{id}"].cell("render") == {"calls": 1}
    assert bills["GET /stream"].cell("stream") == {"calls": BLOCKS}
    assert bills["GET /sync stream"].cell("stream") == {"calls": BLOCKS}


def test_an_exception_fails_the_transaction_and_reaches_the_server(recorded: Sink) -> None:
    with uvicorn_serving(shop()) as client:
        assert client.status("/fails") == 500
        (found,) = recorded.wait_for(1)
    assert found.attributes["error.type"] == "LookupError"
    assert found.attributes["http.response.status_code"] == 500


@pytest.mark.parametrize("around", ["nothing", "BaseHTTPMiddleware"])
def test_a_background_task_is_a_transaction_of_its_own_in_the_trace(recorded: Sink, around: str) -> None:
    app = shop()
    if around == "BaseHTTPMiddleware":

        async def dispatch(request: Request, call_next: Any) -> Any:
            with walltime.component("around"):
                return await call_next(request)

        app.add_middleware(BaseHTTPMiddleware, dispatch=dispatch)
    with uvicorn_serving(app) as client:
        client.ask("/later")
        client.ask("/later?how=fails")
        found = recorded.wait_for(4)
    requests = [span for span in found if span.span.name == "GET /later"]
    tasks = [span for span in found if span.span.name == "background shop.<locals>.later.<locals>.mail"]
    assert (len(requests), len(tasks)) == (2, 2)
    assert {task.span.parent_span_id for task in tasks} == {span.span.span_id for span in requests}
    assert [task.cell("smtp")["calls"] for task in tasks] == [1, 1]
    assert sorted(task.attributes.get("error.type", "") for task in tasks) == ["", "ConnectionError"]
    assert all("smtp" not in span.times_ns() for span in requests)
    assert all(task.span.kind == task.span.SPAN_KIND_INTERNAL for task in tasks)


def test_a_websocket_is_named_by_its_route(recorded: Sink) -> None:
    async def application(scope: Any, receive: Any, send: Any) -> None:
        scope["path"] = "/v1/chat/7"
        await shop()(scope, receive, send)

    sent = asyncio.run(connected(application, "a"))
    assert [message["type"] for message in sent] == ["websocket.accept", "websocket.send"]
    assert recorded.transaction().span.name == "WEBSOCKET /v1/chat/{room}"


def test_ours_around_it_and_a_wsgi_application_within_make_no_second_transaction(recorded: Sink) -> None:
    from asgiref.wsgi import WsgiToAsgi

    old = flask.Flask("old")

    @old.get("/page/<int:id>")
    def page(id: int) -> str:
        with walltime.component("render"):
            return str(id)

    app = Starlette(routes=[Mount("/old", app=WsgiToAsgi(walltime.WSGIMiddleware(old)))])  # type: ignore[no-untyped-call]
    with uvicorn_serving(walltime.ASGIMiddleware(app)) as client:
        assert client.status("/old/page/3") == 200
        recorded.wait_for(1)
    found = recorded.transaction()
    assert found.span.name == "GET /page/{id}", "what is further in knows better"
    assert found.cell("render") == {"calls": 1}


def test_a_plain_starlette_application_too(recorded: Sink) -> None:
    async def home(request: Request) -> Response:
        return JSONResponse({"name": walltime.current().name})

    with uvicorn_serving(Starlette(routes=[Route("/{lang}", home)])) as client:
        assert b'{"name":"GET /{lang}"}' in client.ask("/de")
        recorded.wait_for(1)
    assert recorded.transaction().attributes["http.route"] == "/{lang}"


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.nightly)])
def test_under_uvicorns_own_command_every_request_is_sent(sink: Sink, tmp_path: Path, workers: int) -> None:
    (tmp_path / "site_of_shop.py").write_text(
        "import walltime\nwalltime.instrument()\nfrom tests.sdk.servers.fastapi_shop import shop\napp = shop()\n"
    )
    command = [sys.executable, "-m", "uvicorn", "site_of_shop:app", "--workers", str(workers), "--port", "0"]
    environment = {
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": sink.endpoint,
        "OTEL_SERVICE_NAME": "shop",
        "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path]),
    }
    ready = r"running on http://127\.0\.0\.1:(\d+)" + (r"(?s:.*startup complete)" * workers if workers > 1 else "")
    with Program("uvicorn", tmp_path, command, ready, environment) as server:
        assert server.ready is not None
        client = Client(("127.0.0.1", int(server.ready.group(1))))
        for number in range(20):
            assert client.status(f"/product/{number}") == 200
    found = sink.wait_for(20)
    assert {span.span.name for span in found} == {"GET /product/{id}"}
    assert len(found) == 20
    assert logged_by_walltime(server.output()) == [], server.output()
