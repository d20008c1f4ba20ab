"""`walltime.check()` and `walltime-run --check`: what is measured in a process, what is not and why."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pymysql.cursors
import pytest
import walltime
from walltime.core.transaction import outside_calls
from walltime.instrumentation import libraries
from walltime.self_check import MEASURED, NOT_MEASURED, WAITING, LibraryCheck

from tests.sdk.run_program import RUN, environment
from tests.sdk.sink import Sink


@pytest.fixture
def nothing_instrumented() -> Iterator[None]:
    walltime.uninstrument()
    yield
    walltime.uninstrument()


def library(name: str) -> LibraryCheck:
    return next(each for each in walltime.check().libraries if each.name == name)


@pytest.mark.usefixtures("nothing_instrumented")
def test_a_library_is_measured_once_it_is_instrumented() -> None:
    before = library("pymysql")
    assert (before.state, before.version) == (NOT_MEASURED, version("pymysql"))
    assert "walltime.instrument()" in before.reason
    walltime.instrument("pymysql")
    assert (library("pymysql").state, library("pymysql").reason) == (MEASURED, "")
    assert library("pymemcache").state == NOT_MEASURED


@pytest.mark.usefixtures("nothing_instrumented")
def test_a_library_that_is_not_as_expected_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(pymysql.cursors.Cursor, "execute")
    walltime.instrument("pymysql")
    refused = library("pymysql")
    assert refused.state == NOT_MEASURED
    assert "Cursor has no method execute" in refused.reason
    assert "PyMySQL >=" in refused.reason
    monkeypatch.undo()
    walltime.uninstrument("pymysql")
    walltime.instrument("pymysql")
    assert library("pymysql").state == MEASURED


def test_the_collector_is_asked() -> None:
    with Sink() as sink:
        walltime.configure(service_name="shop", endpoint=sink.endpoint)
        report = walltime.check()
        assert report.collector == f"{sink.endpoint} answers"
        assert not [each for each in report.problems if "collector" in each or "name" in each]
    report = walltime.check(timeout_s=0.5)
    assert "does not answer (ConnectionRefusedError" in report.collector
    assert "bills do not arrive at the collector" in report.problems


def test_calls_outside_of_any_transaction_are_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(outside_calls, "pymysql", 7)
    assert "which are on no bill: pymysql 7" in str(walltime.check(timeout_s=0.1))


def run(*arguments: str, cwd: Path, **more: str) -> subprocess.CompletedProcess[str]:
    command = [RUN, "--check", *arguments]
    return subprocess.run(
        command, cwd=cwd, env=environment(**more), capture_output=True, text=True, timeout=60, check=False
    )


def test_walltime_run_says_what_an_application_would_have_measured(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text("import flask, pymysql, psycopg\n")
    (tmp_path / "psycopg.py").write_text("")
    with Sink() as sink:
        more = {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": sink.endpoint, "OTEL_SERVICE_NAME": "shop"}
        checked = run("shop", cwd=tmp_path, **more)
    measured, rest = checked.stdout.split("\nmeasured once imported\n")
    waiting, not_measured = rest.split("\nnot measured\n")
    assert "  flask " in measured
    assert "  pymysql " in measured
    assert "  django " in waiting
    assert "opentelemetry-instrumentation-psycopg" in not_measured
    assert (checked.returncode, checked.stderr) == (1, "")
    assert WAITING in checked.stdout


@pytest.mark.nightly  # imports them all
def test_without_a_module_every_installed_library_is_tried(tmp_path: Path) -> None:
    checked = run(cwd=tmp_path, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="http://127.0.0.1:9/v1/traces")
    assert checked.returncode == 1
    for name in libraries.LIBRARIES:
        assert f"\n  {name}" in checked.stdout.split("\ncollector")[0]
    waiting = checked.stdout.partition(f"\n{WAITING}\n")[2].partition("\n\n")[0]
    assert [line.split()[0] for line in waiting.splitlines()] == ["rest_framework"]  # needs a project's settings
    assert "rest_framework.views cannot be imported: ImproperlyConfigured" in checked.stderr
    assert "the service has no name" in checked.stdout


def test_a_module_that_cannot_be_imported_is_named(tmp_path: Path) -> None:
    checked = run("no_such_shop", cwd=tmp_path)
    assert checked.returncode == 1
    assert "no_such_shop cannot be imported: ModuleNotFoundError" in checked.stderr
    assert sys.version.split()[0] in checked.stdout


BOTTLE = "import bottle, waitress\napp = bottle.default_app()\n"


@pytest.mark.parametrize(
    ("application", "bottle", "status"),
    [
        (BOTTLE, (NOT_MEASURED, "no transaction is opened in it: app = walltime.WSGIMiddleware(app)"), 1),
        (
            BOTTLE + "from walltime import (\n  WSGIMiddleware,\n)\napp = WSGIMiddleware(app)",
            (MEASURED, "by the transactions of shop"),
            0,
        ),
        ("import flask, waitress", ("", ""), 0),
        ("def app(environ, start_response): ...", ("", ""), 1),
        *(
            pytest.param(*case, marks=pytest.mark.nightly)
            for case in [
                (BOTTLE + "import gunicorn.app.base", (MEASURED, "by gunicorn; name its requests by "), 1),  # waitress
                ("import tornado.web", ("", ""), 1),
                ("import wsgiref.simple_server", ("", ""), 0),
            ]
        ),
    ],
    ids=["bare", "wrapped", "of a framework that opens them", "plain WSGI", "hosted", "tornado", "on a known server"],
)
def test_a_framework_in_which_nothing_opens_a_transaction_is_not_measured(
    application: str, bottle: tuple[str, str], status: int, tmp_path: Path
) -> None:
    (tmp_path / "shop.py").write_text(application)
    with Sink() as sink:
        more = {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": sink.endpoint, "OTEL_SERVICE_NAME": "shop"}
        checked = run(*(["shop:app"] if "app" in application else ["./shop.py"]), cwd=tmp_path, **more)
    state, reason = bottle
    section = checked.stdout.partition(f"\n{state}\n")[2].partition("\n\n")[0]
    assert not state or any(line.startswith("  bottle ") and reason in line for line in section.splitlines())
    assert ("  tornado.web " in checked.stdout) == ("tornado" in application)
    assert ("nothing that was imported opens transactions" in checked.stdout) == ("environ" in application)
    assert (checked.returncode, checked.stderr) == (status, ""), checked.stdout
