"""The collector: whether it works, where every span is, what waits, disk and retention, dead letters, applications."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from ...errors import EngineUnavailable
from ...format import count, plural
from ...health.applications import Applications, applications
from ...health.checks import (
    Check,
    Level,
    check_data_moves,
    check_database,
    check_disk,
    check_incidents,
    check_servers,
    check_slow_logs,
    counted_problems,
    over_limit,
    redacted,
    worst,
)
from ...health.findings import Finding, described, findings
from ...health.history import History, Step, history
from ...health.status import Status
from ...spool.dead_letters import Letter
from ..charts import Chart, Series
from ..request import PageRequest

T = TypeVar("T")
_MOST_LETTERS = 100
_RECENT_S = 3_600
_MINUTE_NS = 60_000_000_000


@dataclass(frozen=True)
class Service:
    """A service that sent data in the last week, its losses, and what was found in its data."""

    name: str
    first_minute_s: int
    last_minute_s: int
    """0: no transaction in 7 days."""
    about: str
    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class CollectorPage:
    """The view model; without the engine there are no tables, services and charts."""

    verdict: Level
    sentence: str
    checks: tuple[Check, ...]
    """The failures first."""
    since_start: tuple[str, ...]
    """Problems that were counted since the start, last in the hour before now; the verdict is not OK."""
    earlier: tuple[str, ...]
    """Those that were counted before; they do not change the verdict."""
    status: Status
    is_admin: bool
    letters: tuple[Letter, ...]
    all_letters: int
    services: tuple[Service, ...]
    charts: tuple[Chart, ...]


def collector(request: PageRequest) -> CollectorPage:
    """Answer the view."""
    whole = request.sources.status()
    status = whole if request.is_admin else redacted(whole)
    services, charts = _if_answered(lambda: _services(request)), _if_answered(lambda: _charts(request))
    slow_logs, servers = check_slow_logs(whole), check_servers(whole)
    if not request.is_admin:
        slow_logs, servers = _without_paths(slow_logs, whole), _without_addresses(servers, whole)
    problems = {
        problem: min(map(request.sources.health.ago_s, counters)) for problem, counters in counted_problems(status)
    }
    recent = [problem for problem, ago_s in problems.items() if ago_s < _RECENT_S]
    since_start = (*recent, *over_limit(status))
    moves, disk, database = check_data_moves(status), check_disk(status), check_database(status)
    checks = (moves, disk, database, slow_logs, servers, check_incidents(status))
    levels = [check.level for check in checks]
    levels += ["FAIL" if finding.is_failure else "WARN" for service in services for finding in service.findings]
    verdict = worst([*levels, "WARN"] if since_start else levels)
    letters = request.sources.dead_letters()
    return CollectorPage(
        verdict,
        _sentence(verdict, checks, services, since_start),
        tuple(sorted(checks, key=lambda check: check.level == "OK")),
        since_start,
        tuple(problem for problem in problems if problem not in recent),
        status,
        request.is_admin,
        tuple(letters[:_MOST_LETTERS]),
        len(letters),
        services,
        charts,
    )


def _sentence(
    verdict: Level, checks: tuple[Check, ...], services: tuple[Service, ...], since_start: tuple[str, ...]
) -> str:
    """The verdict in words."""
    failed = [check for check in checks if check.level == "FAIL"]
    failing = [service.name for service in services if any(finding.is_failure for finding in service.findings)]
    warnings = len(since_start) + sum(not each.is_failure for service in services for each in service.findings)
    if failed:
        more = len(failed) - 1 + len(failing)
        others = f"; {plural(more, 'more failure')} below" if more else ""
        return f"{failed[0].what[:1].upper()}{failed[0].what[1:]}{others}"
    if failing:
        applications = plural(len(failing), "application")
        others = f" and {len(failing) - 5} more" if len(failing) > 5 else ""
        return f"The collector works; data of {applications} is lost or wrong: {', '.join(failing[:5])}{others}"
    if verdict == "WARN":
        return f"Data moves, every span is accounted for; {plural(warnings, 'warning')}"
    return "Data moves, every span is accounted for"


def _without_paths(check: Check, status: Status) -> Check:
    """The check of the slow logs for readers who may not see paths."""
    if not status.slow_logs:
        return check
    failed = sum(map(bool, status.slow_logs.values()))
    followed = plural(len(status.slow_logs) - failed, "slow log")
    return replace(check, what=f"{followed} followed" + (f", {count(failed)} cannot be read" if failed else ""))


def _without_addresses(check: Check, status: Status) -> Check:
    """The check of the observed servers for readers who may not see addresses."""
    if not status.servers:
        return check
    failed = sum(bool(error) for error, _ in status.servers.values())
    observed = plural(len(status.servers) - failed, "server")
    return replace(check, what=f"{observed} observed" + (f", {count(failed)} cannot be asked" if failed else ""))


def _services(request: PageRequest) -> tuple[Service, ...]:
    key = ("applications", request.now_ns // _MINUTE_NS)  # it reads a day of kept calls
    seen: Applications = request.sources.minutely.get(key, lambda: applications(request.engine))
    every = findings(seen)
    return tuple(
        Service(
            each.service,
            each.first_minute_s,
            each.last_minute_s,
            described(each, request.now_ns / 1e9),
            tuple(finding for finding in every if finding.service == each.service),
        )
        for each in seen.applications
    )


def _charts(request: PageRequest) -> tuple[Chart, ...]:
    over_time = history(request.engine, request.scope.window)
    return _spans(over_time), _waiting(over_time)


def _spans(over_time: History) -> Chart:
    """Spans per second: what arrived, what was stored, and what neither is stored nor waits."""
    series = [
        _series("received", "p50", over_time, lambda step: step.received / over_time.step_s),
        _series("stored", "custom", over_time, lambda step: step.stored / over_time.step_s),
    ]
    if any(step.rejected or step.dead or step.lost for step in over_time.steps):
        not_stored = _series(
            "rejected, dead or lost",
            "bad",
            over_time,
            lambda step: max(step.rejected + step.dead + step.lost, 0) / over_time.step_s,
        )
        series.append(not_stored)
    return Chart(
        "spans", "Spans", "lines", "per s", over_time.start_s, over_time.step_s, tuple(series), "of all collectors"
    )


def _waiting(over_time: History) -> Chart:
    """How far the database is behind."""
    longest = _series("oldest", "p95", over_time, lambda step: step.oldest_s * 1e9, max)
    about = "age of the oldest data that waits on disk"
    return Chart("waiting", "Behind by", "lines", "ns", over_time.start_s, over_time.step_s, (longest,), about)


def _series(
    name: str,
    family: str,
    over_time: History,
    value: Callable[[Step], float],
    whole: Callable[[list[float]], float] = statistics.fmean,
) -> Series:
    by_start = {step.start_s: value(step) for step in over_time.steps}
    starts = range(over_time.start_s, over_time.end_s, over_time.step_s)
    known = list(by_start.values())
    return Series(name, tuple(by_start.get(start) for start in starts), whole(known) if known else None, family)


def _if_answered(ask: Callable[[], tuple[T, ...]]) -> tuple[T, ...]:
    try:
        return ask()
    except EngineUnavailable:
        return ()  # the check of the database reports it
