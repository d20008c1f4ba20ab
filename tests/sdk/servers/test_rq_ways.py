"""Every way to enqueue a job of RQ: the run is in its sender's trace, and waiting until it is due is no queue time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
import redis
import rq.scheduler
import walltime
from rq import Queue, Repeat, Retry, SimpleWorker
from rq.cron import CronScheduler
from rq.job import Dependency, Job
from rq.scheduler import RQScheduler

from tests.redis_server import RedisServer
from tests.sdk.servers import rq_jobs
from tests.sdk.sink import Received, Sink

LATER_S = 3600
LONG_AGO = datetime(2026, 1, 1, tzinfo=timezone.utc)


def ran(sink: Sink) -> list[Received]:
    return [span for span in sink.transactions() if span.span.kind == span.span.SPAN_KIND_CONSUMER]


def assert_sent_by(sink: Sink, name: str, runs: list[Received]) -> None:
    (sender,) = [span for span in sink.transactions() if span.span.name == name]
    assert {(each.span.trace_id, each.span.parent_span_id) for each in runs} == {
        (sender.span.trace_id, sender.span.span_id)
    }


@pytest.fixture
def queue(redis_server: RedisServer) -> Iterator[Queue]:
    connection = redis.Redis(port=redis_server.port, db=7)
    connection.flushdb()
    yield Queue(connection=connection)
    connection.flushdb()
    connection.close()


def job(queue: Queue, **options: Any) -> Job:
    return Job.create(rq_jobs.mail, args=(1,), connection=queue.connection, **options)


def in_an_hour() -> datetime:
    return datetime.now(timezone.utc) + timedelta(seconds=LATER_S)


def prepared(count: int, **options: Any) -> list[Any]:
    return [Queue.prepare_data(rq_jobs.mail, (number,), **options) for number in range(count)]


def with_dependency(queue: Queue) -> None:
    first = queue.enqueue(rq_jobs.mail, 1)
    queue.enqueue(rq_jobs.mail, 2, depends_on=first)
    queue.enqueue_call(rq_jobs.mail, (3,), depends_on=Dependency([first], allow_failure=True))
    queue.enqueue_many(prepared(2, depends_on=first))


WAYS: dict[str, tuple[Callable[[Queue], object], int]] = {
    "enqueue": (lambda queue: queue.enqueue(rq_jobs.mail, 1), 1),
    "enqueue_call": (lambda queue: queue.enqueue_call(rq_jobs.mail, (1,)), 1),
    "enqueue_many": (lambda queue: queue.enqueue_many(prepared(3)), 3),
    "enqueue_in": (lambda queue: queue.enqueue_in(timedelta(seconds=LATER_S), rq_jobs.mail, 1), 1),
    "enqueue_at": (lambda queue: queue.enqueue_at(in_an_hour(), rq_jobs.mail, 1), 1),
    "enqueue_at, overdue": (lambda queue: queue.enqueue_at(LONG_AGO, rq_jobs.mail, 1), 1),
    "enqueue_job": (lambda queue: queue.enqueue_job(job(queue)), 1),
    "create_job": (lambda queue: queue.enqueue_job(queue.create_job(rq_jobs.mail, args=(1,))), 1),
    "schedule_job": (lambda queue: queue.schedule_job(job(queue), in_an_hour()), 1),
    "dependency": (with_dependency, 5),
    "retry": (lambda queue: queue.enqueue(rq_jobs.fails, retry=Retry(max=2)), 3),
    "retry later": (lambda queue: queue.enqueue(rq_jobs.fails, retry=Retry(max=1, interval=LATER_S)), 2),
    "repeat": (lambda queue: queue.enqueue(rq_jobs.mail, 1, repeat=Repeat(times=2)), 3),
    "repeat later": (lambda queue: queue.enqueue(rq_jobs.mail, 1, repeat=Repeat(times=1, interval=LATER_S)), 2),
}  # fmt: skip

SCHEDULED = {"enqueue_in", "enqueue_at", "enqueue_at, overdue", "schedule_job"}


def work(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Run what waits and what is scheduled; return when the scheduler began each time, as Unix times in ns."""
    began = []
    scheduler: Any = RQScheduler([queue], connection=queue.connection)
    scheduler.acquire_locks()
    for _ in range(4):
        SimpleWorker([queue], connection=queue.connection).work(burst=True, logging_level="CRITICAL")
        with monkeypatch.context() as patched:
            patched.setattr(rq.scheduler, "current_timestamp", lambda: round(time.time()) + 2 * LATER_S)
            time.sleep(0.01)
            began.append(time.time_ns())
            scheduler.enqueue_scheduled_jobs()
    scheduler.release_locks()
    return began


def test_a_job_of_rq_is_in_the_trace_of_its_sender(
    recorded: Sink, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    senders = {}
    for way, (send, _) in WAYS.items():
        with walltime.transaction(way, kind="server") as request:
            send(queue)
            senders[request.request_id] = way
    sent_ns = time.time_ns()
    began_ns = work(queue, monkeypatch)
    runs: dict[str, list[Received]] = {way: [] for way in WAYS}
    for each in ran(recorded):
        runs[senders[each.span.trace_id.hex()]].append(each)
    assert {way: len(found) for way, found in runs.items()} == {way: count for way, (_, count) in WAYS.items()}
    for way, found in runs.items():
        assert_sent_by(recorded, way, found)
        for number, each in enumerate(found):
            started_ns, queue_ns = each.span.start_time_unix_nano, each.attributes["walltime.queue_ns"]
            ready_ns = max((moment for moment in began_ns if moment < started_ns), default=0)
            is_scheduled = way in SCHEDULED or (way.endswith("later") and number > 0)
            assert not is_scheduled or ready_ns > sent_ns
            assert not is_scheduled or queue_ns <= started_ns - ready_ns + 1_000_000, "only since it was due"


def test_the_metadata_of_the_application_stays_its_own(recorded: Sink, queue: Queue) -> None:
    meta = {"tenant": 7}
    with walltime.transaction("GET /order"):
        jobs = queue.enqueue_many(prepared(2, meta=meta))
        queue.enqueue(rq_jobs.mail, 1, meta=meta)
    assert meta == {"tenant": 7}
    assert [each.meta["tenant"] for each in jobs] == [7, 7]


def test_a_job_of_cron_begins_a_trace_and_has_a_queue_time(
    recorded: Sink, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    cron = CronScheduler(queue.connection)
    cron.register(rq_jobs.mail, queue.name, args=(1,), interval=LATER_S)
    cron.enqueue_jobs()
    work(queue, monkeypatch)
    (found,) = ran(recorded)
    assert found.span.parent_span_id == b""
    assert found.attributes["walltime.queue_ns"] >= 0
