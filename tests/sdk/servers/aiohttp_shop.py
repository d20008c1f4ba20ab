"""The aiohttp application that test_aiohttp_web.py serves."""

from __future__ import annotations

import asyncio
from typing import Any

import walltime
from aiohttp import web

BLOCKS = 3


def shop() -> web.Application:
    @web.middleware
    async def around(request: web.Request, handler: Any) -> web.StreamResponse:
        with walltime.component("around"):
            return await handler(request)  # type: ignore[no-any-return]

    async def product(request: web.Request) -> web.Response:
        with walltime.component("handler"):
            await asyncio.sleep(0)
        return web.json_response({"id": request.match_info["id"]})

    async def stream(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for number in range(BLOCKS):
            with walltime.component("stream"):
                await response.write(b"%d" % number)
        await response.write_eof()
        return response

    async def body(request: web.Request) -> web.Response:
        async def blocks() -> Any:
            for number in range(BLOCKS):
                with walltime.component("stream"):
                    await asyncio.sleep(0)
                yield b"%d" % number

        return web.Response(body=blocks())

    async def endless(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b"x" * 65536)

    async def broken(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(status=203)
        await response.prepare(request)
        await response.write(b"first")
        raise LookupError("mine")

    async def refused(request: web.Request) -> web.Response:
        raise web.HTTPForbidden

    async def fails(request: web.Request) -> web.Response:
        raise LookupError("mine")

    async def chat(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        async for message in socket:
            with walltime.component("answer"):
                await socket.send_str(message.data.upper())
        return socket

    app, part = web.Application(middlewares=[around]), web.Application()
    app.router.add_get("/product/{id}", product)
    app.router.add_get("/stream", stream)
    app.router.add_get("/body", body)
    app.router.add_get("/endless", endless)
    app.router.add_get("/broken", broken)
    app.router.add_get("/refused", refused)
    app.router.add_get("/fails", fails)
    app.router.add_get("/chat/{room}", chat)
    part.router.add_get(r"/item/{number:\d+}", product_of)
    app.add_subapp("/part", part)
    return app


async def product_of(request: web.Request) -> web.Response:
    return web.Response(text=request.match_info["number"])
