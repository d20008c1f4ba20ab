"""An error is what the caller did not expect: a framework's answers by exception are none, a status of 500 is one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import celery.app
import celery.exceptions
import flask
import pytest
import walltime
import werkzeug.exceptions
import werkzeug.routing
from aiohttp import web
from fastapi import FastAPI, HTTPException
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException as StarletteException
from starlette.requests import ClientDisconnect
from starlette.websockets import WebSocketDisconnect

from tests.sdk.servers.serving import aiohttp_serving, uvicorn_serving, wsgi_serving
from tests.sdk.sink import Sink

ROOT = Path(__file__).parents[3]


def raising(errors: dict[str, Callable[[], BaseException]]) -> Callable[[str], Any]:
    @walltime.component("mine")
    def fails(name: str) -> Any:
        walltime.current().annotate("name", name)
        raise errors[name]()

    return fails


def checked(recorded: Sink, count: int) -> dict[str, int]:
    found = recorded.wait_for(count)
    assert all(bill.cell("mine")["calls"] == 1 for bill in found)
    return {bill.attributes["name"]: bill.cell("mine").get("errors", 0) for bill in found}


def test_flask_and_werkzeug(recorded: Sink) -> None:
    app = flask.Flask("shop")
    app.logger.disabled = True
    fails = raising({"RuntimeError": lambda: RuntimeError("x"), "NotFound": werkzeug.exceptions.NotFound})

    @app.get("/<name>")
    def view(name: str) -> Any:
        walltime.current().annotate("name", name)
        if name.isdigit():
            with walltime.component("mine"):
                flask.abort(int(name))
        if name == "redirect":
            with walltime.component("mine"):
                flask.abort(flask.redirect("/elsewhere"))
        if name == "slash":
            with walltime.component("mine"):
                raise werkzeug.routing.RequestRedirect("/slash/")
        return fails(name)

    statuses = {"404": 404, "503": 503, "401": 401, "redirect": 302, "slash": 308, "RuntimeError": 500, "NotFound": 404}
    with wsgi_serving(app) as client:
        assert {name: client.status(f"/{name}") for name in statuses} == statuses
    assert checked(recorded, len(statuses)) == {name: int(status >= 500) for name, status in statuses.items()}


def test_fastapi_and_starlette(recorded: Sink) -> None:
    app = FastAPI()
    fails = raising({
        "404": lambda: HTTPException(404), "503": lambda: HTTPException(503), "409": lambda: StarletteException(409),
        "422": lambda: RequestValidationError([]), "500": lambda: ValueError("x"),
    })  # fmt: skip

    @app.get("/{name}")
    async def view(name: str) -> Any:
        return fails(name)

    statuses = {name: int(name) for name in ("404", "503", "409", "422", "500")}
    with uvicorn_serving(app, log_level="critical") as client:
        assert {name: client.status(f"/{name}") for name in statuses} == statuses
    assert checked(recorded, len(statuses)) == {name: int(status >= 500) for name, status in statuses.items()}


def test_aiohttp(recorded: Sink) -> None:
    fails = raising({
        "302": lambda: web.HTTPFound("/elsewhere"), "404": web.HTTPNotFound, "503": web.HTTPServiceUnavailable,
        "500": lambda: ValueError("x"),
    })  # fmt: skip

    async def view(request: web.Request) -> web.Response:
        fails(request.match_info["name"])
        return web.Response()

    app = web.Application()
    app.router.add_get("/{name}", view)
    statuses = {name: int(name) for name in ("302", "404", "503", "500")}
    with aiohttp_serving(app) as client:
        assert {name: client.status(f"/{name}") for name in statuses} == statuses
    assert checked(recorded, len(statuses)) == {name: int(status >= 500) for name, status in statuses.items()}


def test_django_and_its_rest_framework() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "tests.sdk.servers.expected_django"],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == {
        "/rest/Http404": [404, {}],
        "/rest/PermissionDenied": [403, {}],
        "/rest/ValidationError": [400, {}],
        "/rest/NotFound": [404, {}],
        "/rest/APIException": [500, {"mine": 1}],
        "/rest/KeyError": [500, {"mine": 1}],
        "/plain/Suspicious": [400, {}],
        "/plain/Http404": [404, {}],
        "/plain/KeyError": [500, {"mine": 1}],
        "/empty": [200, {}],
    }


@pytest.mark.parametrize(
    "error",
    [ClientDisconnect(), WebSocketDisconnect(1001), celery.exceptions.Ignore(), celery.exceptions.Retry()],
    ids=lambda error: type(error).__name__,
)
def test_control_flow_of_frameworks_is_no_error(recorded: Sink, error: Exception) -> None:
    with pytest.raises(type(error)), walltime.transaction("job"), walltime.component("mine"):
        raise error
    found = recorded.transaction()
    assert found.cell("mine") == {"calls": 1}
    assert "error.type" not in found.attributes
