"""Applications that know nothing of Walltime and wait a little, so that requests overlap."""

import asyncio
import os
import time


def app(environ, start_response):  # type: ignore[no-untyped-def]
    time.sleep(0.002)
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [str(os.getpid()).encode()]


async def asgi(scope, receive, send):  # type: ignore[no-untyped-def]
    if scope["type"] != "http":
        raise NotImplementedError(scope["type"])
    await asyncio.sleep(0.002)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": str(os.getpid()).encode()})
