"""The longest waits for locks of one server."""

from __future__ import annotations

from dataclasses import dataclass

from ...clickhouse.engine import Engine
from ...conversion import from_row
from .. import other_side
from ..queries import run
from ..windows import Window

MOST = 20


@dataclass(frozen=True)
class WaitOnServer:
    """Who waited, for what, and who held it; texts are empty where they are unknown. See LockWait."""

    started_ns: int
    waited_ns: int
    """0 of a deadlock."""
    sort: str
    object: str
    index_name: str
    key: str
    statement: str
    holder_statement: str
    holder_running: str
    holder_idle_ns: int
    trace_id: str
    service: str
    name: str
    holder_trace_id: str
    holder_service: str
    holder_name: str


def lock_waits(engine: Engine, address: str, window: Window) -> tuple[WaitOnServer, ...]:
    """
    The longest ones first; none where the server is not observed.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    server = other_side.observed(engine, address, window)
    if server is None:
        return ()
    rows = run(engine, "servers/lock_waits", start_ns=window.start_ns, end_ns=window.end_ns, server=server, limit=MOST)
    return tuple(from_row(WaitOnServer, row) for row in rows)
