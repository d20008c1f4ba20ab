"""The comparison for people and for programs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final

from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from tests.bench import machine
from tests.bench.compare import METRICS, Plan, Result
from tests.bench.workload import CALLS

_COLUMNS: Final = {
    "sql_call_ns": ("SQL\ncall", "ns", 1),
    "memcache_call_ns": ("memcache\ncall", "ns", 1),
    "http_call_ns": ("HTTP\ncall", "µs", 1000),
    "request_cpu_ns": ("request\nCPU", "µs", 1000),
    "request_p50_ns": ("request\np50", "µs", 1000),
}
"""Metric → its name, and the unit people see it in."""


def for_people(results: list[Result], plan: Plan, foreign_cores: float | None) -> Group:
    """The table, and beside it what the numbers depend on."""
    bare, others = results[0], results[1:]
    table = Table(
        title="What the bare application costs, and what each adds to it", title_justify="left", box=box.SIMPLE_HEAD
    )
    table.add_column("", no_wrap=True)
    for name, unit, _ in _COLUMNS.values():
        table.add_column(f"{name}\n{unit}", justify="right", no_wrap=True)
    for heading in ("CPU\n× bare\n", "calls\ncounted\n/request", "calls\nas spans\n/request"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_row(
        "bare" + "\n[dim]  least of all slices",
        *[f"{_in_unit(bare.median_ns(m), m)}\n[dim]{_in_unit(bare.least_ns(m), m)}" for m in METRICS],
        end_section=True,
    )
    for result in others:
        added = {m: (result.overhead_ns(m), result.least_ns(m) - bare.least_ns(m)) for m in METRICS}
        median, least = added["request_cpu_ns"]
        ratios = (1 + median / bare.median_ns("request_cpu_ns"), 1 + least / bare.least_ns("request_cpu_ns"))
        table.add_row(
            f"{result.subject.name}\n[dim]  by the least",
            *[f"{_in_unit(added[m][0], m, '+')}\n[dim]{_in_unit(added[m][1], m, '+')}" for m in METRICS],
            f"{ratios[0]:.2f}\n[dim]{ratios[1]:.2f}",
            f"{result.recorded.counted.total() / result.requests:.2f}" if result.subject.bills else "",
            f"{result.recorded.spans.total() / result.requests:.2f}" if result.subject.probability else "",
        )
    return Group(table, Text(_notes(plan, foreign_cores), style="dim"))


def for_programs(results: list[Result], plan: Plan, foreign_cores: float | None) -> dict[str, Any]:
    """Every sample and what it depends on, and the figures as the table has them; times in nanoseconds."""
    return {
        "machine": machine.machine(),
        "versions": machine.versions(),
        "foreign_cores": foreign_cores,
        "plan": asdict(plan),
        "subjects": {
            result.subject.name: {
                "median": {metric: result.median_ns(metric) for metric in METRICS},
                "least": {metric: result.least_ns(metric) for metric in METRICS},
                "overhead": {metric: result.overhead_ns(metric) for metric in METRICS if result.around},
                "requests": result.requests,
                "recorded": {
                    "requests": result.recorded.requests,
                    "counted": dict(result.recorded.counted),
                    "spans": dict(result.recorded.spans),
                },
                "slices": result.slices,
                "bare_around": result.around,
            }
            for result in results
        },
    }


def _in_unit(ns: float, metric: str, sign: str = "") -> str:
    value = ns / _COLUMNS[metric][2]
    return format(value, f"{sign},.1f" if _COLUMNS[metric][2] > 1 and abs(value) < 100 else f"{sign},.0f")


def _notes(plan: Plan, foreign_cores: float | None) -> str:
    calls = ", ".join(f"{count} {client}" for client, count in CALLS.items())
    where = machine.machine()
    packages = ", ".join(f"{name} {version}" for name, version in machine.versions().items())
    foreign = "" if foreign_cores is None else f"Other programs kept {foreign_cores:.2f} cores busy meanwhile.\n"
    return (
        f"A request makes {sum(CALLS.values())} calls ({calls}) on canned sockets.\n"
        f"Median of {plan.processes * plan.rounds} slices of {plan.requests} requests, each less the bare slices "
        "before and after it; below, the least slice less the least bare one.\n"
        "Calls: CPU of the request's thread. Request: CPU of the whole process, export included; p50: wall time.\n"
        "Walltime's SQL carries the request id; OpenTelemetry's does not, for by default it is off there.\n"
        f"{foreign}{where['processor']}, {where['cores']} cores, {where['system']}, {where['python']}; {packages}."
    )
