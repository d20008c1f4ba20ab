"""
A process that handles requests as fast as it can under Walltime, says how that went, and ends.

    python -m tests.safety.loaded ENDPOINT SECONDS [NAME=VALUE …] → one JSON line, then the exit
"""

from __future__ import annotations

import json
import logging
import resource
import sys
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any
from wsgiref.util import setup_testing_defaults

import walltime

WARM = 2500


def application(_environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    for n in range(10):
        with walltime.component(f"step {n}"):
            pass
    start_response("200 OK", [])
    return [b"answer"]


def rss_bytes() -> int:
    """What the process has in memory now."""
    with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123  # read twice a second under load
        return int(file.read().split()[1]) * resource.getpagesize()


def request(app: Any) -> bool:
    """One request; whether the application's answer came out."""
    environ: dict[str, Any] = {"PATH_INFO": "/product/7"}
    setup_testing_defaults(environ)
    body = app(environ, lambda _status, _headers: None)
    said = b"".join(body)
    body.close()
    return said == b"answer"


def logged() -> list[str]:
    """What the log says from here on."""
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger().addHandler(handler)
    return lines


def main() -> None:
    endpoint, seconds = sys.argv[1], float(sys.argv[2])
    settings = {name: json.loads(value) for name, value in (pair.split("=", 1) for pair in sys.argv[3:])}
    lines = logged()
    walltime.configure(endpoint=endpoint, service_name="loaded", **settings)
    app = walltime.WSGIMiddleware(application)
    for _ in range(WARM):  # more than the queue holds
        request(app)
    before_bytes, most_bytes = rss_bytes(), 0
    requests = wrong = 0
    until_s = time.monotonic() + seconds
    while (now_s := time.monotonic()) < until_s:
        for _ in range(100):
            requests += 1
            wrong += not request(app)
        most_bytes = max(most_bytes, rss_bytes())
        time.sleep(max(0.0, 0.1 - (time.monotonic() - now_s)))  # 1,000 requests a second
    said = {
        "requests": requests,
        "wrong": wrong,
        "grown_bytes": most_bytes - before_bytes,
        "threads": threading.active_count(),
        "log": lines,
        "counters": walltime.counters(),
    }
    print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
