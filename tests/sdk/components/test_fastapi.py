"""Components of FastAPI, Starlette, pydantic and SQLAlchemy: counts equal the truth, times add up, answers as ever."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import walltime
from fastapi import FastAPI
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.requests import Request

from tests.sdk.components.fastapi_site import shop
from tests.sdk.servers.serving import uvicorn_serving
from tests.sdk.sink import Received, Sink

ASKED = {
    "/later/7": {},
    "/sync/7": {"own": 1},
    "/dump": {},
    "/page": {},
    "/products": {},
    "/list": {},
    "/stream": {},
    "/lines": {},
    "/refused": {"serialize": 1},
    "/fails": {},
    "/starlette/plain": {},
    "/starlette/sync": {},
    "/starlette/class": {},
    "/later/seven": {"serialize": 1},
    "/nowhere": {"serialize": 1},
}
"""Path → calls beside those that the application counts: the framework's answers of errors."""


def check(span: Received) -> None:
    times_ns = span.times_ns()
    assert 0 < sum(times_ns.values()) == span.attributes["walltime.covered_ns"] <= span.duration_ns, times_ns
    assert min(times_ns.values()) >= 0


@pytest.mark.parametrize("around", ["nothing", "BaseHTTPMiddleware"])
def test_counts_equal_the_truth_times_add_up_and_answers_are_the_same(
    recorded: Sink, tmp_path: Path, around: str
) -> None:
    truth: Counter[str] = Counter()

    def answers() -> tuple[list[bytes], list[Counter[str]]]:
        app, found, truths = shop(tmp_path, truth), [], []
        if around == "BaseHTTPMiddleware":

            async def dispatch(request: Request, call_next: Any) -> Any:
                await asyncio.sleep(0.001)
                return await call_next(request)

            app.add_middleware(BaseHTTPMiddleware, dispatch=dispatch)
        with uvicorn_serving(app) as client:
            for path in ASKED:
                truth.clear()
                found.append(client.ask(path))
                truths.append(truth.copy())
        return found, truths

    walltime.uninstrument()
    without, _ = answers()
    walltime.instrument()
    found, truths = answers()
    assert found == without
    spans = sorted(recorded.wait_for(len(ASKED)), key=lambda span: span.span.start_time_unix_nano)
    for (path, more), counted, span in zip(ASKED.items(), truths, spans, strict=True):
        calls = {name: span.cell(name)["calls"] for name in span.times_ns()}
        assert calls == {"middleware": 1, **(counted + Counter(more))}, path
        assert all(span.cell(name).get("errors", 0) == 0 for name in calls)
        assert all("walltime.after_response.component" not in each.attributes for each in spans)
        check(span)


def test_the_view_of_a_plain_def_is_what_runs_in_the_thread(recorded: Sink, tmp_path: Path) -> None:
    app = FastAPI()

    @app.get("/")
    def page() -> str:
        with walltime.component("own"):
            threading.Event().wait(0.02)
        threading.Event().wait(0.02)
        return "page"

    with uvicorn_serving(app) as client:
        client.ask("/")
        (span,) = recorded.wait_for(1)
    times_ns = span.times_ns()
    assert times_ns["own"] >= 20_000_000
    assert 20_000_000 <= times_ns["view"] <= span.duration_ns - times_ns["own"]
    assert times_ns["middleware"] + times_ns["view"] + times_ns["own"] <= span.duration_ns, "none of them twice"
    check(span)


def test_what_a_view_waits_for_in_tasks_is_not_the_views(recorded: Sink) -> None:
    app = FastAPI()

    async def part() -> None:
        with walltime.component("part"):
            await asyncio.sleep(0.02)

    @app.get("/")
    async def page() -> str:
        await asyncio.gather(part(), part())
        return "page"

    with uvicorn_serving(app) as client:
        client.ask("/")
        (span,) = recorded.wait_for(1)
    times_ns = span.times_ns()
    assert times_ns["part"] >= 36_000_000, "the two parts overlap"  # uvloop sleeps up to 1 ms less
    assert sum(times_ns.values()) - times_ns["part"] <= span.duration_ns - 18_000_000
    overlap_ns = sum(times_ns.values()) - span.attributes["walltime.covered_ns"]
    assert 0 < overlap_ns <= times_ns["part"] / 2


@pytest.mark.setting("disabled_components")
def test_a_component_can_be_switched_off(recorded: Sink, tmp_path: Path) -> None:
    walltime.configure(endpoint=recorded.endpoint, disabled_components="middleware, orm.load")
    with uvicorn_serving(shop(tmp_path, Counter())) as client:
        client.ask("/products")
        (span,) = recorded.wait_for(1)
    assert set(span.times_ns()) == {"view", "serialize", "orm.compile"}
