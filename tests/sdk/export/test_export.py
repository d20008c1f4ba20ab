"""The exporter in every state of the collector, across forks and at exit: bounded, counted, never in the way."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest
import walltime
from pymemcache.client.base import Client
from shop.services import Memcached
from walltime import runtime
from walltime.core import transaction as transaction_module
from walltime.export import exporter, sender

from tests.sdk.sink import Sink, attributes_of


def work(n: int = 1, name: str = "job") -> None:
    for _ in range(n):
        with walltime.transaction(name), walltime.component("step"):
            pass


def test_requests_are_let_in_while_many_transactions_are_added_up(sink: Sink) -> None:
    walltime.configure(endpoint=sink.endpoint, export_delay_s=60)
    work(500)
    waiting = runtime.exporter()._queue
    seen = set()
    interval_s = sys.getswitchinterval()
    sys.setswitchinterval(60)  # the interpreter is not taken from who does not let it go
    try:
        runtime.exporter()._thread.wake()
        while waiting:
            time.sleep(0)
            seen.add(len(waiting))
    finally:
        sys.setswitchinterval(interval_s)
    assert len(seen) > 5


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A server that accepts and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:
        yield server.getsockname()[1]


@pytest.fixture
def refusing_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def test_every_transaction_arrives_once(sink: Sink) -> None:
    walltime.configure(endpoint=sink.endpoint)
    work(1500)
    assert len(sink.transactions()) == 1500
    assert walltime.counters()["sent"] == 1500


def test_compressed_when_asked(sink: Sink) -> None:
    walltime.configure(endpoint=sink.endpoint, gzip=True)
    work(3)
    assert len(sink.transactions()) == 3


@pytest.mark.setting("max_queue")
def test_a_full_queue_loses_the_newest_and_counts_them(silent_port: int) -> None:
    walltime.configure(endpoint=f"http://127.0.0.1:{silent_port}/v1/traces", max_queue=10, timeout_s=30)
    work(1)
    assert not walltime.flush(0.2), "the exporter waits for the silent server"
    work(25)
    assert walltime.counters()["lost_queue_full"] == 15


def test_many_waiting_calls_are_added_up_and_only_their_detail_is_lost(
    sink: Sink, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporter, "BYTES_EACH", 5)
    monkeypatch.setattr(exporter, "LEAST_BYTES", 0)
    walltime.configure(endpoint=sink.endpoint, sample_probability=1.0, export_delay_s=60)
    with walltime.transaction("first"):
        pass
    assert walltime.flush(5)
    for _ in range(3):
        with walltime.transaction("many"):
            for _ in range(8):
                with walltime.component("step"):
                    pass
    found = [span for span in sink.transactions() if span.span.name == "many"]
    assert [span.cell("step") for span in found] == [{"calls": 8}] * 3
    assert len(sink.calls("step")) < 24
    assert sum(span.attributes.get("walltime.calls_dropped", 0) for span in found) == 24 - len(sink.calls("step"))


def test_what_the_collector_could_not_take_is_sent_when_it_can(sink: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sender, "FIRST_PAUSE_S", 0.05)
    sink.status = 503
    walltime.configure(endpoint=sink.endpoint, export_delay_s=0.05)
    work(5)
    assert not walltime.flush(0.3)
    assert sink.requests == []
    sink.status = 200
    assert len(sink.wait_for(5)) == 5


@pytest.mark.setting("max_pending_bytes")
def test_while_it_is_away_the_oldest_go_first_and_are_counted(refusing_port: int) -> None:
    walltime.configure(endpoint=f"http://127.0.0.1:{refusing_port}/v1/traces", max_pending_bytes=3000)
    for _ in range(10):
        work(4)
        walltime.flush(0.05)
    lost = walltime.counters()["lost_unreachable"]
    assert 0 < lost < 40
    assert lost % 4 == 0


def test_a_refused_batch_is_counted_and_does_not_hold_up_the_next(sink: Sink, caplog: pytest.LogCaptureFixture) -> None:
    sink.status = 400
    walltime.configure(endpoint=sink.endpoint)
    work(2)
    assert walltime.flush(5)
    sink.status = 200
    work(3)
    assert len(sink.transactions()) == 3
    assert walltime.counters()["lost_refused"] == 2
    assert "status 400" in caplog.text


def test_one_log_line_a_minute_says_what_to_do(refusing_port: int, caplog: pytest.LogCaptureFixture) -> None:
    walltime.configure(endpoint=f"http://127.0.0.1:{refusing_port}/v1/traces")
    for _ in range(5):
        work()
        walltime.flush(0.05)
    walltime.shutdown()
    (record,) = caplog.records
    assert "start one with `walltime serve`" in record.getMessage()


def test_one_transaction_that_cannot_be_encoded_costs_no_other(sink: Sink) -> None:
    walltime.configure(endpoint=sink.endpoint, export_delay_s=60)
    work()
    assert walltime.flush(5)
    with walltime.transaction("broken"):
        execution = walltime.core.execution.current()
        assert execution is not None
        execution.transaction.calls.append(None)  # type: ignore[arg-type]  # what our own mistake could do
    work(2)
    assert len(sink.transactions()) == 3
    assert walltime.counters()["lost_internal"] == 1


def test_an_https_endpoint_is_never_spoken_to_in_plain_text(sink: Sink) -> None:
    walltime.configure(endpoint=sink.endpoint.replace("http:", "https:"))
    work()
    assert not walltime.flush(1)
    assert sink.requests == []


def test_with_nothing_to_send_exit_does_not_wait(sink: Sink) -> None:
    program = f"import walltime; walltime.configure(endpoint={sink.endpoint!r}); walltime.instrument()"
    assert subprocess.run([sys.executable, "-c", program], timeout=20, check=False).returncode == 0


def test_what_is_finished_before_the_exit_is_sent(sink: Sink) -> None:
    program = f"""import walltime
