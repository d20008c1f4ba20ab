"""What tests of bad servers need: one that says nothing, what the collector says about each, all that it writes."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from shop.services import LOOPBACK

from tests.servers import Collector, over_http


@contextmanager
def silent() -> Iterator[str]:
    """The address of a server that accepts connections and never says anything."""
    with socket.create_server((LOOPBACK, 0)) as listener:
        yield f"{LOOPBACK}:{listener.getsockname()[1]}"


def said(collector: Collector) -> Mapping[str, tuple[str, str]]:
    """By server: why it cannot be asked, and what it lacks; both empty: all is well."""
    servers: Mapping[str, list[str]] = over_http("GET", f"{collector.web_url}/api/status").json()["servers"]
    return {name: (error, lacks) for name, (error, lacks) in servers.items()}


def everything_written(collector: Collector) -> Iterator[tuple[str, bytes]]:
    """Where, and what: all that the collector has stored, logged and shows."""
    yield "log", collector.log().encode()
    for path in ("/api/status", "/metrics", "/healthz", "/collector", "/servers"):
        yield path, over_http("GET", collector.web_url + path).content
    for file in collector.directory.rglob("*"):
        if file.is_file():
            yield str(file), file.read_bytes()


def rows(collector: Collector, sql: str) -> list[list[object]]:
    """Of the collector's tables."""
    answer = over_http("POST", f"{collector.web_url}/api/sql", json={"sql": sql}).json()
    found: list[list[object]] = answer["rows"]
    return found
