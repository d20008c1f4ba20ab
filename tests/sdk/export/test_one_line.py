"""The bill in one line: of the running transaction, and in the log at the end of each when a setting says so."""

from __future__ import annotations

import logging
import re

import pytest
import walltime
from walltime.core import transaction as transaction_module
from walltime.core.call import SKIPPED, lines
from walltime.core.ids import Ids
from walltime.export import one_line

from tests.sdk.sink import Sink

MS = 1_000_000
_QUERY, _GET = lines("mysql.query"), lines("memcache.get")
DATABASE, CACHE = ("db", 3306), ("cache", 11211)


def test_a_bill_reads_as_one_line() -> None:
    transaction = transaction_module.Transaction("GET /product/{id}", "server", Ids(1, 2), 0, 0)
    for n in range(9):
        transaction.record(_QUERY[DATABASE], "SELECT %s", n * 3 * MS, (n * 3 + 3) * MS, 0, None, 0, 1)
        transaction.nested_ns = 0
    for n in range(12):
        transaction.record(_GET[CACHE], b"k", (30 + n) * MS, (30 + n) * MS + MS // 4, 0, None, 1, int(n >= 4))
        transaction.nested_ns = 0
    transaction.record(_GET[CACHE], b"k", 45 * MS, 45 * MS, 0, SKIPPED, 1)
    transaction.record(_QUERY[DATABASE], "COMMIT", 46 * MS, 47 * MS, 0, "1213")
    transaction.http_status, transaction.queue_ns = 200, 2 * MS
    transaction.cpu_user_ns, transaction.cpu_system_ns = 5 * MS, MS
    bill = transaction.add_up(detail=True)
    assert one_line.line(transaction, bill, 48 * MS) == (
        "GET /product/{id} 200 48.0 ms: mysql.query 28.0 ms in 10 calls (1 error, 1 deadlock), "
        "memcache.get 3.0 ms in 12 calls (4 of 12 keys missed, 1 skipped), other 17.0 ms, CPU 6.0 ms, "
        "queue 2.0 ms before"
    )


def test_the_running_one_is_added_up_without_touching_it(sink: Sink) -> None:
    walltime.configure(endpoint=sink.endpoint)
    with walltime.transaction("job"):
        with walltime.component("step"):
            pass
        first = walltime.summary()
        with walltime.component("step"):
            pass
        second = walltime.summary()
    assert re.fullmatch(r"job [\d.]+ ms: step [\d.]+ ms in 1 call, other [\d.]+ ms", first)
    assert "step" in second
    assert "in 2 calls" in second
    assert sink.transaction().cell("step") == {"calls": 2}
    assert walltime.summary() == ""


def test_more_calls_than_are_kept_are_all_in_it(sink: Sink) -> None:
    walltime.configure(endpoint=sink.endpoint)
    with walltime.transaction("many"):
        for _ in range(4500):
            with walltime.component("step"):
                pass
        assert "step" in walltime.summary()
        assert "in 4500 calls" in walltime.summary()
    assert sink.transaction().cell("step") == {"calls": 4500}


def test_names_from_outside_cannot_begin_a_line_of_their_own(sink: Sink) -> None:
    walltime.configure(endpoint=sink.endpoint)
    with walltime.transaction("one\ntwo\x1b[31m\u2028"):
        with walltime.component("a\r\nb"):
            pass
        assert walltime.summary().isprintable()


@pytest.mark.setting("summary")
def test_each_transaction_is_logged_at_its_end_when_asked_for(sink: Sink, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "walltime.summary"):
        walltime.configure(endpoint=sink.endpoint, summary=True)
        for name in ("first", "second"):
            with walltime.transaction(name), walltime.component("step"):
                pass
        first, second = sink.wait_for(2)
    said = [record for record in caplog.records if record.name == "walltime.summary"]
    assert [record.getMessage().partition(" ")[0] for record in said] == ["first", "second"]
    for record, sent in zip(said, (first, second), strict=True):
        assert record.levelno == logging.INFO
        assert vars(record)["request_id"] == sent.span.trace_id.hex()
        assert record.getMessage().endswith(f"[{sent.span.trace_id.hex()}]")
        assert "step" in record.getMessage()


def test_it_is_off_by_default(sink: Sink, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "walltime.summary"):
        walltime.configure(endpoint=sink.endpoint)
        with walltime.transaction("quiet"):
            pass
        sink.wait_for(1)
    assert not [record for record in caplog.records if record.name == "walltime.summary"]


def test_a_log_handler_that_fails_costs_no_transaction(sink: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging, "raiseExceptions", False)
    logger = logging.getLogger("walltime.summary")

    class Broken(logging.Handler):
        def handle(self, record: logging.LogRecord) -> bool:
            raise RuntimeError("the application's handler")

    handler = Broken()
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        walltime.configure(endpoint=sink.endpoint, summary=True)
        with walltime.transaction("told anyway"):
            pass
        assert len(sink.wait_for(1)) == 1
    finally:
        logger.removeHandler(handler)
        logger.setLevel(logging.NOTSET)