walltime.configure(endpoint={sink.endpoint!r}, export_delay_s=60)
for _ in range(700):
    with walltime.transaction("last words"): pass
"""
    subprocess.run([sys.executable, "-c", program], timeout=20, check=True)
    assert len(sink.transactions()) == 700


def test_a_forked_child_sends_its_own_and_only_its_own(sink: Sink) -> None:
    walltime.configure(endpoint=sink.endpoint, export_delay_s=60)
    work(3, "parent before")  # waiting in the parent's queue when it forks
    children = []
    for _ in range(5):
        pid = os.fork()
        if pid == 0:
            try:
                work(2, "child")
                os._exit(0 if walltime.flush(5) else 1)
            finally:
                os._exit(2)
        children.append(pid)
    assert [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children] == [0] * 5
    work(1, "parent after")
    names = sorted(span.span.name for span in sink.transactions())
    assert names == ["child"] * 10 + ["parent after"] + ["parent before"] * 3
    assert len({span.resource["process.pid"] for span in sink.transactions()}) == 6
    assert len({span.resource["service.instance.id"] for span in sink.transactions()}) == 6
    assert len({span.span.trace_id for span in sink.transactions()}) == 14


def test_configuring_again_sends_what_was_made_before(sink: Sink) -> None:
    with Sink() as first:
        walltime.configure(endpoint=first.endpoint, export_delay_s=60)
        work(2)
        walltime.configure(endpoint=sink.endpoint)
        work(1)
        assert len(sink.transactions()) == 1
        assert len(first.transactions()) == 2


def export_threads() -> list[str]:
    return [each.name for each in threading.enumerate() if each.name == "walltime-export"]


def test_there_is_no_thread_before_the_first_transaction_and_none_after_shutdown(sink: Sink) -> None:
    walltime.configure(endpoint=sink.endpoint)
    walltime.instrument()
    assert not export_threads()
    work()
    assert export_threads()
    walltime.shutdown()
    assert not export_threads()


def test_what_is_on_no_bill_is_said_with_the_next_export(
    recorded: Sink, memcached: tuple[Memcached, Memcached]
) -> None:
    """Calls outside of any transaction and lost transactions travel as counters of the process."""
    client = Client(("127.0.0.1", memcached[0].port))
    before = walltime.counters().get("outside_pymemcache", 0)
    client.get("nobody-is-served")
    runtime.exporter().counts["lost_queue_full"] += 3
    with walltime.transaction("job"):
        client.get("k")
    client.close()
    recorded.spans()
    (scope,) = [scope_spans.scope for request in recorded.requests[-1:] for resource in request.resource_spans
                for scope_spans in resource.scope_spans]  # fmt: skip
    said = attributes_of(scope.attributes)
    assert said["walltime.lost.queue_full"] == 3
    assert walltime.counters()["outside_pymemcache"] > before
    assert said["walltime.outside.calls"] == sum(transaction_module.outside_calls.values())
