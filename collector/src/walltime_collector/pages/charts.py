"""What a chart shows: series over steps of time. templates/parts/shared.html writes it, static/charts.js draws it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from ..format import count, duration, share, size
from ..query.answers import Share
from ..query.components import FAMILIES, Component, family
from ..query.timeline import Timeline

Unit = Literal["ns", "per s", "share", "count", "bytes"]
_FORMATS: dict[Unit, Callable[[float], str]] = {
    "ns": duration,
    "per s": lambda value: f"{count(float(f'{value:.3g}'))}/s",
    "share": share,
    "count": count,
    "bytes": size,
}
_MOST_SERIES = 12
_LEAST_OF_A_STEP = 0.25
"""A step of which less has passed has no rate: it would be of too few transactions."""


@dataclass(frozen=True)
class Series:
    """One value for each step, None for a gap."""

    name: str
    values: tuple[float | None, ...]
    whole: float | None
    """The value for the whole window, which the legend shows."""
    family: str
    """Its colour: one of components.FAMILIES, or a class of walltime.css (`ok`, `bad`, `p50` …)."""
    shade: int = 0
    """The series of one family have different shades: 0, 1, …"""
    is_beside: bool = False
    """In a stacked chart: a line that is no part of the stack."""


@dataclass(frozen=True)
class Chart:
    """A chart over time."""

    id: str
    title: str
    drawing: Literal["stacked", "lines", "bars"]
    unit: Unit
    start_s: int
    step_s: int
    series: tuple[Series, ...]
    about: str = ""
    """One sentence below the title."""
    is_logarithmic: bool = False
    """For lines of very different heights; 0 is at the bottom."""

    def text(self, value: float | None) -> str:
        """A value as the legend shows it."""
        return "–" if value is None else _FORMATS[self.unit](value)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to draw."""
        return not any(value is not None for each in self.series for value in each.values)


class HasBill(Protocol):
    """A kind or a transaction."""

    @property
    def components(self) -> Sequence[Share | Component]:
        """Names and times."""

    @property
    def other_ns(self) -> int:
        """Time in no component."""


def bill(of: HasBill) -> list[tuple[str, int]]:
    """The parts of a bar: component and time, families in their order, the longest part of a family first."""
    parts = [(each.name, each.time_ns) for each in of.components if each.time_ns > 0] + [("other", of.other_ns)]
    return sorted(parts, key=lambda part: (FAMILIES.index(family(part[0])), -part[1], part[0]))


def by_component(timeline: Timeline, *, each_second: bool = False) -> Chart:
    """Time by component, stacked as in a bar: the mean of a transaction, or the total of each second."""
    divisors = seconds(timeline) if each_second else timeline.transactions
    known = sum(each for each, counted in zip(divisors, timeline.transactions, strict=True) if counted)
    parts = [(each.name, each.time_ns) for each in timeline.components]
    if len(parts) > _MOST_SERIES:
        rest = [sum(values) for values in zip(*(values for _, values in parts[_MOST_SERIES - 1 :]), strict=True)]
        parts = [*parts[: _MOST_SERIES - 1], (f"{len(parts) - _MOST_SERIES + 1} more", tuple(rest))]
    parts.sort(key=lambda part: FAMILIES.index(family(part[0])))
    shades: dict[str, int] = {}
    series = []
    for name, sums_ns in [*parts, ("other", timeline.other_ns)]:
        shades[family(name)] = shade = shades.get(family(name), -1) + 1
        values = tuple(
            round(time_ns / divisor) if counted and divisor else None
            for time_ns, divisor, counted in zip(sums_ns, divisors, timeline.transactions, strict=True)
        )
        whole_ns = sum(time_ns for time_ns, divisor in zip(sums_ns, divisors, strict=True) if divisor)
        series.append(Series(name, values, whole_ns / known if known else None, family(name), shade))
    return Chart(
        "by-component",
        "Time by component",
        "stacked",
        "ns",
        timeline.start_ns // 1_000_000_000,
        timeline.step_s,
        tuple(series),
        "total of each second" if each_second else "mean of a transaction",
    )


