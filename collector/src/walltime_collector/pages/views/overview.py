"""The overview: response time, rate and errors of everything in the scope, and the kinds that take the time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from ...errors import BadParameter
from ...format import quoted
from ...query import kinds
from ...query.answers import RANKINGS, Top
from ...query.scoped.outlier import Outlier, outlier_over_time
from ...query.timeline import timeline
from ...query.top import top_of
from ..charts import Chart, by_component, failures, percentiles, rate
from ..request import PageRequest

PARAMS = {"by": "total", "limit": "50", "show": "mean"}
"""`by` is one of RANKINGS; `limit`, of the kinds; `show` is `mean` (of a transaction) or `total` (of each second)."""
_MOST_KINDS = 1_000
_LONG_NS = 15 * 60 * 1_000_000_000
"""From this length on, what begins and ends within a minute does not matter to the ranking."""


@dataclass(frozen=True)
class Overview:
    """The view model."""

    is_first_start: bool
    """No transaction is stored at all."""
    charts: tuple[Chart, ...]
    top: Top
    outlier: Outlier | None
    """The part of the time that was slow; None while a part is selected."""
    one_in: int
    """One in so many transactions was read; the numbers are estimates."""


def overview(request: PageRequest) -> Overview:
    """Answer the view."""
    by, limit, show = (request.params[name] for name in PARAMS)
    if by not in RANKINGS:
        raise BadParameter("by", f"{quoted(by)} is not one of its values", f"use {', '.join(RANKINGS)}")
    if not (limit.isascii() and limit.isdecimal() and len(limit) < 5 and 1 <= int(limit) <= _MOST_KINDS):
        raise BadParameter("limit", f"{quoted(limit)} is not a valid number", f"use 1 to {_MOST_KINDS}")
    if show not in ("mean", "total"):
        raise BadParameter("show", f"{quoted(show)} is not one of its values", "use mean or total")
    request = request.sampled()
    engine, now_ns, scope = request.engine, request.now_ns, request.selected
    if request.during is None and scope.window.end_ns - scope.window.start_ns >= _LONG_NS:
        scope = scope.in_whole_minutes()
    with ThreadPoolExecutor(1, "overview") as threads:
        ranking = threads.submit(top_of, engine, scope, now_ns, by=by, limit=int(limit))
        steps = timeline(engine, request.scope, now_ns)
        top = ranking.result()
    is_first_start = not any(steps.transactions) and not top.kinds and not kinds.services(engine)
    charts = (by_component(steps, each_second=show == "total"), rate(steps), failures(steps), percentiles(steps))
    outlier = outlier_over_time(steps) if request.during is None else None
    return Overview(is_first_start, charts, top, outlier, request.scope.one_in)
