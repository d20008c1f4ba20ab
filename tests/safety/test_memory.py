"""S8, S9: what Walltime holds on to is bounded, whatever the application does with its transactions."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from wsgiref.util import setup_testing_defaults

import pytest
import walltime
from pymysql.connections import Connection
from walltime.core import transaction as transaction_module
from walltime.core.execution import current

from tests.safety.collectors import collector
from tests.safety.loaded import rss_bytes
from tests.sdk.sink import Sink

ROOT = Path(__file__).parents[2]
MIB = 1024 * 1024


@pytest.fixture(autouse=True)
def without_garbage() -> Iterator[None]:
    gc.collect()
    yield
    gc.collect()


def in_a_process(program: str, *arguments: str) -> str:
    process = subprocess.run(
        [sys.executable, "-c", program, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )
    assert (process.returncode, process.stderr) == (0, "")
    return process.stdout.strip()


MILLION_CALLS = """
import sys, walltime
from tests.safety.loaded import rss_bytes
walltime.configure(endpoint=sys.argv[1], sample_probability=1.0)
def work(calls):
    with walltime.transaction("long"):
        for n in range(calls):
            with walltime.component("step %d" % (n % 100)):
                pass
        return rss_bytes()
work(5000)
before = rss_bytes()
print(work(int(sys.argv[2])) - before)
walltime.flush(10)
"""


@pytest.mark.parametrize("calls", [100_000, pytest.param(1_000_000, marks=pytest.mark.nightly)])
def test_one_transaction_of_very_many_calls_stays_small_and_exact(sink: Sink, calls: int) -> None:
    grown_bytes = int(in_a_process(MILLION_CALLS, sink.endpoint, str(calls)))
    print(f"one transaction of {calls} calls: +{grown_bytes / MIB:.1f} MiB")
    assert grown_bytes <= 8 * MIB
    (_, long) = sink.transactions()
    assert sum(v for k, v in long.attributes.items() if k.endswith(".calls") and isinstance(v, int)) == calls


def test_transactions_that_are_never_ended_go_with_their_context(sink: Sink) -> None:
    walltime.configure(endpoint=sink.endpoint)
    before = alive()

    def begin() -> None:
        walltime.transaction("never ended").__enter__()
        assert current() is not None

    for _ in range(100):
        thread = threading.Thread(target=begin)
        thread.start()
        thread.join()
    del thread  # which has its context, from Python 3.14 on
    assert current() is None
    assert alive() <= before


def alive() -> int:
    """How many transactions there are; another test of this process may have left one in a context of its own."""
    gc.collect()
    return sum(type(o) is transaction_module.Transaction for o in gc.get_objects())


def stream(_environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterator[bytes]:
    start_response("200 OK", [])
    while True:
        yield b"x" * 1000


def test_responses_that_are_never_closed_leave_nothing_behind(sink: Sink) -> None:
    walltime.configure(endpoint=sink.endpoint)
    app = walltime.WSGIMiddleware(stream)

    def abandon() -> None:
        environ: dict[str, Any] = {}
        setup_testing_defaults(environ)
        next(iter(app(environ, lambda _status, _headers: None)))

    def serve() -> None:
        for _ in range(500):
            abandon()

    serve()
    walltime.flush(5)
    before = alive()
    before_bytes = rss_bytes()
    for _ in range(4):
        thread = threading.Thread(target=serve)
        thread.start()
        thread.join()
    walltime.flush(5)
    left = alive() - before
    grown_bytes = rss_bytes() - before_bytes
    print(f"2,000 responses that nobody closed: +{grown_bytes / MIB:.1f} MiB, {left} transactions alive")
    assert left <= 0
    assert grown_bytes <= 8 * MIB


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def test_a_thread_more_at_most_and_none_after_shutdown(sink: Sink) -> None:
    before, files = threading.active_count(), open_files()
    most = 0
    for n in range(100):
        walltime.configure(endpoint=sink.endpoint)
        with walltime.transaction(f"cycle {n}"):
            pass
        most = max(most, threading.active_count() - sum("process_request" in t.name for t in threading.enumerate()))
        walltime.shutdown()
    assert len(sink.transactions()) == 100
    after = sum(thread.name == "walltime-export" for thread in threading.enumerate())
    print(f"100 cycles: {most - before} thread more at most, {after} after, {open_files() - files} files")
    assert after == 0
    assert most - before <= 1


def test_large_statements_do_not_wait_for_the_export(
    sink: Sink, connect: Callable[[], Connection[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WALLTIME_TESTING_RAISE", "1")
    walltime.configure(endpoint=sink.endpoint)
    walltime.instrument()
    connection = connect()
    megabyte = f"'{'x' * MIB}'"

    def work(statements: int) -> int:
        with walltime.transaction("bulk"):
            for n in range(statements):
                with connection.cursor() as cursor:
                    cursor.execute(f"SELECT LENGTH({megabyte}) + {n}")
            return rss_bytes()

    before_bytes = work(5)
    grown_bytes = work(100) - before_bytes
    print(f"100 statements of 1 MiB in a transaction: +{grown_bytes / MIB:.1f} MiB")
    assert grown_bytes <= 16 * MIB
    assert [bill.cell("mysql.query")["calls"] for bill in sink.transactions()] == [5, 100]


MANY_STATEMENTS = """
import random, string, sys, walltime
from walltime.core.execution import current
from walltime.core.call import lines
from tests.safety.loaded import rss_bytes
walltime.configure(endpoint=sys.argv[1], sample_probability=1.0)
query = lines("mysql.query")[("127.0.0.1", 3306)]
def work(transactions):
    for n in range(transactions):
        with walltime.transaction("job"):
            for _ in range(10):
                columns = ",".join(random.choices(string.ascii_letters, k=500))
                current().record(query, "SELECT " + columns, 1, 2, 0)
        if n % 20 == 0:
            walltime.flush(10)
    walltime.flush(10)
    return rss_bytes()
before = work(200)
print(work(int(sys.argv[2])) - before)
"""


@pytest.mark.parametrize("transactions", [1000, pytest.param(5000, marks=pytest.mark.nightly)])
def test_statements_that_are_never_the_same_are_not_remembered_for_ever(transactions: int) -> None:
    with collector("endless") as endpoint:  # takes all and keeps nothing
        grown_bytes = int(in_a_process(MANY_STATEMENTS, endpoint, str(transactions)))
    print(f"{10 * transactions} different statements of 1 KB: +{grown_bytes / MIB:.1f} MiB")
    assert grown_bytes <= 16 * MIB