def calls_per_transaction(timeline: Timeline) -> Chart:
    """How many calls of each component a transaction makes, on average."""
    transactions = (timeline.transactions,) * len(timeline.components)
    calls = [each.calls for each in timeline.components]
    return _ratios("calls-per-transaction", "Calls per transaction", "count", timeline, calls, transactions)


def time_per_call(timeline: Timeline) -> Chart:
    """How long one call of each component takes, on average."""
    times_ns = [each.time_ns for each in timeline.components]
    calls = [each.calls for each in timeline.components]
    chart = _ratios("time-per-call", "Time per call", "ns", timeline, times_ns, calls)
    return replace(chart, about="mean, on a logarithmic axis", is_logarithmic=True)


def _ratios(
    identity: str,
    title: str,
    unit: Unit,
    timeline: Timeline,
    dividends: Sequence[Sequence[int]],
    divisors: Sequence[Sequence[int]],
) -> Chart:
    """A line for each component that has calls; a step without a divisor is a gap."""
    shades: dict[str, int] = {}
    series: list[Series] = []
    for component, above, below in zip(timeline.components, dividends, divisors, strict=True):
        if len(series) == _MOST_SERIES or not sum(component.calls):
            continue
        colour = family(component.name)
        shades[colour] = shade = shades.get(colour, -1) + 1
        values = tuple(float(f"{one / each:.4g}") if each else None for one, each in zip(above, below, strict=True))
        series.append(Series(component.name, values, sum(above) / sum(below), colour, shade))
    start_s = timeline.start_ns // 1_000_000_000
    return Chart(identity, title, "lines", unit, start_s, timeline.step_s, tuple(series))


def percentiles(timeline: Timeline) -> Chart:
    """p50, p95 and p99 of the durations."""
    series = (
        Series("p99", timeline.p99_ns, timeline.whole_p99_ns, "p99"),
        Series("p95", timeline.p95_ns, timeline.whole_p95_ns, "p95"),
        Series("p50", timeline.p50_ns, timeline.whole_p50_ns, "p50"),
    )
    start_s = timeline.start_ns // 1_000_000_000
    return Chart("percentiles", "Durations", "lines", "ns", start_s, timeline.step_s, series)


def rate(timeline: Timeline) -> Chart:
    """Transactions a second."""
    divisors = seconds(timeline)
    known_s = sum(each for each, counted in zip(divisors, timeline.transactions, strict=True) if counted)
    values = tuple(
        float(f"{counted / divisor:.4g}") if divisor and counted else None
        for counted, divisor in zip(timeline.transactions, divisors, strict=True)
    )
    known = sum(counted for counted, divisor in zip(timeline.transactions, divisors, strict=True) if divisor)
    series = (Series("transactions", values, known / known_s if known_s else None, "ok"),)
    return Chart("rate", "Rate", "bars", "per s", timeline.start_ns // 1_000_000_000, timeline.step_s, series)


def failures(timeline: Timeline) -> Chart:
    """The share of the transactions that failed."""
    values = tuple(
        float(f"{failed / counted:.4g}") if counted else None
        for failed, counted in zip(timeline.errors, timeline.transactions, strict=True)
    )
    whole = sum(timeline.errors) / sum(timeline.transactions) if any(timeline.transactions) else None
    series = (Series("failed", values, whole, "bad"),)
    return Chart("failures", "Errors", "bars", "share", timeline.start_ns // 1_000_000_000, timeline.step_s, series)


def seconds(timeline: Timeline) -> tuple[float, ...]:
    """The divisors of rates: how much of each step has passed, 0 while that is too little."""
    least_s = timeline.step_s * _LEAST_OF_A_STEP
    return tuple(each if each >= least_s else 0.0 for each in timeline.seconds)
