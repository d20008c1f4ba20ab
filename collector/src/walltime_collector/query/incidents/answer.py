"""The typed answer about incidents, from the table in which the collector stores them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ...clickhouse.engine import Engine
from ...errors import NotStored
from ...format import iso_time, quoted, unix_ns
from ..answers import from_row
from ..queries import Row, run
from ..windows import Window

Measure = Literal["time", "errors", "calls", "hit_ratio"]
Severity = Literal["warning", "critical"]
Ending = Literal["", "over", "silent", "lasting"]
"""over: as usual again. silent: the kind has no transactions any more. lasting: after a day it is the new usual."""
_S = 1_000_000_000


@dataclass(frozen=True)
class Change:
    """What changed: nanoseconds per transaction, a share of 0 to 1 (errors, hit_ratio), or calls per transaction."""

    measure: Measure
    component: str
    """Of `calls` and `hit_ratio`; empty otherwise."""
    address: str
    """The server of `hit_ratio`; empty otherwise."""
    usual: float
    now: float
    """When it was seen last, at the end of an incident that is over."""
    worst: float


@dataclass(frozen=True)
class Incident:
    """A time in which a kind was not as usual."""

    id: str
    service: str
    name: str
    started_at: str
    opened_at: str
    """When the collector noticed it."""
    ended_at: str
    """While it is open: when it was last seen."""
    is_open: bool
    ended_because: Ending
    severity: Severity
    headline: str
    sentences: tuple[str, ...]
    """The explanation of `why`, the headline first; only what changed where `why` has no answer."""
    changes: tuple[Change, ...]
    usual_since: str
    usual_until: str
    """The explanation compares the incident with this time."""

    @property
    def window(self) -> Window:
        """The time that the explanation is about."""
        return Window(unix_ns(self.started_at), unix_ns(self.ended_at))

    @property
    def usual(self) -> Window:
        """The time that it is compared with."""
        return Window(unix_ns(self.usual_since), unix_ns(self.usual_until))


@dataclass(frozen=True)
class Incidents:
    """Those that were open at any time of a window: first the open ones, then the newest."""

    since: str
    until: str
    open: int
    incidents: tuple[Incident, ...]


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
    rows = _rows(engine, window, service=service, kind=kind, is_open=is_open, limit=limit)
    answer = tuple(map(_incident, rows))
    since, until = iso_time(window.start_ns), iso_time(window.end_ns)
    return Incidents(since, until, sum(each.is_open for each in answer), answer)


def incident(engine: Engine, incident_id: str) -> Incident:
    """
    One incident.

    Raises:
        NotStored: There is none with this id.
        EngineUnavailable: The engine cannot answer now.
    """
    rows = _rows(engine, Window(0, 0), incident_id=incident_id)
    if not incident_id or not rows:
        raise NotStored("id", f"there is no incident {quoted(incident_id)}", "`walltime incidents` lists them")
    return _incident(rows[0])


def _rows(
    engine: Engine,
    window: Window,
    *,
    incident_id: str = "",
    service: str = "",
    kind: str = "",
    is_open: bool = False,
    limit: int = 1,
) -> Sequence[Row]:
    return run(
        engine,
        "incidents/stored",
        id=incident_id,
        start_s=window.start_ns // _S,
        end_s=-(-window.end_ns // _S),
        service=service,
        kind=kind,
        is_open=is_open,
        limit=limit,
    )


def _incident(row: Row) -> Incident:
    return from_row(
        Incident,
        row,
        **{f"{name}_at": _iso(row[f"{name}_s"]) for name in ("started", "opened", "ended")},
        sentences=tuple(row["sentences"]),
        changes=tuple(Change(*each) for each in row["changes"]),
        usual_since=_iso(row["usual_since_s"]),
        usual_until=_iso(row["usual_until_s"]),
    )


def _iso(seconds: str | int) -> str:
    return iso_time(int(seconds) * _S)
