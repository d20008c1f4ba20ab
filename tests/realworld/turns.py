"""
Beside an application's modules, served in its place: one process switches Walltime on and off between visits.

`GET /walltime-turn?WAY` begins a turn and answers with the CPU time of the process so far, exports included. Two
processes differ by some per cent from their start on, turns of one process do not.
"""

from __future__ import annotations

import dataclasses
import os
import time
from importlib import import_module
from typing import Any

from walltime import runtime

PATH = "/walltime-turn"


def _turn(way: str) -> bytes:
    runtime.flush()
    runtime._settings = dataclasses.replace(_measuring, enabled=way == "walltime")
    return str(time.process_time_ns()).encode()


_measuring = runtime.settings()
_module, _, _name = os.environ["TURNS_OF"].partition(":")
_application = getattr(import_module(_module), _name)


def wsgi(environ: Any, start_response: Any) -> Any:
    if environ["PATH_INFO"] != PATH:
        return _application(environ, start_response)
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [_turn(environ["QUERY_STRING"])]


def asgi() -> Any:
    inner = _application()

    async def application(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or scope["path"] != PATH:
            await inner(scope, receive, send)
            return
        body = _turn(scope["query_string"].decode())
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": body})

    return application
