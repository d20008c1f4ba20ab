"""Flask without a change of the application: one transaction a request, named by its rule, whatever is around it."""

from __future__ import annotations

import io
import os
import re
import sys
import time
from pathlib import Path

import pytest
import walltime
from shop.process import Program
from werkzeug.middleware.dispatcher import DispatcherMiddleware
from werkzeug.middleware.proxy_fix import ProxyFix

from tests.sdk.servers.flask_shop import BLOCKS, shop
from tests.sdk.servers.serving import Client, logged_by_walltime, wsgi_serving
from tests.sdk.sink import Sink

ASKED = [
    ("GET", "/product/7", ()),
    ("HEAD", "/product/7", ()),
    ("POST", "/product/7", ()),
    ("OPTIONS", "/product/7", ()),
    ("GET", "/product/seven", ()),
    ("GET", "/async/x", ()),
    ("GET", "/admin/user/a/b", ()),
    ("GET", "/stream", ()),
    ("GET", "/file", ()),
    ("GET", "/file", ('If-None-Match: "one"',)),
    ("GET", "/fails", ()),
    ("GET", "/handled", ()),
    ("GET", "/nowhere", ()),
]
EXPECTED = [
    ("GET /product/{id}", 200, None),
    ("HEAD /product/{id}", 200, None),
    ("POST", 405, None),
    ("OPTIONS /product/{id}", 200, None),
    ("GET", 404, None),
    ("GET /async/{name}", 200, None),
    ("GET /admin/user/{name}", 200, None),
    ("GET /stream", 200, None),
    ("GET /file", 200, None),
    ("GET /file", 304, None),
    ("GET /fails", 500, "LookupError"),
    ("GET /handled", 409, None),
    ("GET", 404, None),
]


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("CRITICAL", "shop")


def test_every_request_is_one_transaction_named_by_its_rule_and_answered_as_without_us(recorded: Sink) -> None:
    walltime.uninstrument()
    with wsgi_serving(shop()) as client:
        without = [client.ask(path, method=method, headers=headers) for method, path, headers in ASKED]
    assert recorded.transactions() == []
    walltime.instrument()
    with wsgi_serving(shop()) as client:
        answers = [client.ask(path, method=method, headers=headers) for method, path, headers in ASKED]
        found = recorded.wait_for(len(ASKED))
    assert b'"name":"GET /product/{id}"' in answers[0], "the name is there before the view runs"
    answers[0] = answers[0].replace(b"GET /product/{id}", b"")
    plain = re.compile(rb"(?i)content-length: \d+")
    assert [plain.sub(b"", answer) for answer in answers] == [plain.sub(b"", answer) for answer in without]
    attributes = [span.attributes for span in found]
    assert [
        (span.span.name, span.attributes["http.response.status_code"], span.attributes.get("error.type"))
        for span in found
    ] == EXPECTED
    assert attributes[0]["http.route"] == "/product/{id}"
    assert attributes[4]["url.path"] == "/product/seven"
    assert all("walltime.cpu_user_ns" in each for each in attributes), "one thread serves one request"


def test_a_stream_lasts_until_its_end(recorded: Sink) -> None:
    with wsgi_serving(shop()) as client:
        client.ask("/stream")
        recorded.wait_for(1)
    assert recorded.transaction().cell("stream") == {"calls": BLOCKS}


def test_an_exception_in_a_stream_fails_the_transaction(recorded: Sink, capsys: pytest.CaptureFixture[str]) -> None:
    with wsgi_serving(shop()) as client:
        assert b"first" in client.ask("/broken%20stream")
        (found,) = recorded.wait_for(1)
    assert found.attributes["error.type"] == "LookupError"
    assert found.attributes["http.response.status_code"] == 200
    assert "LookupError: mine" in capsys.readouterr().err, "the server says so, as without us"


