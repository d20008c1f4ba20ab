"""Django without a change of the project: WSGI and ASGI, sync and async views, one transaction a request."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest
import walltime
from shop.process import Program

from tests.sdk.servers import django_project
from tests.sdk.servers.serving import Client, uvicorn_serving, wsgi_serving
from tests.sdk.sink import Sink

ASKED = {
    ("GET", "/shop/product/7"): ("GET /shop/product/{id}", 200, None),
    ("HEAD", "/shop/product/7"): ("HEAD /shop/product/{id}", 200, None),
    ("GET", "/shop/product/seven"): ("GET", 404, None),
    ("GET", "/shop/later/7/"): ("GET /shop/later/{id}/", 200, None),
    ("GET", "/shop/later/7"): ("GET", 301, None),
    ("GET", "/shop/old/1999"): ("GET /shop/old/{year}", 200, None),
    ("GET", "/stream"): ("GET /stream", 200, None),
    ("GET", "/stream-later"): ("GET /stream-later", 200, None),
    ("GET", "/file"): ("GET /file", 200, None),
    ("GET", "/304"): ("GET /304", 304, None),
    ("GET", "/fails"): ("GET /fails", 500, "LookupError"),
    ("GET", "/fails-later"): ("GET /fails-later", 500, "LookupError"),
}


@pytest.mark.filterwarnings("ignore:StreamingHttpResponse must consume:Warning")  # Django's own, of the other kind
@pytest.mark.parametrize("way", ["wsgi", "asgi"])
def test_every_request_is_one_transaction_named_by_its_route_and_answered_as_without_us(
    recorded: Sink, way: str
) -> None:
    serving = wsgi_serving if way == "wsgi" else uvicorn_serving
    application = getattr(django_project, way)

    def answers() -> list[bytes]:
        with serving(application()) as client:
            return [client.ask(path, method=method) for method, path in ASKED]

    walltime.uninstrument()
    without = answers()
    assert recorded.transactions() == []
    walltime.instrument()
    assert answers() == without
    # a bill comes when the application returns: perhaps after the next request has begun
    found = sorted(recorded.wait_for(len(ASKED)), key=lambda each: each.span.start_time_unix_nano)
    assert [
        (span.span.name, span.attributes["http.response.status_code"], span.attributes.get("error.type"))
        for span in found
    ] == list(ASKED.values())
    bills = {span.span.name: span for span in found}
    for name in ("GET /shop/product/{id}", "GET /shop/later/{id}/"):
        assert bills[name].cell("own") == {"calls": 1}
        assert bills[name].cell("around") == {"calls": 1}
        assert 0 < bills[name].attributes["walltime.covered_ns"] <= sum(bills[name].times_ns().values())
    for name in ("GET /stream", "GET /stream-later"):
        assert bills[name].cell("stream") == {"calls": django_project.BLOCKS}
    assert all("walltime.cpu_user_ns" in span.attributes for span in found)


def test_ours_around_it_makes_no_second_transaction(recorded: Sink) -> None:
    with wsgi_serving(walltime.WSGIMiddleware(django_project.wsgi())) as client:
        client.ask("/shop/product/1")
        recorded.wait_for(1)
    assert recorded.transaction().span.name == "GET /shop/product/{id}"
    with uvicorn_serving(walltime.ASGIMiddleware(django_project.asgi())) as client:
        client.ask("/shop/product/1")
        found = recorded.wait_for(2)
    assert [span.span.name for span in found] == ["GET /shop/product/{id}"] * 2


def test_a_client_that_leaves_a_stream_ends_the_transaction(recorded: Sink) -> None:
    async def leave_at_once(scope: Any, receive: Any, send: Any) -> None:
        async def left() -> dict[str, Any]:
            return {"type": "http.disconnect"}

        await application(scope, left, send)

    application = django_project.asgi()
    with uvicorn_serving(walltime.ASGIMiddleware(leave_at_once)) as client:
        client.ask("/stream")
        (found,) = recorded.wait_for(1)
    assert found.attributes["walltime.incomplete"] is True
    assert "error.type" not in found.attributes


def test_the_settings_of_a_project_are_not_read_before_it_is_ready(tmp_path: Path) -> None:
    program = """
import walltime
walltime.instrument()
import django.core.handlers.wsgi, django.core.handlers.asgi
from django.conf import settings
assert not settings.configured
assert hasattr(django.core.handlers.wsgi.WSGIHandler.__call__, "__wrapped__")
assert hasattr(django.core.handlers.asgi.ASGIHandler.__call__, "__wrapped__")
"""
    (tmp_path / "program.py").write_text(program)
    with Program("python", tmp_path, [sys.executable, "-c", program + "print('fine')"], "fine"):
        pass


def test_under_uvicorns_own_command_what_waits_is_sent_at_a_stop(sink: Sink, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "uvicorn", "tests.sdk.servers.django_project:application", "--port", "0"]
    environment = {
        "DJANGO_PROJECT_SERVES": "asgi",
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": sink.endpoint,
        "OTEL_BSP_SCHEDULE_DELAY": "60000",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    with Program("uvicorn", tmp_path, command, r"running on http://127\.0\.0\.1:(\d+)", environment) as server:
        assert server.ready is not None
        client = Client(("127.0.0.1", int(server.ready.group(1))))
        for number in range(20):
            assert client.status(f"/shop/product/{number}") == 200
    assert [span.span.name for span in sink.transactions()] == ["GET /shop/product/{id}"] * 20
