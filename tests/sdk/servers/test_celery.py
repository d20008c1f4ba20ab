"""Celery on real workers and a real broker: a transaction a run, in the trace of who sent it."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
import walltime
from celery import beat, chain, chord, group
from celery.schedules import schedule
from shop.process import Program
from walltime.servers.jobs import celery

from tests.redis_server import RedisServer
from tests.sdk.servers import celery_app
from tests.sdk.servers.celery_app import add, app, fails, ignored, later, mail, rejected, replaced, retries, sends
from tests.sdk.servers.serving import logged_by_walltime
from tests.sdk.sink import Received, Sink
from tests.servers import eventually

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


def worker(sink: Sink, broker: str, folder: Path, *options: str, delay_ms: int = 60_000) -> Program:
    """By default, what waits is sent at the end of each process or never."""
    command = [sys.executable, "-m", "celery", "-A", "tests.sdk.servers.celery_app", "worker", "--without-gossip",
               "--without-mingle", "--without-heartbeat", "--loglevel", "INFO", *options]  # fmt: skip
    environment = {
        "WALLTIME_TEST_REDIS": broker,
        "WALLTIME_TEST_WORKER": "1",
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": sink.endpoint,
        "OTEL_SERVICE_NAME": "worker",
        "OTEL_BSP_SCHEDULE_DELAY": str(delay_ms),
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


def soon() -> datetime:
    return datetime.now(timezone.utc) + timedelta(seconds=0.5)


def of_worker(sink: Sink) -> list[Received]:
    return [span for span in sink.transactions() if span.resource["service.name"] == "worker"]


WAYS: dict[str, tuple[Callable[[], Any], int]] = {
    "apply_async": (lambda: add.apply_async((1, 2)), 1),
    "send_task": (lambda: app.send_task("shop.add", (1, 2)), 1),
    "signature": (lambda: add.s(1, 2).set(priority=3).delay(), 1),
    "group": (lambda: group(add.s(1, number) for number in range(3)).apply_async(), 3),
    "chain": (lambda: chain(add.s(1, 2), add.s(3), add.s(4)).apply_async(), 3),
    "chord": (lambda: chord([add.s(1, 2), add.s(3, 4)])(add.s()), 3),
    "link": (lambda: add.apply_async((1, 2), link=add.s(3)), 2),
    "link_error": (lambda: fails.apply_async(link_error=mail.si(3)), 2),
    "countdown": (lambda: add.apply_async((1, 2), countdown=0.5), 1),
    "eta": (lambda: add.apply_async((1,), eta=soon()), 1),
    "overdue": (lambda: add.apply_async((1,), eta=datetime(2026, 1, 1, tzinfo=timezone.utc)), 1),
    "retry": (later.delay, 2),
    "replace": (replaced.delay, 2),
}
"""How a task is sent → the runs of it."""


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore:Call to deprecated setex")  # by Celery, for a chord
def test_every_way_to_send_a_task_keeps_its_trace_and_waiting_until_it_is_due_is_no_queue_time(
    recorded: Sink, broker: str, tmp_path: Path
) -> None:
    senders: dict[str, str] = {}
    began_ns = time.time_ns()
    with worker(recorded, broker, tmp_path, "--pool", "solo", delay_ms=50):
        for way, (send, _) in WAYS.items():
            with walltime.transaction(way, kind="server") as request:
                send()
                senders[request.request_id] = way
        scheduler = beat.Scheduler(app, lazy=True)
        entry = scheduler.Entry(name="each hour", task="shop.add", schedule=schedule(3600), args=(1,), app=app)
        scheduler.apply_async(entry, advance=False)
        count = sum(count for _, count in WAYS.values()) + 1
        eventually(lambda: len(of_worker(recorded)) == count)
    found = of_worker(recorded)
    runs: dict[str, list[Any]] = {}
    for span in found:
        runs.setdefault(senders.get(span.span.trace_id.hex(), "by nobody"), []).append(span)
    assert {way: len(each) for way, each in runs.items()} == {
        "by nobody": 1, **{way: count for way, (_, count) in WAYS.items()},
    }  # fmt: skip
    (of_beat,) = runs.pop("by nobody")
    assert of_beat.span.parent_span_id == b""
    assert of_beat.attributes["walltime.queue_ns"] >= 0
    assert all(span.span.parent_span_id for span in found if span is not of_beat)
    for span in found:
        way = senders.get(span.span.trace_id.hex(), "")
        is_later = way in {"countdown", "eta"} or (way == "retry" and attempt(span))
        longest_ns = span.span.start_time_unix_nano - began_ns - (500_000_000 if is_later else 0)
        assert 0 <= span.attributes["walltime.queue_ns"] <= longest_ns, way


@pytest.mark.parametrize(
    ("eta", "ready_at_ns"),
    [(None, 5), ("1970-01-01T00:00:01+00:00", 10**9), ("1969-12-31T00:00:00Z", 5), ("tomorrow", 5)],
)
def test_a_task_is_ready_when_it_is_sent_and_due(eta: str | None, ready_at_ns: int) -> None:
    assert celery._ready_at_ns({"walltime-sent-at-ns": 5, "eta": eta}) == ready_at_ns
    assert celery._ready_at_ns({"eta": None}) is None


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
