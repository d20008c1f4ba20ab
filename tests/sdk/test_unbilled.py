"""A process that makes calls and opens no transaction says so: in its log, and to the collector."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import walltime
from walltime import runtime
from walltime.servers.unsupported import HOSTS, REMEDIES, UNSUPPORTED

from tests.sdk.clients.http.upstream import Upstream
from tests.sdk.gunicorn_program import ask
from tests.sdk.run_program import PROGRAMS, RUN, environment
from tests.sdk.sink import Sink, attributes_of

SAID = "calls were made outside of any transaction, so they are on no bill; "


@contextmanager
def program(kind: str, upstream: Upstream, sink: Sink, log: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process and the address of its server."""
    variables = environment(OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=sink.endpoint, OTEL_SERVICE_NAME=kind)
    command = [RUN, "python", "unsupported.py", kind, upstream.url]
    with (
        log.open("w") as errors,
        subprocess.Popen(command, cwd=PROGRAMS, env=variables, stdout=subprocess.PIPE, stderr=errors, text=True) as run,
    ):
        try:
            assert run.stdout is not None
            yield run, f"http://127.0.0.1:{int(run.stdout.readline())}/"
        finally:
            run.terminate()


def reported(sink: Sink, counter: str) -> dict[str, Any]:
    """The resource and the counters of the first request that has this counter."""
    deadline_s = time.monotonic() + 60
    while time.monotonic() < deadline_s:
        for request in sink.requests.copy():
            for resource in request.resource_spans:
                about = attributes_of(resource.scope_spans[0].scope.attributes)
                if counter in about:
                    assert not resource.scope_spans[0].spans
                    return {**attributes_of(resource.resource.attributes), **about}
        time.sleep(0.02)
    raise AssertionError(f"no {counter} in {len(sink.requests)} requests")


@pytest.mark.parametrize(
    ("kind", "counter", "remedy"),
    [
        ("forked", "wsgi.bottle", "none in Bottle: app = walltime.WSGIMiddleware(app)"),
        ("tornado", "handler.tornado.web", 'none in Tornado: with walltime.transaction("GET /product/{id}", '),
        ("script", "calls", "put the program's work into `with walltime.transaction(name):`"),
        *(
            pytest.param(*case, marks=pytest.mark.nightly)
            for case in [
                ("bottle", "wsgi.bottle", "none in Bottle: app = walltime.WSGIMiddleware(app)"),
                ("waitress", "wsgi.waitress", "none in waitress: app = walltime.WSGIMiddleware(app)"),
                ("library", "calls", "put the program's work into `with walltime.transaction(name):`"),
            ]
        ),
    ],
    ids=lambda each: each if each.isidentifier() else "",
)
def test_a_process_without_transactions_says_once_what_opens_them_in_its_framework(
    kind: str, counter: str, remedy: str, upstream: Upstream, sink: Sink, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    with program(kind, upstream, sink, log) as (running, url):
        if kind not in ("script", "library"):
            assert [ask(url) for _ in range(4)] == ["called"] * 4
            assert "walltime" not in log.read_text()  # they may be those of a start
            assert [ask(url) for _ in range(8)] == ["called"] * 8
        about = reported(sink, f"walltime.outside.{counter}")
        running.kill()
    said = [line for line in log.read_text().splitlines() if SAID in line]
    assert len(said) == 1
    assert f"walltime: 100 {SAID}" in said[0]
    assert remedy in said[0]
    assert about["service.name"] == kind
    assert about[f"walltime.outside.{counter}"] >= 100


@pytest.mark.parametrize("kind", ["master", "lifespan"])
def test_what_a_server_does_before_its_first_request_is_normal_and_a_fork_begins_at_zero(
    kind: str, upstream: Upstream, sink: Sink, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    with program(kind, upstream, sink, log) as (running, url):
        assert ask(url) == "called"
        (transaction,) = sink.wait_for(1)
        running.terminate()
        running.wait(60)
    assert transaction.cell("http.request")["calls"] == 10
    assert SAID not in log.read_text()
    counted = [attributes_of(one.resource_spans[0].scope_spans[0].scope.attributes) for one in sink.requests]
    # Nothing is lost, and the calls of a main process are not its worker's.
    assert counted == [{} if kind == "master" else {"walltime.outside.calls": 240}]


def test_a_process_with_transactions_stays_one_when_it_is_configured_again(recorded: Sink) -> None:
    assert not runtime.exporter().is_used
    with walltime.transaction("job"):
        pass
    assert runtime.exporter().is_used
    walltime.configure(endpoint=recorded.endpoint)
    assert runtime.exporter().is_used


def test_every_kind_of_program_has_a_remedy() -> None:
    assert {each.kind for each in UNSUPPORTED.values()} == set(REMEDIES)
    assert set(HOSTS) <= set(REMEDIES)
