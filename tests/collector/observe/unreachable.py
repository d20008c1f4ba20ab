"""What tests of bad servers need: some that are none, what the collector says about each, and all that it writes."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from shop.services import LOOPBACK

from tests.servers import Collector, eventually, over_http


@contextmanager
def silent() -> Iterator[str]:
    """The address of a server that accepts connections and never says anything."""
    with socket.create_server((LOOPBACK, 0)) as listener:
        yield f"{LOOPBACK}:{listener.getsockname()[1]}"


@contextmanager
def stranger(greeting: bytes) -> Iterator[str]:
    """The address of a server that speaks another protocol, and first."""

    def greet() -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            with client:
                client.sendall(greeting)

    with socket.create_server((LOOPBACK, 0)) as listener:
        thread = threading.Thread(target=greet)
        thread.start()
        try:
            yield f"{LOOPBACK}:{listener.getsockname()[1]}"
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def said(collector: Collector) -> Mapping[str, tuple[str, str]]:
    """By server: why it cannot be asked, and what it lacks; both empty: all is well."""
    servers: Mapping[str, list[str]] = over_http("GET", f"{collector.web_url}/api/status").json()["servers"]
    return {name: (error, lacks) for name, (error, lacks) in servers.items()}


class Lines:
    """The lines of the collector's log about one server from now on; to wait for them takes less CPU than to ask."""

    def __init__(self, collector: Collector, server: str) -> None:
        self._collector, self._server, self._seen = collector, server, len(collector.log())

    def wait_for(self, pattern: str) -> None:
        """Until there is one that matches, behind those that were waited for before."""
        eventually(lambda: self._next(pattern))
        self._seen = self._next(pattern)

    def _next(self, pattern: str) -> int:
        line = re.compile(rf"^.*{re.escape(self._server)}\b.*(?:{pattern}).*$", re.MULTILINE)
        found = line.search(self._collector.log(), self._seen)
        return found.end() if found else 0


def wait_for_each(collector: Collector, servers: Iterable[str]) -> None:
    """Until the log says of each whether it can be asked."""
    for name in servers:
        eventually(lambda name=name: f'"{name}: ' in collector.log())  # type: ignore[misc]


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


def is_healthy(collector: Collector) -> bool:
    """Whether data moves."""
    return over_http("GET", f"{collector.web_url}/healthz").status_code == 200
