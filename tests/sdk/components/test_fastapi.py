"""Components of FastAPI, Starlette, pydantic and SQLAlchemy: counts equal the truth, times add up, answers as ever."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import walltime
from fastapi import Depends, FastAPI, HTTPException
from jinja2 import DictLoader, Environment
from pydantic import BaseModel
from sqlalchemy import ForeignKey, create_engine, event, func, select
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship, selectinload
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.endpoints import HTTPEndpoint
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.templating import Jinja2Templates

from tests.sdk.servers.serving import uvicorn_serving
from tests.sdk.sink import Received, Sink

TEMPLATES = {
    "base": "<h1>{% block title %}{% endblock %}</h1>",
    "page": "{% extends 'base' %}{% block title %}"
    "{% for each in range(3) %}{% include 'one' %}{% endfor %}{% endblock %}",
    "one": "{{ each }},",
}


class Base(DeclarativeBase): ...


class Product(Base):
    __tablename__ = "product"
    id: Mapped[int] = mapped_column(primary_key=True)
    reviews: Mapped[list[Review]] = relationship()


class Review(Base):
    __tablename__ = "review"
    id: Mapped[int] = mapped_column(primary_key=True)
    product_id: Mapped[int] = mapped_column(ForeignKey("product.id"))


class Answer(BaseModel):
    id: int
    parts: list[Answer] = []


def shop(folder: Path, truth: Counter[str], rows: int = 1) -> FastAPI:
    app = FastAPI()
    templates = Jinja2Templates(env=Environment(loader=DictLoader(TEMPLATES), autoescape=True))
    engine = create_engine(f"sqlite:///{folder / 'db'}")
    Base.metadata.create_all(engine)
    with Session(engine) as session:
        for id in range(1, rows + 1):
            session.merge(Product(id=id, reviews=[Review(id=2 * id), Review(id=2 * id + 1)]))
        session.commit()
    event.listen(engine, "before_cursor_execute", lambda *_: truth.update(["orm.compile"]))

    def seen(*components: str) -> None:
        truth.update(["view", *components])

    async def dependency() -> str:
        await asyncio.sleep(0)
        return "given"

    @app.get("/later/{id}")
    async def later(id: int, given: str = Depends(dependency)) -> dict[str, int]:
        seen("serialize")
        await asyncio.gather(*[asyncio.sleep(0.002) for _ in range(3)])
        return {"id": id}

    @app.get("/sync/{id}")
    def sync(id: int) -> Answer:
        seen("serialize")
        assert threading.current_thread() is not threading.main_thread()
        with walltime.component("own"):
            return Answer(id=id, parts=[Answer(id=2)])

    @app.get("/dump")
    async def dump() -> Response:
        seen("serialize", "serialize", "serialize")
        answer = Answer(id=1, parts=[Answer(id=2)])
        assert answer.model_dump_json()
        return JSONResponse(answer.model_dump())

    @app.get("/page")
    def page(request: Request) -> Response:
        seen("template.render")
        return templates.TemplateResponse(request, "page")

    @app.get("/products")
    def products() -> dict[str, int]:
        seen("serialize", *["orm.load"] * 3)
        with Session(engine) as session:
            query = select(Product).options(selectinload(Product.reviews))
            found = session.scalars(query).all()
            rows = session.execute(query.execution_options(yield_per=1)).all()
            counted = session.scalar(select(func.count(Product.id)))
        return {"products": len(found), "rows": len(rows), "reviews": len(found[0].reviews), "counted": counted or 0}

    @app.get("/list")
    def listed() -> list[Answer]:
        seen("serialize", *["orm.load"] * 2)
        with Session(engine) as session:
            found = session.scalars(select(Product).options(selectinload(Product.reviews))).all()
            session.scalar(select(func.count(Product.id)))
            return [Answer(id=each.id, parts=[Answer(id=part.id) for part in each.reviews]) for each in found]

    @app.get("/stream")
    async def stream() -> Response:
        seen()

        async def blocks() -> AsyncIterator[bytes]:
            for number in range(3):
                await asyncio.sleep(0.001)
                yield b"%d" % number

        return StreamingResponse(blocks())

    @app.get("/lines")
    def lines() -> Iterator[int]:
        yield from range(3)

    @app.get("/refused")
    async def refused() -> None:
        seen()
        raise HTTPException(418)

    @app.get("/fails")
    def fails() -> None:
        seen()
        raise LookupError("mine")

    async def plain(request: Request) -> Response:
        seen()
        return await run_in_threadpool(PlainTextResponse, "plain")

    def plain_sync(request: Request) -> Response:
        seen()
        return PlainTextResponse("plain")

    class Plain(HTTPEndpoint):
        async def get(self, request: Request) -> Response:
            return PlainTextResponse("class")

    app.mount(
        "/starlette",
        Starlette(routes=[Route("/plain", plain), Route("/sync", plain_sync), Route("/class", Plain)]),
    )
    return app


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
    assert times_ns["part"] >= 40_000_000, "the two parts overlap"
    assert sum(times_ns.values()) - times_ns["part"] <= span.duration_ns - 20_000_000
    overlap_ns = sum(times_ns.values()) - span.attributes["walltime.covered_ns"]
    assert 0 < overlap_ns <= times_ns["part"] / 2


@pytest.mark.setting("disabled_components")
def test_a_component_can_be_switched_off(recorded: Sink, tmp_path: Path) -> None:
    walltime.configure(endpoint=recorded.endpoint, disabled_components="middleware, orm.load")
    with uvicorn_serving(shop(tmp_path, Counter())) as client:
        client.ask("/products")
        (span,) = recorded.wait_for(1)
    assert set(span.times_ns()) == {"view", "serialize", "orm.compile"}
