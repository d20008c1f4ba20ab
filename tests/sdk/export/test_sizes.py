"""Everything that the exporter holds or sends is bounded by bytes, and every loss is counted with its reason."""

from __future__ import annotations

import logging
import socket
import threading
import tracemalloc
from collections.abc import Callable, Iterator

import pytest
import walltime
from walltime import runtime
from walltime.core import bill as bill_module
from walltime.core import transaction as transaction_module
from walltime.core.call import CALL_BYTES, line, lines
from walltime.core.execution import current
from walltime.core.ids import Ids
from walltime.core.transaction import Transaction, clock
from walltime.export import detail as detail_module
from walltime.export import exporter as exporter_module
from walltime.export import otlp, otlp_calls
from walltime.export.detail import held_bytes
from walltime.redaction.redact import Redaction

from tests.sdk.sink import Sink, attributes_of

QUERY = lines("mysql.query")["db", 3306]
COLUMNS = ", ".join(f"t{number}.column_number_{number} AS c{number}" for number in range(120))
PROXY_BYTES = 1 << 20
"""What nginx takes where nobody has said otherwise."""
MIB = 1 << 20


def record(sql: object) -> None:
    execution = current()
    assert execution is not None
    now_ns = clock()
    execution.record(QUERY, sql, now_ns, now_ns + 1000, execution.nested_ns)


def pages(count: int, statements: int, name: str = "page") -> None:
    for _ in range(count):
        with walltime.transaction(name):
            for number in range(statements):
                record(f"SELECT {COLUMNS} FROM a{number} WHERE x = %s")


def jobs(count: int, name: str = "job") -> None:
    for _ in range(count):
        with walltime.transaction(name):
            pass


def balance() -> dict[str, int]:
    """What became of the transactions; `lost_…` without those of nothing."""
    counts = walltime.counters()
    return {name: n for name, n in counts.items() if n and name.startswith(("sent", "queued", "lost_"))}


# ---- requests ----


@pytest.mark.parametrize(("probability", "statements"), [(0.0, 50), (1.0, 20)])
def test_requests_are_small_enough_for_a_proxy(sink: Sink, probability: float, statements: int) -> None:
    walltime.configure(endpoint=sink.endpoint, sample_probability=probability, export_delay_s=60)
    pages(40, statements)
    assert len(sink.transactions()) == 40
    assert sum(map(len, sink.bodies)) > 2 * PROXY_BYTES
    assert max(map(len, sink.bodies)) < PROXY_BYTES
    assert balance() == {"sent": 40}


@pytest.mark.parametrize("is_compressed", [False, True])
@pytest.mark.parametrize(
    "refusal",
    [
        (413, b"<html>"),
        (400, b"\x08\x03\x12\x20http: request body too large"),
        (429, b"received message larger than max"),
    ],
)
def test_a_request_that_is_too_large_is_split_and_later_ones_are_smaller(
    sink: Sink, refusal: tuple[int, bytes], is_compressed: bool
) -> None:
    sink.most_bytes, sink.refusal = 2000 if is_compressed else 12_000, refusal
    walltime.configure(endpoint=sink.endpoint, export_delay_s=60, gzip=is_compressed)
    jobs(100)
    assert len({span.span.span_id for span in sink.transactions()}) == len(sink.transactions()) == 100
    refused = len(sink.refused)
    assert refused >= 1
    jobs(100)
    assert len(sink.transactions()) == 200
    assert len(sink.refused) == refused
    assert balance() == {"sent": 200}


def test_a_transaction_that_is_too_large_is_lost_alone(sink: Sink, caplog: pytest.LogCaptureFixture) -> None:
    sink.most_bytes = 50_000
    walltime.configure(endpoint=sink.endpoint, export_delay_s=60)
    jobs(30, "before")
    pages(2, 50, "large")
    jobs(30, "after")
    assert [span.span.name for span in sink.transactions()] == ["before"] * 30 + ["after"] * 30
    assert balance() == {"sent": 60, "lost_too_large": 2}
    (message,) = caplog.messages
    assert "as too large; it is lost" in message
    jobs(1)
    sink.transactions()
    (scope,) = [scope_spans.scope for request in sink.requests[-1:] for resource in request.resource_spans
                for scope_spans in resource.scope_spans]  # fmt: skip
    assert attributes_of(scope.attributes)["walltime.lost.too_large"] == 2


def test_after_a_refusal_for_what_is_in_a_transaction_requests_are_as_large_as_before(sink: Sink) -> None:
    sink.refused_text, sink.refusal = b"unwanted", (400, b"attribute value is too large")
    walltime.configure(endpoint=sink.endpoint, export_delay_s=60)
    jobs(100)
    jobs(1, "unwanted")
    sink.transactions()
    assert balance() == {"sent": 100, "lost_too_large": 1}
    before = len(sink.requests)
    jobs(100)
    sink.transactions()
    assert len(sink.requests) == before + 1


