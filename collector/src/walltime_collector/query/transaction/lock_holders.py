"""The request of a lock's holder by its connection, where the database does not show what an idle connection ran."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ...clickhouse.engine import Engine
from ..other_side import Observed, meant
from ..queries import Row, run

_CLOCKS_NS: Final = 2_000_000_000
"""The last statement of the holder ended when it became idle, by clocks that may differ by this, or log seconds."""
_BEFORE_NS: Final = 60_000_000_000
"""A statement that is logged with its start ended later."""
_MOST: Final = 10_000


def with_holders(engine: Engine, waits: Sequence[Row]) -> list[Row]:
    """
    The waits (rows of queries/show/lock_waits.sql); those whose holder named no request with the request that fits.

    It is the one with the last statement on that connection, of the slow log or a kept call.

    Raises:
        EngineUnavailable: No answer.
    """
    unknown = [row for row in waits if not int(row["holder_trace"], 16) and row["holder_connection_id"]]
    if not unknown:
        return [*waits]
    said = run(
        engine,
        "show/holders",
        connections=sorted({int(row["holder_connection_id"]) for row in unknown}),
        since_ns=min(map(_became_idle_ns, unknown)) - _BEFORE_NS,
        until_ns=max(map(_became_idle_ns, unknown)) + _CLOCKS_NS,
        limit=_MOST,
    )
    return [_with_holder(row, said) if row in unknown else row for row in waits]


def _became_idle_ns(row: Row) -> int:
    return int(row["started_ns"] + row["waited_ns"] - row["holder_idle_ns"])


def _with_holder(row: Row, said: Sequence[Row]) -> Row:
    at_ns = _became_idle_ns(row)
    mine = [
        each
        for each in said
        if each["connection_id"] == row["holder_connection_id"] and abs(each["ended_ns"] - at_ns) <= _CLOCKS_NS
    ]
    here = [each for each in mine if meant(each["server"], [Observed(row["server"], "mysql")]) == row["server"]]
    if not here and len({each["server"] for each in mine}) == 1:
        here = mine  # a slow log has the name that its setting gave it
    if not here:
        return row
    last = min(here, key=lambda each: abs(each["ended_ns"] - at_ns))
    found: dict[str, Any] = {
        "holder_trace": last["trace"],
        "holder_span": last["span"],
        "holder_service": last["service"],
        "holder_route": last["route"],
        "holder_statement": row["holder_statement"] or last["statement"],
    }
    return {**row, **found}
