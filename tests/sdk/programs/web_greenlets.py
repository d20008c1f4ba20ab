"""An application whose requests work in greenlets of their own; its answer says who it was and which request."""

import os

import gevent
import walltime


def app(environ, start_response):  # type: ignore[no-untyped-def]
    request_id = walltime.current().request_id
    gevent.joinall([gevent.spawn(step, 0.002), gevent.spawn(step, 0.003)], raise_error=True)
    start_response("200 OK", [("Content-Type", "text/plain")])
    yield str(os.getpid()).encode()
    gevent.sleep(0.001)
    yield b" " + request_id.encode()


def step(seconds: float) -> None:
    with walltime.component("step"):
        gevent.sleep(seconds)