def test_a_client_that_leaves_ends_the_transaction(recorded: Sink) -> None:
    with wsgi_serving(shop()) as client:
        with client.connection("/endless") as connection:
            assert connection.recv(100)
        (found,) = recorded.wait_for(1)
    assert found.attributes["walltime.incomplete"] is True
    assert "error.type" not in found.attributes


def test_middleware_around_it_and_ours_too_make_no_second_transaction(recorded: Sink) -> None:
    app = shop()
    app.wsgi_app = ProxyFix(app.wsgi_app)  # type: ignore[method-assign]  # as Flask's documentation says
    mounted = DispatcherMiddleware(walltime.WSGIMiddleware(app), {"/sub": walltime.WSGIMiddleware(shop().wsgi_app)})
    with wsgi_serving(mounted) as client:
        client.ask("/product/1")
        client.ask("/sub/admin/user/x")
        found = recorded.wait_for(2)
    assert [span.span.name for span in found] == ["GET /product/{id}", "GET /admin/user/{name}"]


def test_an_application_made_and_wrapped_before_is_seen_too(recorded: Sink) -> None:
    walltime.uninstrument()
    app = shop()
    app.wsgi_app = ProxyFix(app.wsgi_app)  # type: ignore[method-assign]
    walltime.instrument()
    with wsgi_serving(app) as client:
        client.ask("/product/1")
        recorded.wait_for(1)
    assert recorded.transaction().span.name == "GET /product/{id}"


def test_a_body_that_the_server_forgets_to_close_ends_its_transaction_when_it_is_dropped(recorded: Sink) -> None:
    def forget() -> None:
        environ = {"REQUEST_METHOD": "GET", "PATH_INFO": "/product/1", "SERVER_NAME": "x", "SERVER_PORT": "80",
                   "wsgi.url_scheme": "http", "wsgi.input": io.BytesIO(), "wsgi.errors": sys.stderr}  # fmt: skip
        for block in shop()(environ, lambda *_: lambda block: None):
            assert block

    forget()
    assert recorded.transaction().span.name == "GET /product/{id}"


@pytest.mark.parametrize(
    "worker",
    [
        ("--worker-class", "sync"),
        pytest.param(("--worker-class", "gthread", "--threads", "2"), marks=pytest.mark.nightly),
    ],
)
def test_under_gunicorn_each_request_is_sent_once_by_the_worker_that_served_it(
    sink: Sink, tmp_path: Path, worker: tuple[str, ...]
) -> None:
    (tmp_path / "wsgi.py").write_text(
        "import walltime\nwalltime.configure(service_name='shop')\nwalltime.instrument()\n"
        "from tests.sdk.servers.flask_shop import shop\napp = shop()\n"
    )
    command = [sys.executable, "-m", "gunicorn", "--preload", "--workers", "2", *worker, "--bind", "127.0.0.1:0",
               "--graceful-timeout", "5", "--no-control-socket", "wsgi:app"]  # fmt: skip
    environment = {
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": sink.endpoint,
        "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path]),
    }
    server = Program("gunicorn", tmp_path, command, r"Listening at: http://127\.0\.0\.1:(\d+)", environment)
    with server:
        assert server.ready is not None
        client = Client(("127.0.0.1", int(server.ready.group(1))))
        stamp = f"X-Request-Start: t={time.time():.6f}"
        for number in range(20):
            assert client.status(f"/product/{number}", headers=(stamp,)) == 200
        client.ask("/stream")
        client.ask("/file")
    found = sink.wait_for(22)
    assert len(found) == 22
    assert {span.span.name for span in found} == {"GET /product/{id}", "GET /stream", "GET /file"}
    assert {span.cell("stream")["calls"] for span in found if span.span.name == "GET /stream"} == {BLOCKS}
    assert all(span.attributes["walltime.queue_ns"] > 0 for span in found if "product" in span.span.name)
    assert {span.resource["service.name"] for span in found} == {"shop"}
    assert logged_by_walltime(server.output()) == [], server.output()
