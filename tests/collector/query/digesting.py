"""Slow logs for `walltime digest`, and what it prints of them."""

from __future__ import annotations

import io
import time
from collections.abc import Sequence
from typing import Any

from rich.console import Console, RenderableType
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.observe.slowlog.entry import Entry
from walltime_collector.observe.slowlog.rows import TABLE, rows
from walltime_collector.query.digest.answer import Digest
from walltime_collector.query.digest.rank import digest_of
from walltime_collector.query.scope import Filters, Scope
from walltime_collector.query.windows import Window

from tests.collector.traffic import Sent

HOUR_S = 3_600


def said(rendered: RenderableType, width: int = 120) -> str:
    console = Console(width=width, color_system=None, file=io.StringIO())
    with console.capture() as capture:
        console.print(rendered)
    return capture.get()


def digest(engine: Engine, *, since_s: int | None, service: str = "", **options: Any) -> Digest:
    """Of the last seconds, or of everything."""
    now_ns = time.time_ns()
    window = Window(0 if since_s is None else now_ns - since_s * 10**9, now_ns)
    return digest_of(engine, Scope(window, Filters(service=service)), **options)


def log_of(sent: Sent, text: str, *query_ns: int, **facts: Any) -> list[Entry]:
    """Entries as a server would have written them for a statement of this transaction."""
    comment = f" /*route='%2Fx',service='{sent.service}',traceparent='00-{sent.trace_id}-{sent.span_id}-01'*/"
    return [
        Entry(query_ns=each, started_us=sent.started_ns // 1_000, position=at, statement=text + comment, **facts)
        for at, each in enumerate(query_ns)
    ]


def keep(engine: Engine, entries: Sequence[Entry], token: str) -> None:
    engine.insert_rows(TABLE, rows(entries, "db", int(time.time())), token)
