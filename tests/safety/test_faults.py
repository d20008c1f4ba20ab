"""A failure in any function of Walltime leaves the application's answers as they are, byte by byte, and is counted."""

from __future__ import annotations

import http.server
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from shop.services import MariaDB, Memcached

from tests.sdk.sink import Sink

ROOT = Path(__file__).parents[2]


@pytest.fixture
def web() -> Iterator[str]:
    """An HTTP server with a known, a long and a missing page."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # each life would wait half a second for acknowledgements

        def do_GET(self) -> None:
            body = {"/hello": b"hello", "/long": b"0123456789" * 2000}.get(self.path.partition("?")[0])
            self._answer(404 if body is None else 200, body or b"no such page")

        def do_POST(self) -> None:
            self._answer(201, self.rfile.read(int(self.headers["Content-Length"])))

        def _answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None: ...

    class Server(http.server.ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            """A client that is gone is no news here."""

    with Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def servers(mariadb: MariaDB, memcached: tuple[Memcached, Memcached], sink: Sink, web: str) -> dict[str, Any]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        refusing = server.getsockname()
    return {
        "mysql": {**mariadb.account(), "ssl_disabled": True},  # its context alone takes 30 ms
        "memcached": [("127.0.0.1", server.port) for server in memcached],
        "refusing": refusing,
        "http": web,
        "endpoint": sink.endpoint,
        "only": "",
        "every": 1,
    }


def _lives(servers: dict[str, Any], **environment: str) -> dict[str, Any]:
    process = subprocess.run(
        [sys.executable, "-m", "tests.safety.fault_runner", json.dumps(servers)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **environment},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)  # type: ignore[no-any-return]


def _troubles(lives: dict[str, Any]) -> dict[str, str]:
    """What went wrong, by fault point."""
    troubles = {}
    for point, outcome in lives["outcomes"].items():
        if "died" in outcome:
            troubles[point] = outcome["died"]
        elif outcome["escaped"]:
            troubles[point] = f"escaped: {outcome['escaped'][0]}"
        elif outcome["answers"] != lives["bare"]["answers"]:
            troubles[point] = f"another answer: {_difference(lives['bare']['answers'], outcome['answers'])}"
        elif not outcome["reached"].get(point):
            troubles[point] = "not reached"
        elif not outcome["contained"] and not point.startswith("walltime.errors:contain"):
            troubles[point] = "not counted"
        elif sum(" failed (" in line for line in outcome["log"]) > len(outcome["contained"]):
            troubles[point] = f"too much logged: {outcome['log']}"
    return troubles


def _difference(expected: str, got: str) -> str:
    at = next((n for n, (a, b) in enumerate(zip(expected, got, strict=False)) if a != b), min(len(expected), len(got)))
    return f"…{expected[max(0, at - 60) : at + 60]}… became …{got[max(0, at - 60) : at + 60]}…"


def check(servers: dict[str, Any], *, every: int) -> None:
    lives = _lives({**servers, "every": every})
    assert lives["whole"]["answers"] == lives["bare"]["answers"]
    assert lives["whole"]["contained"] == {}
    troubles = _troubles(lives)
    print(f"{len(lives['outcomes'])} fault points raised, {len(troubles)} got through")
    assert not troubles, "\n".join(f"{point}: {trouble}" for point, trouble in sorted(troubles.items()))
    assert len(lives["outcomes"]) >= 200 // every


def test_a_failure_of_ours_leaves_every_answer_as_it_is(servers: dict[str, Any]) -> None:
    check(servers, every=16)


@pytest.mark.nightly
@pytest.mark.timeout(900)
def test_a_failure_in_any_function_of_ours_leaves_every_answer_as_it_is(servers: dict[str, Any]) -> None:
    check(servers, every=1)


def test_under_test_a_failure_of_ours_is_raised(servers: dict[str, Any]) -> None:
    point = "walltime.hotpath:Transaction.record"
    lives = _lives({**servers, "only": point}, WALLTIME_TESTING_RAISE="1")
    outcome = lives["outcomes"][point]
    assert outcome["answers"] != lives["bare"]["answers"]
    assert outcome["contained"]
