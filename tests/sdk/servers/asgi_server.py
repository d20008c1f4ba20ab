"""An ASGI application with a connection to its database."""

from __future__ import annotations

import asyncio
from typing import Any

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7"


SECRET = "a secret of the shop's owners"


async def connected(application: Any, *messages: str) -> list[dict[str, Any]]:
    """What an application sends on a websocket that says these and then closes; called as a server does."""
    sent: list[dict[str, Any]] = []
    incoming: list[dict[str, Any]] = [
        {"type": "websocket.connect"},
        *[{"type": "websocket.receive", "text": text} for text in messages],
        {"type": "websocket.disconnect", "code": 1000},
    ]

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(0.001)
        return incoming.pop(0)

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {"type": "websocket", "path": "/chat/7", "headers": [(b"traceparent", f"{PARENT}-00".encode())]}
    await application(scope, receive, send)
    return sent
