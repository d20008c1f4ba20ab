"""RQ on real workers and a real Redis, and plain jobs by decorator."""

from __future__ import annotations

import asyncio
import inspect
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
import walltime
from rq import Queue, Retry, SimpleWorker

from tests.redis_server import RedisServer
from tests.sdk.servers import rq_jobs
from tests.sdk.sink import Sink

RUNS = 5


@pytest.fixture
def connection(redis_server: RedisServer) -> Iterator[redis.Redis]:
    connection = redis.Redis(port=redis_server.port, db=6)
    connection.flushdb()
    yield connection
    connection.flushdb()
    connection.close()


def work(sink: Sink, redis_server: RedisServer, folder: Path, **environment: str) -> None:
    """A worker in a process of its own, which makes one for every job, until there is none left."""
    (folder / "settings_of_worker.py").write_text("import walltime\nwalltime.instrument()\n")
    url = f"redis://127.0.0.1:{redis_server.port}/6"
    command = [sys.executable, "-m", "rq.cli", "worker", "--burst", "--url", url, "-c", "settings_of_worker"]
    ran = subprocess.run(
        command,
        env={
            **os.environ,
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": sink.endpoint,
            "OTEL_SERVICE_NAME": "worker",
            "OTEL_BSP_SCHEDULE_DELAY": "60000",  # what waits is sent at the end of each process or never
            "PYTHONPATH": os.pathsep.join([str(folder), *sys.path]),
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert "application was not touched" not in ran.stderr, ran.stderr  # what we say of a failure of our own


def of_worker(sink: Sink) -> list[Any]:
    return [span for span in sink.transactions() if span.resource["service.name"] == "worker"]


def test_every_run_is_a_transaction_sent_before_its_process_ends_in_the_trace_of_its_sender(
    recorded: Sink, redis_server: RedisServer, connection: redis.Redis, tmp_path: Path
) -> None:
    queue = Queue(connection=connection)
    with walltime.transaction("GET /order", kind="server") as request:
        jobs = [queue.enqueue(rq_jobs.mail, number) for number in range(RUNS)]
        job = queue.enqueue(rq_jobs.later, 7)
        failing = queue.enqueue(rq_jobs.fails, retry=Retry(max=1))
    alone = queue.enqueue(rq_jobs.mail, 8)
    work(recorded, redis_server, tmp_path)
    assert [each.return_value() for each in [*jobs, job]] == [
        f"{number} {request.request_id}" for number in [*range(RUNS), 7]
    ]
    assert failing.get_status(refresh=True) == "failed"
    (sender,) = [span for span in recorded.transactions() if span.span.name == "GET /order"]
    found = of_worker(recorded)
    assert Counter(span.span.name for span in found) == {
        "tests.sdk.servers.rq_jobs.mail": RUNS + 1,
        "tests.sdk.servers.rq_jobs.later": 1,
        "tests.sdk.servers.rq_jobs.fails": 2,
    }
    assert all(span.span.kind == span.span.SPAN_KIND_CONSUMER for span in found)
    assert all(span.attributes["walltime.queue_ns"] >= 0 for span in found)
    assert len({span.resource["process.pid"] for span in found}) == RUNS + 4, "a process for every run"
    (by_nobody,) = [span for span in found if span.attributes["messaging.message.id"] == alone.id]
    assert by_nobody.span.parent_span_id == b""
    for span in found:
        assert span.attributes.get("error.type", "") == ("LookupError" if "fails" in span.span.name else "")
        assert "fails" in span.span.name or span.cell("smtp") == {"calls": 1}
        if span is not by_nobody:
            assert (span.span.trace_id, span.span.parent_span_id) == (sender.span.trace_id, sender.span.span_id)
    (asynchronous,) = [span for span in found if "later" in span.span.name]
    assert "walltime.cpu_user_ns" in asynchronous.attributes, "its loop runs nothing else"


def test_a_dead_collector_does_not_fail_the_jobs(
    sink: Sink, redis_server: RedisServer, connection: redis.Redis, tmp_path: Path
) -> None:
    job = Queue(connection=connection).enqueue(rq_jobs.mail, 1)
    work(sink, redis_server, tmp_path, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="http://127.0.0.1:9/v1/traces")
    assert str(job.return_value()).startswith("1 ")


def test_a_worker_that_stays_goes_on_sending(recorded: Sink, connection: redis.Redis) -> None:
    queue = Queue(connection=connection)
    for number in range(2):
        queue.enqueue(rq_jobs.mail, number)
        SimpleWorker([queue], connection=connection).work(burst=True, logging_level="CRITICAL")
    assert [span.span.name for span in recorded.transactions()] == ["tests.sdk.servers.rq_jobs.mail"] * 2


def test_a_job_that_runs_at_once_is_a_component_of_who_sent_it(recorded: Sink, connection: redis.Redis) -> None:
    queue = Queue(connection=connection, is_async=False)
    with walltime.transaction("GET /order"):
        queue.enqueue(rq_jobs.mail, 1)
    found = recorded.transaction()
    assert found.cell("tests.sdk.servers.rq_jobs.mail") == {"calls": 1}
    assert found.cell("smtp") == {"calls": 1}


# ---- plain jobs by decorator ----


def test_a_decorated_function_is_a_job(recorded: Sink) -> None:
    @walltime.transaction("send newsletter", kind="consumer")
    def send(to: str) -> str:
        return to

    @walltime.transaction("send newsletter, too", kind="consumer")
    async def send_too(to: str) -> str:
        with walltime.component("smtp"):
            await asyncio.sleep(0)
        if not to:
            raise LookupError("mine")
        return to

    async def two_at_once() -> list[str]:
        return list(await asyncio.gather(send_too("b"), send_too("c")))

    assert send("a") == "a"
    assert asyncio.run(two_at_once()) == ["b", "c"]
    with pytest.raises(LookupError, match="mine"):
        asyncio.run(send_too(""))
    found = recorded.transactions()
    assert [span.span.name for span in found] == ["send newsletter", *["send newsletter, too"] * 3]
    assert {span.span.kind for span in found} == {found[0].span.SPAN_KIND_CONSUMER}
    assert len({span.span.trace_id for span in found}) == 4
    assert ["walltime.cpu_user_ns" in span.attributes for span in found] == [True, False, False, False]
    assert [span.cell("smtp") for span in found[1:]] == [{"calls": 1}] * 3
    assert found[3].attributes["error.type"] == "LookupError"


def test_a_decorated_coroutine_function_stays_one_and_its_component_lasts_until_it_is_done(recorded: Sink) -> None:
    @walltime.component("slow")
    async def slow() -> int:
        await asyncio.sleep(0)
        with walltime.component("inner"):
            return 7

    async def job() -> int:
        with walltime.transaction("job"):
            return await slow()

    assert inspect.iscoroutinefunction(slow)
    assert asyncio.run(job()) == 7
    (outer,), (inner,) = recorded.calls("slow"), recorded.calls("inner")
    assert outer.span.start_time_unix_nano <= inner.span.start_time_unix_nano
    assert outer.attributes["walltime.own_ns"] == outer.duration_ns - inner.duration_ns