@pytest.fixture
def hasty_port() -> Iterator[int]:
    """A server that answers 413 to a long request without reading it, and closes the connection."""

    def serve() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection:
                head = b""
                while b"\r\n\r\n" not in head:
                    head += connection.recv(1)
                size = int(head.lower().partition(b"content-length: ")[2].partition(b"\r")[0])
                if size > 100_000:
                    connection.sendall(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                    continue
                while size:
                    size -= len(connection.recv(min(size, 65_536)))
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
    thread.join(10)


def test_a_server_that_refuses_before_it_has_read_the_request_is_understood(hasty_port: int) -> None:
    walltime.configure(endpoint=f"http://127.0.0.1:{hasty_port}/", export_delay_s=60)
    pages(50, 10)
    assert walltime.flush(20)
    assert balance() == {"sent": 50}


@pytest.mark.parametrize(
    ("answer", "rejected", "message"),
    [
        (b"\x0a\x02\x08\x02", 2, "without a reason"),
        (b"\x0a\x07\x08\x05\x12\x03bad", 5, "bad"),
        (b"\x0a\x05\x08\x88\x27\x12\x00", 5000, "without a reason"),
        (b"\x0a\x08\x12\x06old\nme", 0, "old?me"),
        (b"\x0a\x00", 0, ""),
        (b"<html>", 0, ""),
        (b'{"partialSuccess":{}}', 0, ""),
        (b"\xff" * 60_000, 0, ""),
        (b"\x0a\x02\x08", 0, ""),
        (b"\x08\x05", 0, ""),
    ],
)
def test_what_a_collector_rejects_is_counted_and_its_reason_is_logged_once(
    sink: Sink, caplog: pytest.LogCaptureFixture, answer: bytes, rejected: int, message: str
) -> None:
    walltime.configure(endpoint=sink.endpoint, export_delay_s=60)
    jobs(1)
    assert walltime.flush(5)
    sink.answer = answer
    for _ in range(2):
        jobs(5)
        assert walltime.flush(5)
    lost = 2 * min(rejected, 5)
    counted = {"sent": 11 - lost, "lost_rejected": lost}
    assert balance() == {name: count for name, count in counted.items() if count}
    assert walltime.counters()["rejected_spans"] == 2 * rejected
    assert [each.rpartition(": ")[2] for each in caplog.messages] == ([message] if message else [])


def test_any_2xx_is_an_acceptance(sink: Sink) -> None:
    sink.status = 202
    walltime.configure(endpoint=sink.endpoint)
    jobs(3)
    assert walltime.flush(5)
    assert balance() == {"sent": 3}


# ---- one transaction ----


def test_the_detail_of_a_transaction_is_bounded_and_says_what_it_leaves_out(sink: Sink) -> None:
    walltime.configure(endpoint=sink.endpoint, sample_probability=1.0, export_delay_s=60)
    with walltime.transaction("import"):
        for number in range(900):
            record(f"SELECT a{number}, {'é' * 4000} FROM t")
    (found,) = sink.transactions()
    kept = sink.calls("mysql.query")
    assert 0 < len(kept) < 900
    assert found.attributes["walltime.calls_dropped"] == 900 - len(kept)
    assert found.cell("mysql.query")["calls"] == 900
    assert max(map(len, sink.bodies)) < otlp_calls.MAX_DETAIL_BYTES + PROXY_BYTES


def test_no_transaction_exceeds_what_the_collector_takes() -> None:
    """Every text as long as it can be, in characters of four bytes."""
    long = "😀" * 4096
    transaction = Transaction(long, "server", Ids(1, 2, 1), 3, 0)
    for number in range(1000):
        transaction.record(QUERY, f"SELECT {number}, a{number}{'😀' * 16_000}", number, number + 1, number)
        transaction.record(lines("http.request")["db", number], ("GET", "http", long), number, number + 1, number)
        transaction.record(line(f"{long[:190]}{number}"), None, number, number + 1, number, long)
    for number in range(64):
        transaction.annotate(f"{number}{long}", long)
    transaction.set_user(long)
    transaction.set_session(long)
    transaction.duration_ns = 5000
    encoder = otlp.Encoder(b"", "1", 1.0, Redaction(b"salt"))
    assert len(encoder.transaction(transaction, transaction.add_up(detail=True), "random")) < 10 * MIB


def grown_bytes(work: Callable[[], None]) -> int:
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        work()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def test_the_texts_of_a_running_transaction_are_bounded_and_its_totals_stay_exact(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(transaction_module, "MAX_TEXT_BYTES", MIB)
    monkeypatch.setattr(bill_module, "MAX_EARLY_BYTES", MIB)
    transaction = Transaction("import", "internal", Ids(1, 2), 0, 0)

    def work() -> None:
        for number in range(5000):
            transaction.record(QUERY, f"SELECT {number}, {'x' * 4000}", number, number + 1, number)

    assert grown_bytes(work) < 3.5 * MIB, "20 MB of texts"
    assert 0 < len(transaction.calls) < 1000
    transaction.duration_ns = 5001
    bill = transaction.add_up(detail=True)
    assert bill.components["mysql.query"].calls == sum(cell.calls for cell in bill.statements.values()) == 5000
    assert bill.undetailed == 5000 - len(transaction.calls)


def test_a_statement_that_is_sent_again_and_again_is_held_once() -> None:
    transaction = Transaction("import", "internal", Ids(1, 2), 0, 0)
    sql = f"SELECT {'x' * 16_000}"
    for number in range(1000):
        transaction.record(QUERY, sql, number, number + 1, number)
    assert len(transaction.calls) == 1000
    assert held_bytes(transaction) < 1000 * CALL_BYTES + 12 * len(sql), "each look counts it once"


# ---- what waits ----


@pytest.fixture
def silent() -> Iterator[str]:
    """A collector that accepts and never answers; the exporter waits for it."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}/v1/traces"


@pytest.mark.parametrize("kind", ["statements", "early", "annotations", "keys"])
def test_the_queue_is_bounded_by_its_memory_whatever_takes_it(
    silent: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, limit in (("MAX_CALLS", 50), ("MANY_CALLS", 100), ("LOOK_EVERY", 10)):
        monkeypatch.setattr(transaction_module, name, limit)
        monkeypatch.setattr(detail_module, name, limit, raising=False)
    monkeypatch.setattr(exporter_module, "LEAST_BYTES", 0)
    most_bytes = 64 * exporter_module.BYTES_EACH

    def work() -> None:
        for number in range(60):
            with walltime.transaction("page"):
                if kind == "annotations":
                    for key in range(64):
                        walltime.current().annotate(f"k{key}", f"{number}{key}{'x' * 4000}")
                for call in range({"statements": 50, "early": 350, "keys": 50}.get(kind, 0)):
                    record(f"SELECT {number}{call}, {'x' * (8000 if kind != 'early' else 100)}"
                           if kind != "keys" else ("GET", "http", f"/{number}{call}{'x' * 8000}"))  # fmt: skip

    walltime.configure(endpoint=silent, export_delay_s=60, max_queue=64, timeout_s=60, exit_timeout_s=0.1)
    jobs(1)
    assert not walltime.flush(0.1)
    held = grown_bytes(work)
    assert held < 1.5 * most_bytes + MIB, "a transaction that runs is not in the queue"
    waiting = runtime.exporter()._waiting_bytes
    assert waiting <= most_bytes
    assert sum(balance().values()) == 61
    assert balance()["queued"] > 1


def test_what_is_kept_after_its_response_counts_as_waiting(silent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporter_module, "LEAST_BYTES", 0)
    walltime.configure(endpoint=silent, max_queue=64, exit_timeout_s=0.1)
    exporter = runtime.exporter()
    made = []
    for number in range(40):
        transaction = Transaction("page", "server", Ids(1, number + 1), 0, 0)
        for call in range(10):
            transaction.record(QUERY, f"SELECT {number}{call}, {'x' * 8000}", call, call + 1, call)
        transaction.duration_ns = 100
        exporter.hold(transaction)
        made.append(transaction)
        assert exporter._waiting_bytes <= 64 * exporter_module.BYTES_EACH
    assert sum(transaction.is_over for transaction in made) > 0, "those beyond half of it no longer wait for more"
    for transaction in made:
        exporter.release(transaction)
    assert sum(balance().values()) == 40


def test_a_short_queue_keeps_the_detail_of_a_long_transaction(sink: Sink) -> None:
    walltime.configure(endpoint=sink.endpoint, export_delay_s=60, max_queue=1, sample_probability=1.0)
    pages(1, 500)
    assert len(sink.calls("mysql.query")) == 500


def test_the_size_of_a_waiting_transaction_is_what_it_takes() -> None:
    def work() -> None:
        for number in range(200):
            transaction = Transaction("page", "server", Ids(1, number + 1), 0, 0)
            now_ns = clock()
            for call in range(50):
                transaction.record(QUERY, f"SELECT {call}, {number}", now_ns, now_ns + 12345 + call, 0)
            made.append(transaction)

    made: list[Transaction] = []
    measured = grown_bytes(work)
    assert 0.6 < sum(map(held_bytes, made)) / measured < 1.6


def test_the_balance_is_even_while_the_collector_comes_and_goes(sink: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("walltime.export.sender.FIRST_PAUSE_S", 0.01)
    logging.getLogger("walltime").setLevel(logging.CRITICAL)
    walltime.configure(endpoint=sink.endpoint, export_delay_s=0.01, max_pending_bytes=30_000, max_queue=50)
    sink.most_bytes = 6_000
    ended = 0
    for status in (200, 503, 400, 200, 503, 200):
        sink.status = status
        for _ in range(3):
            jobs(7)
            pages(1, 10)
            ended += 8
            walltime.flush(0.05)
    walltime.flush(5)
    logging.getLogger("walltime").setLevel(logging.NOTSET)
    counts = balance()
    assert sum(counts.values()) == ended
    assert "queued" not in counts
    assert {"sent", "lost_refused", "lost_too_large"} <= set(counts)
