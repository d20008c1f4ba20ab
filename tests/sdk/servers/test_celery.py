"""Celery on real workers and a real broker: a transaction a run, in the trace of who sent it."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import walltime
from shop.process import Program

from tests.redis_server import RedisServer
from tests.sdk.servers import celery_app
from tests.sdk.servers.celery_app import app, fails, ignored, mail, rejected, retries, sends
from tests.sdk.servers.serving import logged_by_walltime
from tests.sdk.sink import Sink

RUNS = 30


@pytest.fixture
def broker(redis_server: RedisServer) -> Iterator[str]:
    """This process sends its tasks there."""
    url = f"redis://127.0.0.1:{redis_server.port}/5"
    before = {name: app.conf[name] for name in ("broker_url", "result_backend")}
    app.conf.update(broker_url=url, result_backend=url)
    celery_app.app._pool = None
    yield url
    app.control.purge()
    app.close()
    app.conf.update(before)


def worker(sink: Sink, broker: str, folder: Path, *options: str) -> Program:
    command = [sys.executable, "-m", "celery", "-A", "tests.sdk.servers.celery_app", "worker", "--without-gossip",
               "--without-mingle", "--without-heartbeat", "--loglevel", "INFO", *options]  # fmt: skip
    environment = {
        "WALLTIME_TEST_REDIS": broker,
        "WALLTIME_TEST_WORKER": "1",
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": sink.endpoint,
        "OTEL_SERVICE_NAME": "worker",
        "OTEL_BSP_SCHEDULE_DELAY": "60000",  # what waits is sent at the end of each process or never
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    server = Program("celery", folder, command, r"celery@\S+ ready", environment)
    # A child of the prefork pool waits up to 30 s for its parent to read its last result, and a parent that is ending
    # sometimes does not read it (billiard/pool.py, `_ensure_messages_consumed`).
    server.stops_within_s = 60
    return server


def outcome(sent: Any, server: Program) -> Any:
    """What became of a task. Not `sent.get()`: that subscribes, and when the server is gone its destructor tries on."""
    deadline_s = time.monotonic() + 60
    while time.monotonic() < deadline_s:
        meta = app.backend.get_task_meta(sent if isinstance(sent, str) else sent.id)
        if meta["status"] in {"SUCCESS", "FAILURE"}:
            return meta["result"]
        time.sleep(0.02)
    waiting = app.broker_connection().default_channel.client.llen("celery")
    pytest.fail(f"{sent} is {meta} after 60 s; {waiting} tasks wait for a worker.{server.log_tail(40)}")


@pytest.mark.parametrize(
    "pool",
    [
        ("--pool", "prefork", "--concurrency", "2"),
        pytest.param(("--pool", "threads", "--concurrency", "2"), marks=pytest.mark.nightly),
    ],
)
def test_every_run_is_a_transaction_in_the_trace_of_its_sender(
    recorded: Sink, broker: str, tmp_path: Path, pool: tuple[str, ...]
) -> None:
    with worker(recorded, broker, tmp_path, *pool) as server:
        with walltime.transaction("GET /order", kind="server") as request:
            sent = [mail.delay(number) for number in range(RUNS)]
            failing = fails.delay()
            others = [retries.delay(), ignored.delay(), rejected.delay(), sends.delay()]
        assert [outcome(each, server) for each in sent] == [f"{number} {request.request_id}" for number in range(RUNS)]
        assert repr(outcome(failing, server)) == "LookupError('mine')"
        assert outcome(others[0], server) == "done"
        assert outcome(outcome(others[3], server), server) == f"7 {request.request_id}"
    assert logged_by_walltime(server.output()) == [], server.output()
    found = [span for span in recorded.transactions() if span.resource["service.name"] == "worker"]
    assert Counter(span.span.name for span in found) == {
        "shop.mail": RUNS + 1, "shop.fails": 1, "shop.retries": 3, "shop.ignored": 1, "shop.rejected": 1,
        "shop.sends": 1,
    }  # fmt: skip
    (sender,) = [span for span in recorded.transactions() if span.span.name == "GET /order"]
    assert sender.cell("celery.publish") == {"calls": RUNS + 5}
    assert {span.span.trace_id for span in found} == {sender.span.trace_id}
    assert all(span.span.kind == span.span.SPAN_KIND_CONSUMER for span in found)
    assert all(span.attributes["walltime.queue_ns"] >= 0 for span in found)
    assert len({span.attributes["messaging.message.id"] for span in found}) == RUNS + 6
    (sending,) = [span for span in found if span.span.name == "shop.sends"]
    parents = Counter(span.span.parent_span_id for span in found if span.span.name == "shop.mail")
    assert parents == {sender.span.span_id: RUNS, sending.span.span_id: 1}
    errors = {span.span.name: span.attributes["error.type"] for span in found if "error.type" in span.attributes}
    assert errors == {"shop.fails": "LookupError", "shop.retries": "Retry"}
    tries = sorted((span for span in found if span.span.name == "shop.retries"), key=attempt)
    assert [attempt(span) for span in tries] == [0, 1, 2]
    assert ["error.type" in span.attributes for span in tries] == [True, True, False]
    assert [span.span.parent_span_id for span in tries] == [
        sender.span.span_id, *[span.span.span_id for span in tries[:2]],
    ]  # fmt: skip
    processes = {span.resource["process.pid"] for span in found}
    assert len(processes) == 1 if pool[1] == "threads" else len(processes) <= 2


def attempt(span: Any) -> int:
    return int(span.attributes.get("celery.retries", 0))


@pytest.mark.nightly
def test_a_child_that_has_run_its_share_of_tasks_sends_them(recorded: Sink, broker: str, tmp_path: Path) -> None:
    with worker(recorded, broker, tmp_path, "--pool", "prefork", "-c", "1", "--max-tasks-per-child", "4") as server:
        for sent in [mail.delay(number) for number in range(12)]:
            outcome(sent, server)
        found = [span for span in recorded.wait_for(8) if span.resource["service.name"] == "worker"]
        assert {span.span.name for span in found} == {"shop.mail"}
    found = [span for span in recorded.transactions() if span.resource["service.name"] == "worker"]
    assert Counter(Counter(span.resource["process.pid"] for span in found).values()) == {4: 3}


@pytest.mark.nightly
def test_who_sends_outside_of_a_transaction_begins_no_trace_for_the_task(
    recorded: Sink, broker: str, tmp_path: Path
) -> None:
    with worker(recorded, broker, tmp_path, "--pool", "solo") as server:
        assert outcome(mail.delay(1), server).startswith("1 ")
    (found,) = [span for span in recorded.transactions() if span.resource["service.name"] == "worker"]
    assert found.span.parent_span_id == b""
    assert found.attributes["walltime.queue_ns"] >= 0
    assert found.cell("smtp") == {"calls": 1}


def test_a_task_that_runs_at_once_is_a_component_of_who_sent_it_and_alone_a_transaction(recorded: Sink) -> None:
    with walltime.transaction("GET /order"):
        assert mail.apply(args=(3,)).get().startswith("3 ")
        assert fails.apply().failed()
    assert mail(3).startswith("3 "), "called as a function it is a function"
    mail.apply(args=(4,))
    request, alone = recorded.transactions()
    assert request.cell("shop.mail") == {"calls": 1}
    assert request.cell("shop.fails") == {"calls": 1, "errors": 1}
    assert request.cell("smtp") == {"calls": 1}
    assert (alone.span.name, alone.span.kind) == ("shop.mail", alone.span.SPAN_KIND_CONSUMER)
