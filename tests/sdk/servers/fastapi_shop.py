"""The FastAPI application that test_fastapi.py serves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import walltime
from fastapi import APIRouter, BackgroundTasks, Depends, FastAPI, HTTPException
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.websockets import WebSocket

BLOCKS = 3


def shop() -> FastAPI:
    states: list[str] = []

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[dict[str, Any]]:
        states.append("started")
        yield {"since": "the start"}
        states.append("stopped")

    app = FastAPI(lifespan=lifespan)
    app.state.states = states
    inner, outer = APIRouter(prefix="/inner"), APIRouter(prefix="/outer/{tenant}")

    def dependency() -> str:
        with walltime.component("dependency"):
            return walltime.current().name

    @app.get("/product/{id}")
    async def product(id: int, name: str = Depends(dependency)) -> dict[str, Any]:
        with walltime.component("render"):
            await asyncio.sleep(0)
        return {"id": id}

    @app.get("/sync/{id}")
    def sync_product(id: int, request: Request) -> dict[str, Any]:
        with walltime.component("render"):
            return {"id": id, "since": request.state.since}

    @inner.post("/item/{id:int}")
    async def item(id: int) -> Response:
        return PlainTextResponse(str(id))

    @app.get("/stream")
    async def stream() -> Response:
        async def blocks() -> AsyncIterator[bytes]:
            for number in range(BLOCKS):
                with walltime.component("stream"):
                    await asyncio.sleep(0)
                yield b"%d" % number

        return StreamingResponse(blocks())

    @app.get("/sync stream")
    def sync_stream() -> Response:
        def blocks() -> Iterator[bytes]:
            for number in range(BLOCKS):
                with walltime.component("stream"):
                    yield b"%d" % number

        return StreamingResponse(blocks())

    @app.get("/later")
    async def later(background: BackgroundTasks, how: str = "") -> dict[str, str]:
        def mail(to: str) -> None:
            with walltime.component("smtp"):
                if how == "fails":
                    raise ConnectionError(to)

        background.add_task(mail, "a")
        return {}

    @app.get("/refused")
    async def refused() -> None:
        raise HTTPException(418)

    @app.get("/fails")
    async def fails() -> None:
        raise LookupError("mine")

    outer.include_router(inner)
    app.include_router(outer)
    app.mount("/v1", part())
    app.mount("/static", StaticFiles(directory=Path(__file__).parent))
    return app


def part() -> Starlette:
    async def thing(request: Request) -> Response:
        return PlainTextResponse(request.path_params["name"])

    async def chat(websocket: WebSocket) -> None:
        await websocket.accept()
        async for text in websocket.iter_text():
            await websocket.send_text(text)

    return Starlette(
        routes=[
            Mount("/deep/{level}", routes=[Route("/thing/{name}", thing, methods=["GET", "PUT"])]),
            WebSocketRoute("/chat/{room}", chat),
        ]
    )
