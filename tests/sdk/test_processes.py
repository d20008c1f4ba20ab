"""Processes and their servers: one transaction for each request, none lost at a graceful stop, no hang."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from shop.process import Program

from tests.by_day import by_day
from tests.sdk.gunicorn_program import ALARM_S, GUNICORN, READY, ask
from tests.sdk.run_program import PROGRAMS, RUN, environment
from tests.sdk.sink import Sink

REQUESTS = 40
UVICORN = ("uvicorn", "--port", "0", "--log-level", "info")

SERVERS: dict[str, tuple[str, ...]] = {
    f"gunicorn {worker}{' preload' if preload else ''}": (
        *GUNICORN, "--worker-class", worker, *(["--threads", "4"] if worker == "gthread" else []),
        *(["--preload"] if preload else []), "web:app",
    )
    for worker in ("sync", "gthread", "gevent")
    for preload in (False, True)
}  # fmt: skip
SERVERS |= {
    "gunicorn that recycles its workers": (*GUNICORN, "--worker-class", "sync", "--max-requests", "5", "web:app"),
    "gunicorn asgi": (*GUNICORN, "--worker-class", "asgi", "web:asgi"),
    "uwsgi": (
        "uwsgi", "--http-socket", "127.0.0.1:0", "--master", "--processes", "2", "--die-on-term", "--need-app",
        "--virtualenv", sys.prefix, "--module", "web_known:app",
    ),
    "uvicorn": (*UVICORN, "web:asgi"),
    "uvicorn with workers": (*UVICORN, "--workers", "2", "web:asgi"),
    "uvicorn wsgi": (*UVICORN, "--interface", "wsgi", "web:app"),
}  # fmt: skip
QUICK = ["gunicorn sync", "gunicorn gthread preload", "gunicorn gevent", "uvicorn with workers"]


@pytest.mark.parametrize(
    "names",
    [QUICK, *(pytest.param([name], marks=pytest.mark.nightly) for name in SERVERS)],
    ids=lambda names: names[0] if len(names) == 1 else "quick",
)
def test_each_request_is_one_transaction_and_none_is_lost_at_a_graceful_stop(
    sink: Sink, tmp_path: Path, names: list[str]
) -> None:
    if names == ["uwsgi"] and shutil.which("uwsgi") is None:
        pytest.skip("uwsgi is not installed: pip install uwsgi")

    def serve(name: str) -> Counter[str]:
        """Process id → requests it has answered."""
        variables = environment(
            OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=sink.endpoint, OTEL_SERVICE_NAME=name, PYTHONPATH=str(PROGRAMS),
            OTEL_BSP_SCHEDULE_DELAY="60000",  # what is sent is sent at the stop
        )  # fmt: skip
        server = Program(name.replace(" ", "-"), tmp_path / name, [RUN, *SERVERS[name]], READY, variables)
        server.stops_within_s = ALARM_S
        with server, ThreadPoolExecutor(4) as clients:
            assert server.ready is not None
            port = server.ready.group(1)
            answers = clients.map(lambda n: ask(f"http://127.0.0.1:{port}/{n}"), range(REQUESTS))
            return Counter(answers)

    with ThreadPoolExecutor(len(names)) as together:
        served = dict(zip(names, together.map(serve, names), strict=True))
    found = sink.transactions()
    assert len({span.span.span_id for span in found}) == len(found)
    assert len({span.span.trace_id for span in found}) == len(found)
    for name, answered in served.items():
        sent = Counter(str(span.resource["process.pid"]) for span in found if span.resource["service.name"] == name)
        assert sent == answered, name
        assert sent.total() == REQUESTS


@pytest.mark.parametrize(
    ("method", "children"),
    by_day(
        [("os.fork", 4), ("fork", 4), ("spawn", 2), ("forkserver", 2), ("fork in C", 4), ("pool", 40)],
        4,
    ),
)
def test_children_send_their_own_and_only_their_own(sink: Sink, method: str, children: int) -> None:
    subprocess.run(
        [RUN, sys.executable, str(PROGRAMS / "forks.py"), method, str(children)],
        env=environment(OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=sink.endpoint),
        timeout=ALARM_S,
        check=True,
    )
    found = sink.transactions()
    expected = {"parent": 1, "around": 1, "child": children}
    if method == "os.fork":
        expected |= {"left by two": 1, "child": children + 1}
    assert Counter(span.span.name for span in found) == expected
    assert len({span.span.trace_id for span in found}) == len({span.span.span_id for span in found}) == len(found)
    (around,) = [span for span in found if span.span.name == "around"]
    assert around.cell("children") == {"calls": 1}
    assert around.cell("step") == {}, "what a child does is its own"


@pytest.mark.parametrize("order", ["before", "after", "after a transaction"])
def test_gevent_may_patch_before_or_after(sink: Sink, order: str) -> None:
    found = subprocess.run(
        [sys.executable, str(PROGRAMS / "monkey.py"), order],
        env=environment(OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=sink.endpoint, OTEL_BSP_SCHEDULE_DELAY="1000"),
        capture_output=True,
        text=True,
        timeout=ALARM_S,
        check=False,
    )
    sent = 200 + (order == "after a transaction")
    assert (found.returncode, found.stdout) == (0, f"{sent}\n"), found.stderr
    if order != "after a transaction":  # else gevent itself complains of threads that were there before it
        assert found.stderr == ""
    jobs = [span for span in sink.transactions() if span.span.name == "job"]
    assert len(jobs) == 200
    for job in jobs:
        assert job.cell("step") == {"calls": 4}
        assert job.attributes["walltime.covered_ns"] <= job.duration_ns
        assert "walltime.cpu_user_ns" not in job.attributes, "greenlets share a thread"
