"""Reads incidents from the table in which the collector stores them."""

from __future__ import annotations

from ...clickhouse.engine import Engine, Parameter
from ...conversion import from_row
from ...errors import NotStored
from ...format import iso_time, quoted
from ..queries import Row, run
from ..windows import Window
from .answer import Change, Incident, Incidents

_S = 1_000_000_000


def incidents(
    engine: Engine, window: Window, *, service: str = "", kind: str = "", is_open: bool = False, limit: int = 100
) -> Incidents:
    """
    The incidents of a window.

    Args:
        is_open: Only those that are open.

    Raises:
        EngineUnavailable: The engine cannot answer now.
    """
    start_s, end_s = window.start_ns // _S, -(-window.end_ns // _S)
    params: dict[str, Parameter] = {"service": service, "kind": kind, "is_open": is_open, "limit": limit}
    rows = run(engine, "incidents/stored", id="", start_s=start_s, end_s=end_s, **params)
    answer = tuple(map(_incident, rows))
    since, until = iso_time(window.start_ns), iso_time(window.end_ns)
    first = rows[0] if rows else {"all_open": 0, "all_incidents": 0}
    return Incidents(since, until, int(first["all_open"]), int(first["all_incidents"]), answer)


def incident(engine: Engine, incident_id: str) -> Incident:
    """
    One incident.

    Raises:
        NotStored: There is none with this id.
        EngineUnavailable: The engine cannot answer now.
    """
    everything: dict[str, Parameter] = {"start_s": 0, "end_s": 0, "service": "", "kind": "", "is_open": False}
    rows = run(engine, "incidents/stored", id=incident_id, **everything, limit=1)
    if not incident_id or not rows:
        raise NotStored("id", f"there is no incident {quoted(incident_id)}", "`walltime incidents` lists them")
    return _incident(rows[0])


def _incident(row: Row) -> Incident:
    return from_row(
        Incident,
        row,
        **{f"{name}_at": _iso(row[f"{name}_s"]) for name in ("started", "opened", "ended", "explained")},
        sentences=tuple(row["sentences"]),
        changes=tuple(Change(*each) for each in row["changes"]),
        usual_since=_iso(row["usual_since_s"]),
        usual_until=_iso(row["usual_until_s"]),
    )


def _iso(seconds: str | int) -> str:
    """Empty for the column's default."""
    return iso_time(int(seconds) * _S) if int(seconds) else ""
