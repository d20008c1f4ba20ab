"""The charts of what a database or cache says of itself, and of who keeps it busy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ...format import count, size
from ...query.names import shown
from ...query.scope import Steps
from ...query.servers.answer import ratio
from ...query.servers.status import Active, CacheSaid, MysqlSaid, Said, Status
from ..charts import Chart, Series, Unit

_S = 1_000_000_000
_LONG_HISTORY = 1_000
"""A history list of fewer old versions is purged as fast as it grows."""
_NEAR_LIMIT = 0.5
Value = Callable[[Said], float | None]
AnyStatus: TypeAlias = Status[MysqlSaid] | Status[CacheSaid]


@dataclass(frozen=True)
class _Line:
    name: str
    value: Value
    colour: str = ""
    """That of the server's system by default."""


@dataclass(frozen=True)
class _Plan:
    """A chart; without any value above `least` it is `quiet`."""

    id: str
    title: str
    unit: Unit
    lines: tuple[_Line, ...]
    about: str = ""
    quiet: str = ""
    least: float = 0.0
    is_logarithmic: bool = False
    limit: str = ""
    """The field that the first line cannot exceed."""


def load_charts(system: str, colour: str, status: AnyStatus, steps: Steps) -> tuple[list[Chart], tuple[str, ...]]:
    """
    The most telling first; and what did not happen, in place of its chart.

    Args:
        system: mysql, memcached or redis.
        colour: The family of the server's components.
    """
    plans = _MYSQL if system == "mysql" else _CACHE
    drawn = [each for each in plans if _is_drawn(each, status)]
    quiet = [each.quiet for each in plans if each.quiet and each not in drawn and _is_known(each, status)]
    return [_chart(each, colour, status, steps) for each in drawn], tuple(quiet)


def active_chart(kinds: Sequence[Active], seconds: Sequence[float], status: AnyStatus, steps: Steps) -> Chart:
    """
    How many statements a database works on at once, and for whom: time divided by the time that passed.

    Args:
        seconds: How much of each step has passed.
    """
    is_known = [bool(passed_s) and any(each.time_ns[at] for each in kinds) for at, passed_s in enumerate(seconds)]
    known_s = sum(passed_s for passed_s, known in zip(seconds, is_known, strict=True) if known)
    has_services = len({each.service for each in kinds if each.name}) > 1
    series = []
    for at, each in enumerate(kinds):
        values = tuple(
            round(time_ns / _S / passed_s, 4) if known else None
            for time_ns, passed_s, known in zip(each.time_ns, seconds, is_known, strict=True)
        )
        whole = sum(each.time_ns) / _S / known_s if known_s else None
        name = f"{shown(each.name)}{f' {each.service}' * has_services}" if each.name else f"{each.kinds} more"
        series.append(Series(name, values, whole, f"c{at}" if each.name else "other"))
    running = _gauge("threads_running")
    said = tuple(running(each) if each else None for each in status.of_steps)
    series.append(Series("threads running", said, running(status.whole), "server", is_beside=True))
    about = "by kind of request; the line is what the server says"
    return Chart(
        *("server-active", "Average active statements", "stacked", "count"),
        *(steps.start_ns // _S, steps.step_s, tuple(series), about),
    )


def _is_known(plan: _Plan, status: AnyStatus) -> bool:
    return any(line.value(status.whole) is not None for line in plan.lines)


def _is_drawn(plan: _Plan, status: AnyStatus) -> bool:
    values = (line.value(each) for line in plan.lines for each in status.of_steps if each)
    return any(value is not None and value > plan.least for value in values)


def _chart(plan: _Plan, colour: str, status: AnyStatus, steps: Steps) -> Chart:
    about, shades = plan.about, dict[str, int]()
    lines = list(plan.lines)
    if limit := plan.limit and int(getattr(status.whole, plan.limit)):
        most = lines[0].value(status.whole) or 0
        if most >= _NEAR_LIMIT * limit:
            lines.append(_Line("limit", lambda _: limit, "limit"))
        else:
            shown_limit = size(limit) if plan.unit == "bytes" else count(limit)
            about = f"{about}, of {shown_limit}" if about else f"of {shown_limit}"
    series = []
    for line in lines:
        own = line.colour or colour
        shades[own] = shade = shades.get(own, -1) + 1
        values = tuple(line.value(each) if each else None for each in status.of_steps)
        series.append(Series(line.name, values, line.value(status.whole), own, shade))
    start_s = steps.start_ns // _S
    return Chart(
        plan.id, plan.title, "lines", plan.unit, start_s, steps.step_s, tuple(series), about, plan.is_logarithmic
    )


def _per_s(name: str) -> Value:
    """Of a counter."""
    return lambda said: float(f"{getattr(said, name) * _S / max(said.over_ns, 1):.4g}")


def _gauge(name: str) -> Value:
    """Of a number that is no counter."""
    return lambda said: None if (value := getattr(said, name)) is None else float(value)


def _hit_ratio(said: Said) -> float | None:
    return ratio(said.hits, said.misses) if isinstance(said, CacheSaid) else None


_CONNECTIONS = _Plan(
    *("server-connections", "Connections", "count", (_Line("most at once", _gauge("most_connected")),)),
    limit="max_connections",
)
_REFUSED = _Plan(
    *("server-refused", "Refused connections", "per s", (_Line("refused", _per_s("refused_connections"), "bad"),)),
    about="at the limit of connections",
    quiet="no refused connections",
)
_MYSQL = (
    _CONNECTIONS,
    _Plan(
        *("server-buffer-pool", "Buffer pool", "per s"),
        (_Line("reads", _per_s("page_requests")), _Line("from disk", _per_s("page_misses"), "bad")),
        about="pages, on a logarithmic axis",
        is_logarithmic=True,
    ),
    _Plan(
        *("server-work", "Statements and rows", "per s"),
        (
            _Line("statements", _per_s("queries"), "ok"),
            _Line("rows read", _per_s("rows_read")),
            _Line("rows written", _per_s("rows_changed"), "p99"),
        ),
        about="on a logarithmic axis",
        is_logarithmic=True,
    ),
    _Plan(
        *("server-row-locks", "Waits for row locks", "ns", (_Line("waited", _per_s("row_lock_wait_ns")),)),
        about="total of each second",
        quiet="no waits for row locks",
    ),
    _Plan(
        *("server-tmp-tables", "Temporary tables on disk", "per s", (_Line("created", _per_s("tmp_tables_on_disk")),)),
        quiet="no temporary tables on disk",
    ),
    _Plan(
        *("server-history", "History list", "count", (_Line("old row versions", _gauge("history_list")),)),
        about="kept for a long transaction",
        least=_LONG_HISTORY,
    ),
    _Plan(
        *("server-lag", "Replication lag", "ns", (_Line("behind its source", _gauge("replication_lag_ns")),)),
        quiet="no replication lag",
    ),
    _REFUSED,
)
_CACHE = (
    _Plan(
        *("server-hit-ratio", "Hit ratio", "share", (_Line("hits of all lookups", _hit_ratio),)),
        about="of all its clients",
        least=-1.0,
    ),
    _Plan(
        *("server-evictions", "Evicted and expired", "per s"),
        (_Line("evicted", _per_s("evictions"), "bad"), _Line("expired", _per_s("expired"), "other")),
        quiet="no evictions",
    ),
    _Plan(*("server-memory", "Memory", "bytes", (_Line("used", _gauge("most_bytes")),)), limit="max_bytes"),
    _Plan(*("server-operations", "Operations", "per s", (_Line("commands", _per_s("commands")),))),
    _CONNECTIONS,
    _REFUSED,
)
