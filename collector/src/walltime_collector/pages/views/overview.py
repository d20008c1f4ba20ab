"""The overview: response time, rate and errors of everything in the scope, and the kinds that take the time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from ...http.parameters import limit, one_of
from ...query import kinds
from ...query.answers import RANKINGS, Top
from ...query.incidents.answer import Incident
from ...query.other_side import ServerEvent
from ...query.scoped.outlier import Outlier, outlier_over_time
from ...query.timeline import Timeline, timeline
from ...query.top import top_of
from ..charts import Chart, by_component, failures, percentiles, rate
from ..request import PageRequest
from .incidents import events, marks

PARAMS = {"by": "total", "limit": "50", "show": "mean"}
"""`by` is one of RANKINGS; `limit`, of the kinds; `show` is `mean` (of a transaction) or `total` (of each second)."""
_SHORTER = (("5m", 300), ("15m", 900), ("1h", 3_600), ("6h", 21_600), ("1d", 86_400))
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
    shorter: str
    """A shorter time that has everything the charts show; empty when it fills a quarter of them or more."""
    incidents: tuple[Incident, ...]
    """That were open in the time; the open ones first."""
    events: tuple[ServerEvent, ...]
    """On databases and caches, in the time."""


def overview(request: PageRequest) -> Overview:
    """Answer the view."""
    by, most = one_of("by", request.params["by"], RANKINGS), limit(request.params["limit"])
    show = one_of("show", request.params["show"], ("mean", "total"))
    request = request.sampled()
    engine, now_ns, scope = request.engine, request.now_ns, request.selected
    if request.during is None and scope.window.end_ns - scope.window.start_ns >= _LONG_NS:
        scope = scope.in_whole_minutes()
    with ThreadPoolExecutor(1, "overview") as threads:
        ranking = threads.submit(top_of, engine, scope, now_ns, by=by, limit=most)
        steps = timeline(engine, request.scope, now_ns)
        top = ranking.result()
    seen = marks(request)
    is_first_start = not any(steps.transactions) and not top.kinds and not kinds.services(engine)
    charts = (by_component(steps, each_second=show == "total"), rate(steps), failures(steps), percentiles(steps))
    outlier = outlier_over_time(steps) if request.during is None and not seen else None
    shorter = _shorter(request, steps)
    return Overview(is_first_start, charts, top, outlier, request.scope.one_in, shorter, seen, events(request))


def _shorter(request: PageRequest, steps: Timeline) -> str:
    first = next((at for at, transactions in enumerate(steps.transactions) if transactions), 0)
    if request.during is not None or first < len(steps.transactions) * 3 / 4:
        return ""
    passed_s = request.now_ns / 1e9 - steps.start_ns / 1e9 - first * steps.step_s
    whole_s = len(steps.transactions) * steps.step_s
    return next((f"last {text}" for text, seconds in _SHORTER if passed_s <= seconds < whole_s / 2), "")
