"""Transactions for `walltime show`, and what it prints of them."""

from __future__ import annotations

import io
import secrets
import time

from rich.console import Console
from walltime_collector.cli.show import render
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.query.answers import Trace
from walltime_collector.query.transaction.show import show
from walltime_collector.query.transaction.wording import choose

from tests.collector.traffic import MS, Sent


def said(trace: Trace, width: int = 120, span: str = "", most_calls: int = 60) -> str:
    console = Console(width=width, color_system=None, file=io.StringIO())
    with console.capture() as capture:
        console.print(render(trace, choose(trace, span), console, most_calls))
    return capture.get()


def asked(engine: Engine, trace_id: str) -> Trace:
    trace = show(engine, trace_id)
    assert trace is not None
    return trace


def make(
    name: str = "GET /x", *, trace: str = "", parent: str = "", duration_ns: int = 10 * MS, **fields: object
) -> Sent:
    sent = Sent(trace or secrets.token_hex(16), secrets.token_hex(8), name, time.time_ns(), duration_ns)
    sent.parent_span_id = parent
    for field, value in fields.items():
        setattr(sent, field, value)
    return sent
