"""The request id in log records: by the standard library's filter and by structlog's processor."""

from __future__ import annotations

import io
import json
import logging
import logging.config
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import structlog
import walltime
from walltime import logs
from walltime.core.execution import running

from tests.sdk.sink import Sink


@pytest.fixture
def logged() -> Iterator[io.StringIO]:
    """What the application's handler writes, configured as docs/logs.md shows it."""
    stream = io.StringIO()
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "filters": {"walltime": {"()": "walltime.logs.RequestFilter"}},
            "formatters": {"ids": {"format": "%(message)s|%(request_id)s|%(trace_id)s|%(span_id)s"}},
            "handlers": {
                "here": {
                    "class": "logging.StreamHandler",
                    "stream": stream,
                    "filters": ["walltime"],
                    "formatter": "ids",
                }
            },
            "loggers": {"shop": {"handlers": ["here"], "level": "INFO", "propagate": False}},
        }
    )
    yield stream
    logging.getLogger("shop").handlers.clear()


def test_a_log_record_leads_to_the_transaction_it_was_made_in(logged: io.StringIO, sink: Sink) -> None:
    walltime.configure(endpoint=sink.endpoint)
    log = logging.getLogger("shop.checkout")  # a child of the logger whose handler has the filter
    log.info("before")
    with walltime.transaction("job"):
        log.info("within")
    log.info("after")
    trace_id, span_id = (getattr(sink.transaction().span, name).hex() for name in ("trace_id", "span_id"))
    assert logged.getvalue().splitlines() == ["before|||", f"within|{trace_id}|{trace_id}|{span_id}", "after|||"]


def test_what_a_record_says_itself_stays(logged: io.StringIO) -> None:
    with walltime.transaction("job"):
        logging.getLogger("shop").info("mine", extra={"request_id": "r-1"})
    assert logged.getvalue().startswith("mine|r-1|")


def test_a_record_that_another_thread_writes_keeps_the_request_it_was_made_in(logged: io.StringIO) -> None:
    record = logging.makeLogRecord({"name": "shop", "msg": "queued", "levelno": logging.INFO})
    with walltime.transaction("job") as transaction:
        assert logs.RequestFilter().filter(record)  # on the QueueHandler
        request_id = transaction.request_id
    with ThreadPoolExecutor(1) as other:
        other.submit(logging.getLogger("shop").handle, record).result()
    assert logged.getvalue().startswith(f"queued|{request_id}|")


def test_structlog_says_it_within_a_transaction_and_nothing_outside(capsys: pytest.CaptureFixture[str]) -> None:
    log = structlog.wrap_logger(
        structlog.PrintLogger(), processors=[logs.add_request, structlog.processors.JSONRenderer()]
    )
    log.info("outside")
    with walltime.transaction("job") as transaction:
        log.info("within", cart=3)
        log.info("mine", request_id="r-1")
    outside, within, mine = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert outside == {"event": "outside"}
    assert within["request_id"] == within["trace_id"] == transaction.request_id
    assert (within["event"], within["cart"], len(within["span_id"])) == ("within", 3, 16)
    assert mine["request_id"] == "r-1"


def test_our_own_failure_costs_no_log_line(logged: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WALLTIME_TESTING_RAISE", raising=False)

    def broken() -> None:
        raise RuntimeError("ours")

    monkeypatch.setattr(logs, "current", broken)
    event = {"event": "still there"}
    assert logs.add_request(None, "info", event) == {"event": "still there"}
    record = logging.makeLogRecord({"msg": "still there"})
    assert logs.RequestFilter().filter(record)


def test_a_thread_that_works_for_no_request_has_no_id(logged: io.StringIO) -> None:
    with walltime.transaction("job"):
        token = running.set(None)  # as a thread begins that the context did not go along to
        thread = threading.Thread(target=logging.getLogger("shop").info, args=("background",))
        thread.start()
        thread.join()
        running.reset(token)
    assert logged.getvalue() == "background|||\n"
