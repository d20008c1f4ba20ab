"""The WSGI middleware: when a transaction begins and ends, its name, and that the application notices nothing."""

from __future__ import annotations

import contextvars
import io
import os
import re
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from wsgiref.util import FileWrapper, setup_testing_defaults

import pytest
import walltime
from opentelemetry import trace
from shop.process import Program
from walltime.core.execution import current, running

from tests.sdk.servers.serving import Client
from tests.sdk.servers.wsgi_server import PARENT, page, serve
from tests.sdk.sink import Sink


def test_a_request_is_named_by_its_route_and_keeps_its_status(recorded: Sink) -> None:
    assert serve(walltime.WSGIMiddleware(page), {"PATH_INFO": "/product/7"}) == (
        "200 OK", [("Content-Type", "text/plain")], b"hello",
    )  # fmt: skip
    found = recorded.transaction()
    assert found.span.name == "GET /product/{id}"
    assert found.span.kind == found.span.SPAN_KIND_SERVER
    assert found.attributes["http.route"] == "/product/{id}"
    assert found.attributes["http.request.method"] == "GET"
    assert found.attributes["http.response.status_code"] == 200
    assert "url.path" not in found.attributes, "the route is known, the path may hold ids"
    assert found.resource["service.name"] == "test"


def test_without_a_route_the_name_is_the_method_alone(recorded: Sink) -> None:
    def app(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        start_response("404 Not Found", [])
        return []

    serve(walltime.WSGIMiddleware(app), {"PATH_INFO": "/any/1", "REQUEST_METHOD": "MADEUP"})
    found = recorded.transaction()
    assert found.span.name == "_OTHER"
    assert found.attributes["url.path"] == "/any/?", "it may hold ids"
    assert found.span.status.code == 0, "a client's mistake is not the server's error"


def test_the_transaction_lasts_until_the_body_is_closed(recorded: Sink) -> None:
    class Body:
        closed = False

        def __iter__(self) -> Iterator[bytes]:
            for block in (b"a", b"b"):
                with walltime.component("stream"):
                    time.sleep(0.01)
                yield block

        def close(self) -> None:
            self.closed = True

    body = Body()

    def app(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        start_response("200 OK", [])
        return body

    assert serve(walltime.WSGIMiddleware(app))[2] == b"ab"
    assert body.closed
    assert recorded.transaction().cell("stream") == {"calls": 2}


@pytest.mark.parametrize("where", ["app", "body"])
def test_an_exception_passes_through_and_fails_the_transaction(recorded: Sink, where: str) -> None:
    def blocks() -> Iterator[bytes]:
        yield b"first"
        raise LookupError("mine")

    def app(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        start_response("200 OK", [])
        if where == "app":
            raise LookupError("mine")
        return blocks()

    with pytest.raises(LookupError, match="mine"):
        serve(walltime.WSGIMiddleware(app))
    found = recorded.transaction()
    assert found.attributes["error.type"] == "LookupError"
    assert found.span.status.code == found.span.status.STATUS_CODE_ERROR


def test_a_5xx_fails_the_transaction(recorded: Sink) -> None:
    def app(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        start_response("503 Busy", [])
        return [b""]

    serve(walltime.WSGIMiddleware(app))
    assert recorded.transaction().attributes["error.type"] == "503"


def test_a_list_keeps_its_length_and_a_file_its_type(recorded: Sink) -> None:
    def start_response(*_: Any) -> None: ...

    environ: dict[str, Any] = {}
    setup_testing_defaults(environ)
    body: Any = walltime.WSGIMiddleware(page)(environ, start_response)
    assert len(body) == 1
    body.close()

    file = io.BytesIO(b"content")
    environ = {"wsgi.file_wrapper": FileWrapper}
    setup_testing_defaults(environ)
    body = walltime.WSGIMiddleware(lambda environ, start: environ["wsgi.file_wrapper"](file))(environ, start_response)
    assert type(body) is FileWrapper
    assert b"".join(body) == b"content"
    body.close()
    assert file.closed
    assert len(recorded.transactions()) == 2


def test_two_middlewares_make_one_transaction(recorded: Sink) -> None:
    serve(walltime.WSGIMiddleware(walltime.WSGIMiddleware(page)))
    recorded.transaction()


def test_a_caller_that_says_where_it_is_in_the_trace_becomes_the_parent(recorded: Sink) -> None:
    serve(walltime.WSGIMiddleware(page), {"HTTP_TRACEPARENT": f"{PARENT}-00", "HTTP_TRACESTATE": "vendor=x"})
    span = recorded.transaction().span
    assert span.trace_id.hex() == PARENT[3:35]
    assert span.parent_span_id.hex() == PARENT[36:]
    assert span.trace_state == "vendor=x"


@pytest.mark.parametrize(
    "header",
    ["", "nonsense", f"{PARENT}", "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
     "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", f"ff{PARENT[2:]}-01", "\x00" * 55, "é" * 55],
)  # fmt: skip
def test_a_broken_traceparent_begins_a_new_trace(recorded: Sink, header: str) -> None:
    serve(walltime.WSGIMiddleware(page), {"HTTP_TRACEPARENT": header})
    span = recorded.transaction().span
    assert span.parent_span_id == b""
    assert span.trace_id.hex() != PARENT[3:35]
    assert span.flags & 0x02, "a trace that begins here has a random id and says so"


def test_other_instrumentation_sees_the_transaction_as_the_current_span(recorded: Sink) -> None:
    seen: list[trace.SpanContext] = []

    def app(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        seen.append(trace.get_current_span().get_span_context())
        return page(environ, start_response)

    serve(walltime.WSGIMiddleware(app))
    assert seen[0].span_id.to_bytes(8, "big") == recorded.transaction().span.span_id
    assert not trace.get_current_span().get_span_context().is_valid, "and no longer after the request"


def test_queue_time_and_cpu_time_stand_beside_the_bill(recorded: Sink) -> None:
    def app(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        busy_until = time.thread_time() + 0.05
        while time.thread_time() < busy_until:
            pass
        return page(environ, start_response)

    stamp = f"t={time.time() - 0.25:.6f}"
    serve(walltime.WSGIMiddleware(app), {"HTTP_X_REQUEST_START": stamp})
    found = recorded.transaction()
    assert 0.25e9 <= found.attributes["walltime.queue_ns"] < 5e9
    cpu_ns = found.attributes["walltime.cpu_user_ns"] + found.attributes["walltime.cpu_system_ns"]
    assert 0.045e9 < cpu_ns <= found.duration_ns + 10_000_000


def test_switched_off_it_is_not_there(sink: Sink) -> None:
    walltime.configure(enabled=False, endpoint=sink.endpoint)
    assert serve(walltime.WSGIMiddleware(page))[2] == b"hello"
    assert sink.spans() == []


def test_our_own_failure_is_not_the_requests(sink: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    walltime.configure(endpoint=sink.endpoint)
    app = walltime.WSGIMiddleware(page)

    def broken(*_: Any) -> None:
        raise RuntimeError("ours")

    for place in ("has_any", "caller", "queue_ns", "runtime.propagation.enter"):
        with monkeypatch.context() as patched:
            patched.setattr(f"walltime.servers.request.request.{place}", broken)
            assert serve(app, {"HTTP_X_REQUEST_START": "t=1"})[2] == b"hello"
    assert walltime.counters()["failed_wsgi"] == 4
    assert walltime.current().request_id == ""


def test_a_failure_to_record_the_outcome_is_counted_and_the_applications_exception_passes(
    sink: Sink, monkeypatch: pytest.MonkeyPatch
) -> None:
    walltime.configure(endpoint=sink.endpoint)

    def raising(environ: Any, start_response: Any) -> list[bytes]:
        raise KeyError("the application's")

    def broken(*_: Any) -> None:
        raise RuntimeError("ours")

    monkeypatch.setattr("walltime.core.transaction.Transaction.fail", broken)
    before = walltime.counters().get("failed_outcome", 0)
    with pytest.raises(KeyError, match="the application's"):
        serve(walltime.WSGIMiddleware(raising))
    assert walltime.counters()["failed_outcome"] == before + 1


# ---- what a request may ask for ----

SECRET = "a secret of the shop's owners"


@pytest.mark.parametrize("given", [SECRET, f"{SECRET} ", SECRET.upper(), "é" * len(SECRET), None])
def test_who_has_the_secret_gets_the_bill_and_the_detail(sink: Sink, given: str | None) -> None:
    def app(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        with walltime.component("render"):
            return page(environ, start_response)

    walltime.configure(endpoint=sink.endpoint, sample_probability=0.0, force_secret=SECRET, python_gc=False)
    environ = {} if given is None else {"HTTP_X_WALLTIME_FORCE": given}
    _, headers, body = serve(walltime.WSGIMiddleware(app), environ)
    found = sink.transaction()
    knows = given == SECRET
    assert body == b"hello"
    assert [name for name, _ in headers] == ["Content-Type", *(["Server-Timing"] if knows else [])]
    assert (found.attributes.get("walltime.kept", "") == "forced") is knows
    assert len(sink.calls("render")) == (1 if knows else 0)


def test_the_bill_in_the_answer_is_short_and_of_valid_tokens(sink: Sink) -> None:
    def app(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        for number in range(40):
            with walltime.component(f'part {number}, "quoted"; é\r\nX-Evil: 1 ' + "x" * 500):
                pass
        for _ in range(3000):
            with walltime.component("often"):
                pass
        return page(environ, start_response)

    walltime.configure(endpoint=sink.endpoint, server_timing=True, python_gc=False)
    value = dict(serve(walltime.WSGIMiddleware(app))[1])["Server-Timing"]
    metrics = value.split(", ")
    token = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
    assert all(re.fullmatch(rf"{token};dur=\d+\.\d\d(;desc=\"\d+\")?", metric) for metric in metrics), metrics
    assert len(metrics) == 14, "the total, the twelve longest, and what is left"
    assert len(value) < 1024
    assert next(metric for metric in metrics if metric.startswith("often;")).endswith('desc="3000"')


# ---- how it ends ----


def test_a_body_that_is_not_read_to_its_end_is_incomplete_and_no_failure(recorded: Sink) -> None:
    def app(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        start_response("200 OK", [])
        return iter([b"first", b"second"])

    environ: dict[str, Any] = {}
    setup_testing_defaults(environ)
    body: Any = walltime.WSGIMiddleware(app)(environ, lambda *_: None)
    assert next(iter(body)) == b"first"
    body.close()
    body.close()
    found = recorded.transaction()
    assert found.attributes["walltime.incomplete"] is True
    assert "error.type" not in found.attributes


def test_a_body_nobody_closes_ends_when_it_is_dropped(recorded: Sink) -> None:
    def app(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        start_response("200 OK", [])
        return iter([b"first", b"second"])

    for blocks in (0, 1, 2):
        environ: dict[str, Any] = {}
        setup_testing_defaults(environ)
        body: Any = walltime.WSGIMiddleware(app)(environ, lambda *_: None)
        for _ in zip(range(blocks), body, strict=False):
            pass
        del body
        assert current() is None
    assert len(recorded.transactions()) == 3


def test_with_a_list_nothing_follows_its_last_block(recorded: Sink) -> None:
    def app(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        start_response("200 OK", [])
        return [b"a", b"b"]

    environ: dict[str, Any] = {}
    setup_testing_defaults(environ)
    body: Any = walltime.WSGIMiddleware(app)(environ, lambda _status, _headers: None)
    blocks = iter(body)
    assert next(blocks) == b"a"
    assert current() is not None
    assert [*blocks] == [b"b"]
    assert current() is None
    body.close()
    assert "walltime.incomplete" not in recorded.transaction().attributes


def test_a_list_read_in_another_thread_is_left_where_it_began(recorded: Sink) -> None:
    def app(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        start_response("200 OK", [])
        return [b"a"]

    def request() -> None:
        environ: dict[str, Any] = {}
        setup_testing_defaults(environ)
        body: Any = walltime.WSGIMiddleware(app)(environ, lambda _status, _headers: None)
        thread = threading.Thread(target=list, args=(iter(body),))
        thread.start()
        thread.join()
        body.close()
        assert not trace.get_current_span().get_span_context().is_valid
        assert running.get() is None

    contextvars.copy_context().run(request)
    assert len(recorded.transactions()) == 1


def test_a_body_closed_in_another_thread_is_no_parent_of_the_next_request(recorded: Sink) -> None:
    def requests() -> None:
        environ: dict[str, Any] = {}
        setup_testing_defaults(environ)
        body: Any = walltime.WSGIMiddleware(page)(environ, lambda *_: None)
        thread = threading.Thread(target=body.close)
        thread.start()
        thread.join()
        for _ in range(2):
            serve(walltime.WSGIMiddleware(page))

    contextvars.copy_context().run(requests)
    found = recorded.transactions()
    assert [span.span.parent_span_id for span in found] == [b""] * 3
    assert len({span.span.trace_id for span in found}) == 3


def test_an_error_page_after_the_fact_goes_to_the_server_with_its_exception(recorded: Sink) -> None:
    given: list[Any] = []

    def app(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        start_response("200 OK", [])
        try:
            environ["mine"]
        except KeyError:
            start_response("500 Oops", [], sys.exc_info())
        return [b"sorry"]

    def start_response(*arguments: Any) -> None:
        given.append(arguments)

    environ: dict[str, Any] = {}
    setup_testing_defaults(environ)
    body: Any = walltime.WSGIMiddleware(app)(environ, start_response)
    body.close()
    assert [len(arguments) for arguments in given] == [2, 3]
    assert given[1][2][0] is KeyError
    assert recorded.transaction().attributes["error.type"] == "KeyError"


def test_a_server_sends_a_file_by_itself_as_without_us(recorded: Sink, tmp_path: Path) -> None:
    """gunicorn does when the body is of its own type."""
    (tmp_path / "content").write_bytes(b"content" * 10_000)
    (tmp_path / "files.py").write_text(
        "import walltime\n"
        "from gunicorn.http.wsgi import Response\n"
        "sendfile = Response.sendfile\n"
        "def counted(self, respiter):\n"
        "    sent = sendfile(self, respiter)\n"
        "    print('by sendfile', sent, flush=True)\n"
        "    return sent\n"
        "Response.sendfile = counted\n"
        "def plain(environ, start_response):\n"
        "    start_response('200 OK', [('Content-Length', '70000')])\n"
        "    return environ['wsgi.file_wrapper'](open('content', 'rb'))\n"
        "app = walltime.WSGIMiddleware(plain)\n"
    )
    command = [sys.executable, "-m", "gunicorn", "--bind", "127.0.0.1:0", "--no-control-socket", "files:app"]
    environment = {
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": recorded.endpoint,
        "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path]),
    }
    with Program("gunicorn", tmp_path, command, r"Listening at: http://127\.0\.0\.1:(\d+)", environment) as server:
        assert server.ready is not None
        answer = Client(("127.0.0.1", int(server.ready.group(1)))).ask("/")
    assert answer.endswith(b"content" * 10_000)
    assert "by sendfile True" in server.output()
    assert recorded.transaction().attributes["http.response.status_code"] == 200
