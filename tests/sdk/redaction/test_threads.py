"""Redaction is the export thread's work: no request waits for it, whatever it does."""

from __future__ import annotations

import itertools
import logging
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pymysql
import pytest
import walltime
from walltime.core.after_response import After
from walltime.core.call import lines
from walltime.core.execution import branch, current
from walltime.core.transaction import clock
from walltime.export import exporter as exporter_module
from walltime.redaction import redact
from walltime.redaction.sql_lexer import lexer

from tests.sdk.servers.wsgi_server import serve
from tests.sdk.sink import Sink

QUERY = lines("mysql.query")["db", 3306]
EXPORT = "walltime-export"


@pytest.fixture
def lexed_by(monkeypatch: pytest.MonkeyPatch, sink: Sink) -> Iterator[list[str]]:
    """The thread of each call of the lexer, and of each keyed hash."""
    threads: list[str] = []

    def noted(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            threads.append(threading.current_thread().name)
            return original(*args, **kwargs)

        return call

    monkeypatch.setattr(lexer, "redact", noted(lexer.redact))
    monkeypatch.setattr(redact, "keyed_hash", noted(redact.keyed_hash))
    yield threads
    assert walltime.flush(30)
    assert set(threads) == {EXPORT}


def record(sql: object, failure: str | None = None, execution: Any = None) -> None:
    execution = execution or current()
    now_ns = clock()
    execution.record(QUERY, sql, now_ns, now_ns + 1, execution.nested_ns, failure)


def statements(count: int) -> Iterator[str]:
    """Distinct texts of one statement, that no other test has sent: what is redacted is cached."""
    return (f"SELECT a FROM t WHERE b = {next(numbers)} AND c = 'Ann'" for _ in range(count))


numbers = itertools.count()


def record_all(execution: Any) -> None:
    for sql in statements(2500):
        record(sql, execution=execution)


STATEMENT = "SELECT a FROM t WHERE b = ? AND c = ?"


def test_calls_that_are_added_up_early_are_redacted_later(lexed_by: list[str], sink: Sink) -> None:
    walltime.configure(endpoint=sink.endpoint, sample_probability=1.0)
    with walltime.transaction("import"):
        for sql in statements(5000):
            record(sql)
        for sql in statements(5000):
            record(sql.encode(), failure="1205")
        assert lexed_by == []
    (found,) = sink.transactions()
    assert found.statements() == {STATEMENT: 10_000}
    assert found.cell("mysql.query")["lock_timeouts"] == 5000
    assert len(lexed_by) >= 5000, "each text once"


def test_so_are_those_of_other_threads_and_those_after_the_response(lexed_by: list[str], sink: Sink) -> None:
    walltime.configure(endpoint=sink.endpoint)
    with walltime.transaction("import"):
        mine = branch(current())  # type: ignore[arg-type]  # there is one
        thread = threading.Thread(target=record_all, args=(mine,))
        thread.start()
        thread.join()
    after = After(0)
    for number, sql in enumerate(statements(2500)):
        after.add((QUERY, sql, number, number + 1, 1, None, 0, 0))
    assert after.add_up().components["mysql.query"].calls == 2500
    assert sink.transactions()[0].statements() == {STATEMENT: 2500}


def test_so_is_a_transaction_for_which_the_queue_has_no_room(
    lexed_by: list[str], sink: Sink, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporter_module, "BYTES_EACH", 64)
    monkeypatch.setattr(exporter_module, "LEAST_BYTES", 0)
    walltime.configure(endpoint=sink.endpoint, export_delay_s=60, sample_probability=1.0)
    for _ in range(5):
        with walltime.transaction("page"):
            for sql in statements(1000):
                record(sql)
    assert [name for name in lexed_by if name != EXPORT] == []
    totals = [found.statements() for found in sink.transactions()]
    assert {"(other)": 1000} in totals
    assert sum(sum(each.values()) for each in totals) == 1000 * len(totals)


def test_what_an_application_is_told_of_its_bill_needs_no_redaction(
    lexed_by: list[str], sink: Sink, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    walltime.configure(
        endpoint=sink.endpoint, server_timing=True, summary=True, json_lines=tmp_path / "bills", sample_probability=1.0
    )
    logging.getLogger("walltime.summary").setLevel(logging.INFO)

    def app(environ: Any, start_response: Any) -> list[bytes]:
        walltime.current().set_user("ann")
        walltime.current().set_session("secret")
        for sql in statements(2500):
            record(sql)
        assert "mysql.query" in walltime.summary()
        logging.getLogger("app").warning("%s", walltime.summary())
        walltime.current().annotate("session", "secret")
        start_response("500 Sorry", [])
        return [b""]

    _, headers, _ = serve(walltime.WSGIMiddleware(app))
    assert 'desc="2500"' in dict(headers)["Server-Timing"]
    assert sink.transactions()[0].statements() == {STATEMENT: 2500}
    assert "Ann" not in (tmp_path / "bills").read_text() + caplog.text


def test_a_fork_in_a_transaction_redacts_nothing_in_the_child(lexed_by: list[str], sink: Sink) -> None:
    walltime.configure(endpoint=sink.endpoint, export_delay_s=60)
    with walltime.transaction("import"):
        for sql in statements(2500):
            record(sql)
        pid = os.fork()
        if pid == 0:
            with walltime.transaction("of the child"):
                for sql in statements(2500):
                    record(sql)
            os._exit(set(lexed_by) - {EXPORT} != set())
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_a_driver_sends_and_tags_without_redaction(
    lexed_by: list[str], recorded: Sink, connect: Callable[..., pymysql.connections.Connection[Any]]
) -> None:
    connection = connect()
    with walltime.transaction("job"), connection.cursor() as cursor:
        for number in range(2100):
            cursor.execute(f"SELECT {number}, 'Ann'")
        with pytest.raises(pymysql.err.ProgrammingError):
            cursor.execute("SELECT * FROM no_such_table WHERE a = 'Ann'")
    (found,) = recorded.transactions()
    assert found.statements() == {"SELECT ?, ?": 2100, "SELECT * FROM no_such_table WHERE a = ?": 1}
