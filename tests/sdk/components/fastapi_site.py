"""A FastAPI application with templates, models and an ORM that counts what it does."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import walltime
from fastapi import Depends, FastAPI, HTTPException
from jinja2 import DictLoader, Environment
from pydantic import BaseModel
from sqlalchemy import ForeignKey, create_engine, event, func, select
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship, selectinload
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.endpoints import HTTPEndpoint
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.templating import Jinja2Templates

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
