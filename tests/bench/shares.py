"""
Where Walltime's CPU of a request goes, part by part; for who wants to make it less.

    python -m tests.bench.shares [--probability 0.01] [--turns 60]

All in one process: the same work within and without a transaction in turn (a wrapped call without one goes straight
through, some 0.1 µs), medians of many turns. The parts run one by one on this thread; the sums are measured apart from
them, as whole requests, by the clocks of the two threads (Linux).
"""

from __future__ import annotations

import functools
import statistics
import time
from collections.abc import Callable

import click
import walltime
from rich.console import Console
from rich.table import Table
from walltime import runtime
from walltime.core.transaction import Transaction, clock
from walltime.export import otlp
from walltime.export.sender import Sender
from walltime.propagation import propagation
from walltime.redaction.redact import Redaction
from walltime.servers.gateways import wsgi

from tests.bench import machine
from tests.bench.measured import FLUSH_EVERY
from tests.bench.workload import CALLS, Application, Environ, Shop, serve
from tests.running import running_transaction
from tests.sdk.sink import Sink


@click.command
@click.option("--probability", type=click.FloatRange(0, 1), default=0.01, help="Share of the requests with detail.")
@click.option("--turns", type=click.IntRange(1), default=60, help="Measurements of each part; the median counts.")
def main(probability: float, turns: int) -> None:
    """Say which part of Walltime takes how much of the CPU it costs."""
    machine.pin(0, 1)
    with Sink() as sink:
        walltime.configure(service_name="bench", endpoint=sink.endpoint, sample_probability=probability)
        walltime.instrument()
        shop = Shop()
        ours = walltime.WSGIMiddleware(shop)
        request = {**_middleware(turns), **_calls(shop, ours, turns)}
        request_us = _difference_us(
            functools.partial(_request_thread_ns, shop), functools.partial(_request_thread_ns, ours), turns
        )
        export_thread = _export(ours, probability, turns)
        export_us = statistics.median(_export_thread_ns(ours) for _ in range(turns)) / 1000
        walltime.shutdown()
    table = Table(title=f"Walltime's CPU of a request, {probability:.0%} detail", title_justify="left")
    for heading in ("part", "µs", "share"):
        table.add_column(heading, justify="left" if heading == "part" else "right")
    for whole, whole_us, parts in (
        ("request's thread", request_us, request),
        ("export thread", export_us, export_thread),
    ):
        parts["in whole requests more or less than alone"] = whole_us - sum(parts.values())
        for part, us in parts.items():
            table.add_row(part, f"{us:.1f}", f"{us / (request_us + export_us):.0%}")
        table.add_row(
            f"[bold]{whole}", f"{whole_us:.1f}", f"{whole_us / (request_us + export_us):.0%}", end_section=True
        )
    Console().print(table, ", ".join(map(str, machine.machine().values())))


def _difference_us(without: Callable[[], float], within: Callable[[], float], turns: int) -> float:
    """Median of the differences of two measurements in nanoseconds that take turns."""
    return statistics.median(-without() + within() for _ in range(turns)) / 1000


def _middleware(turns: int) -> dict[str, float]:
    """Opening a transaction and finishing it, up to the queue."""
    environ: Environ = {"REQUEST_METHOD": "GET", "PATH_INFO": "/request", "wsgi.url_scheme": "http"}
    opens_ns, finishes_ns = [], []
    for _ in range(20 * turns):
        started_ns = clock()
        opened = wsgi._open(dict(environ), started_ns)
        assert opened is not None
        opened_ns = clock()
        opened.finish()
        finishes_ns.append(clock() - opened_ns)
        opens_ns.append(opened_ns - started_ns)
    walltime.flush()
    return {
        "middleware: open": statistics.median(opens_ns) / 1000,
        "middleware: finish and queue": statistics.median(finishes_ns) / 1000,
    }


def _calls(shop: Shop, ours: Application, turns: int) -> dict[str, float]:
    parts = {
        f"{count} {client} calls": _difference_us(
            functools.partial(_calls_ns, shop, client, count), functools.partial(_calls_ns, ours, client, count), turns
        )
        for client, count in CALLS.items()
    }
    headers_us = _headers_us(turns)
    parts[f"{CALLS['http']} http calls"] -= headers_us
    return {**parts, "http: the headers, once a request": headers_us}


def _calls_ns(app: Application, client: str, count: int) -> float:
    spent_ns = [float(serve(app, f"/{client}", count)["bench.cpu_ns"]) for _ in range(10)]
    walltime.flush()
    return statistics.median(spent_ns)


def _headers_us(turns: int) -> float:
    spent_ns = []
    for _ in range(20 * turns):
        with walltime.transaction("headers"):
            transaction = running_transaction()
            started_ns = clock()
            propagation.outgoing_headers(transaction)
            spent_ns.append(clock() - started_ns)
    walltime.flush()
    return statistics.median(spent_ns) / 1000


def _export(ours: Application, probability: float, turns: int) -> dict[str, float]:
    """What the thread does with a transaction, by the functions it calls."""
    exporter = runtime.exporter()
    settings = runtime.settings()
    encoder = otlp.Encoder(otlp.resource(settings), walltime.__version__, probability, Redaction(b"salt"))
    sender = Sender(settings, dict(exporter.counts), request_of=lambda spans: encoder.request(spans, {}))
    taken: list[Transaction] = []
    spent_ns: dict[str, list[float]] = {"add up": [], "decide and encode": [], "send": []}
    submit = exporter.submit
    exporter.submit = taken.append  # type: ignore[method-assign,assignment]  # the requests are real, only the thread is not there
    for _ in range(turns):
        for _ in range(FLUSH_EVERY):
            serve(ours, "/request")
        started_ns = time.thread_time_ns()
        bills = [one.add_up(detail=True) for one in taken]
        added_ns = time.thread_time_ns()
        encoded = [
            encoder.transaction(one, bill, exporter._detail.why_kept(one))
            for one, bill in zip(taken, bills, strict=True)
        ]
        encoded_ns = time.thread_time_ns()
        for spans in encoded:
            sender.add(spans)
        sender.pack()
        sender.send_pending()
        spent_ns["send"].append(time.thread_time_ns() - encoded_ns)
        spent_ns["decide and encode"].append(encoded_ns - added_ns)
        spent_ns["add up"].append(added_ns - started_ns)
        taken.clear()
    exporter.submit = submit  # type: ignore[method-assign]
    sender.close()
    return {part: statistics.median(each) / FLUSH_EVERY / 1000 for part, each in spent_ns.items()}


def _request_thread_ns(app: Application) -> float:
    started_ns = time.thread_time_ns()
    for _ in range(FLUSH_EVERY):
        serve(app, "/request")
    spent_ns = time.thread_time_ns() - started_ns
    walltime.flush()
    return spent_ns / FLUSH_EVERY


def _export_thread_ns(app: Application) -> float:
    thread = runtime.exporter()._thread
    assert thread.ident is not None
    its_clock = time.pthread_getcpuclockid(thread.ident)
    started_ns = time.clock_gettime_ns(its_clock)
    for _ in range(FLUSH_EVERY):
        serve(app, "/request")
    walltime.flush()
    return (time.clock_gettime_ns(its_clock) - started_ns) / FLUSH_EVERY


if __name__ == "__main__":
    main()
