"""All servers: what they cost, which of them became worse and when. One server: over time, who uses it for what."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from ...query.components import Sums, family
from ...query.incidents.answer import Incident
from ...query.other_side import ServerEvent
from ...query.scope import Steps
from ...query.servers.answer import Moment, Server, ServerDetail, Servers, ratio
from ...query.servers.lock_waits import WaitOnServer, lock_waits
from ...query.servers.rank import server, servers
from ...query.windows import Window
from ..charts import Chart, Series, Unit
from ..request import PageRequest
from .incidents import events_of_one, marks
from .observed import ObservedPart, observed_part

_MOST_SERIES = 12
_MOST_MOMENTS = 6
_LEAST_SHARE = 0.02
"""Of the time of all transactions: slow calls of a server with less explain nothing."""
_S = 1_000_000_000
Value = Callable[[Sums, float], float | None]
"""Of the sums of a step, and how many seconds of it have passed."""


@dataclass(frozen=True)
class Row:
    """A server: its sums over the selection, and what the whole time shows."""

    server: Server
    hit_ratios: tuple[float | None, ...]
    """Of each step; empty where nothing is looked up."""
    mean_ns: tuple[float | None, ...]
    """Of a call, in each step."""
    moments: tuple[Moment, ...]


@dataclass(frozen=True)
class Group:
    """The servers of one component."""

    component: str
    time_ns: int
    share: float
    skipped: int
    """Calls that were not made because their server was known to be dead."""
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Worse:
    """A server and when it was worse than usual."""

    component: str
    address: str
    moment: Moment


@dataclass(frozen=True)
class ServersPage:
    """The view model of all servers."""

    charts: tuple[Chart, ...]
    worse: tuple[Worse, ...]
    more_worse: int
    """Besides those in `worse`."""
    groups: tuple[Group, ...]
    longest_ns: int
    """Of the server that took the most time."""
    transactions: int
    seconds: float
    """Of the selection: the steps in which any server was called."""
    one_in: int
    """One in so many transactions was read; the numbers are estimates."""


@dataclass(frozen=True)
class ServerPage:
    """The view model of one server; `detail` is about the selection, the charts and moments about the whole time."""

    charts: tuple[Chart, ...]
    moments: tuple[Moment, ...]
    detail: ServerDetail
    seconds: float
    one_in: int
    incidents: tuple[Incident, ...]
    """Of the kinds that call it, in the time; the open ones first."""
    events: tuple[ServerEvent, ...]
    """That happened on it."""
    lock_waits: tuple[WaitOnServer, ...]
    """The longest ones of the selection."""
    observed: ObservedPart | None
    """What it says of itself over the whole time; None of what is no database or cache."""


def all_servers(request: PageRequest) -> ServersPage:
    """Answer the view."""
    request = request.sampled()
    whole = servers(request.engine, request.scope)
    selected = whole if request.during is None else servers(request.engine, request.selected)
    of_whole = {(each.component, each.address): each for each in whole.servers}
    rows = [_row(each, of_whole.get((each.component, each.address))) for each in selected.servers]
    worse = [
        Worse(each.component, each.address, moment)
        for each in whole.servers
        for moment in each.moments
        if each.share >= _LEAST_SHARE or moment.measure != "time_per_call"
    ]
    # a hit ratio first: what it causes elsewhere is a consequence
    worse.sort(key=lambda each: (each.moment.measure != "hit_ratio", each.moment.start_ns))
    return ServersPage(
        _all_charts(whole, request),
        tuple(worse[:_MOST_MOMENTS]),
        max(len(worse) - _MOST_MOMENTS, 0),
        _groups(rows, selected),
        max((each.time_ns for each in selected.servers), default=0),
        selected.transactions,
        sum(_seconds(request, selected.steps, selected.servers, request.selected.window)),
        request.scope.one_in,
    )


def one_server(request: PageRequest) -> ServerPage:
    """Answer the view."""
    component, address = request.path["component"], request.path["address"]
    request = request.sampled()
    detail = server(request.engine, request.selected, component, address)
    whole, steps, beside = detail.server, detail.steps, [detail.server, *detail.others]
    if request.during is not None:
        everything = servers(request.engine, request.scope)
        same = [each for each in everything.servers if (each.component, each.address) == (component, address)]
        if same:  # the selection may lie outside of the time
            whole, steps, beside = same[0], everything.steps, list(everything.servers)
    seconds = _seconds(request, steps, beside, request.scope.window)

    def lines(identity: str, title: str, unit: Unit, name: str, value: Value, colour: str = "") -> Chart:
        series = _series([(name, colour or family(component), whole.steps)], seconds, value)
        return Chart(identity, title, "lines", unit, steps.start_ns // _S, steps.step_s, series)

    charts = [
        *([lines("hit-ratio", "Hit ratio", "share", "hits of all lookups", _hit_ratio)] if _looks_up(whole) else []),
        lines("time-per-call", "Time per call", "ns", "mean", _mean_ns),
        lines("calls", "Calls", "per s", "calls", _calls_per_s),
        *([lines("errors", "Errors", "per s", "errors", _errors_per_s, "bad")] if whole.errors else []),
    ]
    passed_s = sum(_seconds(request, detail.steps, [detail.server, *detail.others], request.selected.window))
    users = {(each.service, each.name) for each in detail.users}
    of_users = tuple(each for each in marks(request) if (each.service, each.name) in users)
    return ServerPage(
        tuple(charts),
        whole.moments,
        detail,
        passed_s,
        request.scope.one_in,
        of_users,
        events_of_one(request, address),
        lock_waits(request.engine, address, request.selected.window) if component.startswith("mysql.") else (),
        observed_part(request, component, address, steps),
    )


def _seconds(request: PageRequest, steps: Steps, known: Sequence[Server], window: Window) -> list[float]:
    """How much of each step has passed; 0 where none of these servers was called: most likely nothing was measured."""
    called = [any(each.steps[at].calls for each in known) for at in range(steps.count)]
    passed_s = steps.seconds(window, request.now_ns)
    return [seconds if is_called else 0.0 for seconds, is_called in zip(passed_s, called, strict=True)]


def _row(each: Server, whole: Server | None) -> Row:
    steps = whole.steps if whole else ()
    ratios = tuple(_hit_ratio(sums, 1) for sums in steps) if whole and _looks_up(whole) else ()
    return Row(each, ratios, tuple(_mean_ns(sums, 1) for sums in steps), whole.moments if whole else ())


def _groups(rows: Sequence[Row], answer: Servers) -> tuple[Group, ...]:
    names = dict.fromkeys(each.server.component for each in rows)
    groups = []
    for name in [*names, *(each for each in answer.skipped if each not in names)]:
        mine = tuple(each for each in rows if each.server.component == name)
        time_ns = sum(each.server.time_ns for each in mine)
        groups.append(Group(name, time_ns, time_ns / max(answer.total_ns, 1), answer.skipped.get(name, 0), mine))
    return tuple(sorted(groups, key=lambda each: (-each.time_ns, each.component)))


def _all_charts(whole: Servers, request: PageRequest) -> tuple[Chart, ...]:
    seconds = _seconds(request, whole.steps, whole.servers, request.scope.window)

    def chart(identity: str, title: str, unit: Unit, value: Value, shown: Sequence[Server], about: str) -> Chart:
        several = len({each.component for each in shown}) > 1
        named = [
            (f"{each.address} {each.component}" if several else each.address, _colour(each, unit), each.steps)
            for each in shown[:_MOST_SERIES]
        ]
        drawing: Literal["lines", "stacked"] = "lines" if unit == "share" else "stacked"
        series = _series(named, seconds, value)
        return Chart(identity, title, drawing, unit, whole.steps.start_ns // _S, whole.steps.step_s, series, about)

    more = "" if len(whole.servers) <= _MOST_SERIES else f", the first {_MOST_SERIES} of {len(whole.servers)}"
    charts = [
        chart("time", "Time by server", "ns", _time_per_s, whole.servers, f"total time of each second{more}"),
    ]
    if caches := [each for each in whole.servers if _looks_up(each)]:
        charts.append(chart("hit-ratio", "Hit ratio", "share", _hit_ratio, caches, "hits of all lookups"))
    return tuple(charts)


def _series(
    named: Sequence[tuple[str, str, Sequence[Sums]]], seconds: Sequence[float], value: Value
) -> tuple[Series, ...]:
    """One line for each name, family and steps; a step without a call is a gap."""
    shades: dict[str, int] = {}
    series = []
    for name, colour, steps in named:
        shades[colour] = shade = shades.get(colour, -1) + 1
        values = tuple(
            value(sums, passed_s) if sums.calls else None for sums, passed_s in zip(steps, seconds, strict=True)
        )
        whole = value(_sum(steps), sum(seconds))
        series.append(Series(name, values, whole, colour, shade))
    return tuple(series)


def _sum(steps: Sequence[Sums]) -> Sums:
    return Sums(**{name: sum(getattr(each, name) for each in steps) for name in vars(Sums())})


def _colour(each: Server, unit: Unit) -> str:
    """That of its family; a hit ratio that fell stands out."""
    has_fallen = unit == "share" and any(moment.measure == "hit_ratio" for moment in each.moments)
    return "bad" if has_fallen else family(each.component)


def _looks_up(each: Server) -> bool:
    return each.hit_ratio is not None


def _hit_ratio(sums: Sums, _: float) -> float | None:
    return ratio(sums.hits, sums.misses)


def _mean_ns(sums: Sums, _: float) -> float | None:
    return round(sums.time_ns / sums.calls) if sums.calls else None


def _calls_per_s(sums: Sums, seconds: float) -> float | None:
    return sums.calls / seconds if seconds else None


def _errors_per_s(sums: Sums, seconds: float) -> float | None:
    return sums.errors / seconds if seconds else None


def _time_per_s(sums: Sums, seconds: float) -> float | None:
    return round(sums.time_ns / seconds) if seconds else None
