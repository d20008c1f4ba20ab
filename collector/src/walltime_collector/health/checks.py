"""Checks of the collector's status: what is wrong, how bad, and what to do; for `walltime doctor` and the pages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from ..format import count, plural, printable, size
from .counters import CLOSED, DESCRIPTIONS
from .status import Reason, Status

Level = Literal["OK", "WARN", "FAIL"]
LEVELS: tuple[Level, ...] = ("OK", "WARN", "FAIL")
"""From good to bad. WARN: look when there is time; FAIL: data does not move, is lost, or soon will be."""

_MIN_FREE_SHARE = 0.1
_PROBLEMS = (
    "load_retries",
    "engine_restarts",
    "quarantined_bytes",
    "unreadable_segments",
    "full_disk_days",
    "full_disk_rows",
    "slow_log_refused",
    "slow_log_gaps",
    "foreign_retries",
    "foreign_spans_late",
    "incident_looks_failed",
    "incident_messages_lost",
)
_ADVICE = {
    "spool_full": "find out why loading is slow; free disk space or raise max_spool_bytes",
    "spool_failed": "check the disk; acknowledged data is safe",
    "engine": "check that the database runs, its password and its disk; new data waits on disk",
    "loader_stuck": "the database is slow or overloaded: see the collector's log",
    "damaged": "restore that part from a backup, or remove it: see the collector's log",
    "stopping": "it received SIGTERM; what waits is loaded after the next start",
}


@dataclass(frozen=True)
class Check:
    """The result of one check; `what_now` is empty when it passed."""

    name: str
    level: Level
    what: str
    what_now: str = ""


def worst(levels: Iterable[Level]) -> Level:
    """The worst of them; OK when there are none."""
    return max(levels, key=LEVELS.index, default="OK")


def redacted(status: Status) -> Status:
    """The status for readers other than the admin: without paths, addresses and messages of the database."""
    return replace(
        status,
        troubles=tuple(Reason(trouble.reason) for trouble in status.troubles),
        slow_logs={},
        servers={},
        engine_error="it does not answer" if status.engine_error else "",
        incidents_error="it failed" if status.incidents_error else "",
    )


def check_data_moves(status: Status) -> Check:
    """Whether data is accepted and stored, and none was lost since the start."""
    spans = status.spans
    if not status.is_ok:
        reasons = ", ".join(": ".join(filter(None, (each.reason, each.what))) for each in status.troubles)
        advice = _ADVICE.get(status.troubles[0].reason, "") if status.troubles else ""
        advice = "; ".join(filter(None, (advice, "docs/operating.md explains each reason")))
        return Check("data moves", "FAIL", f"data does not move: {reasons}", advice)
    if spans.lost or spans.dead:
        dead = f"{plural(spans.dead, 'span')} in dead letters" if spans.dead else ""
        lost = f"{plural(spans.lost, 'span')} lost" if spans.lost else ""
        advice = "walltime dead-letter list shows why; the collector's log names damaged segments"
        return Check("data moves", "FAIL", ", ".join(filter(None, (lost, dead))), advice)
    return Check(
        "data moves",
        "OK",
        f"{count(spans.received)} spans received, {count(spans.stored)} stored, {count(spans.spooled)} wait",
    )


def check_disk(status: Status) -> Check:
    """Whether a tenth of the disk is free."""
    spool = status.spool
    free = f"{size(spool.disk_free_bytes)} of {size(spool.disk_bytes)} free, spool {size(spool.size_bytes)}"
    if spool.disk_free_bytes < spool.disk_bytes * _MIN_FREE_SHARE:
        advice = "free some space, or reduce retention_spans_days and retention_transactions_days"
        return Check("disk", "FAIL", free, advice)
    return Check("disk", "OK", free)


def check_database(status: Status) -> Check:
    """Whether the database answers."""
    if status.engine_error:
        advice = "data stays in the spool until the database answers; see the database's log"
        return Check("database", "FAIL", f"{status.engine}: {status.engine_error}", advice)
    tables = sum(table.disk_bytes for table in status.tables)
    parts = max((table.parts for table in status.tables), default=0)
    what = f"{status.engine}, {len(status.tables)} tables with {size(tables)}, at most {parts} parts"
    return Check("database", "OK", what)


def check_slow_logs(status: Status) -> Check:
    """Whether every slow log can be read. It names their paths, which are for the admin."""
    if errors := [f"{path}: {error}" for path, error in status.slow_logs.items() if error]:
        advice = "docs/slow-log.md lists the permissions that the collector needs"
        return Check("slow logs", "FAIL", "; ".join(errors), advice)
    return Check("slow logs", "OK", ", ".join(status.slow_logs) or "none are followed")


def check_servers(status: Status) -> Check:
    """Whether every observed database and cache answers, and has what is asked. It names addresses, for the admin."""
    if errors := [f"{name}: {error}" for name, (error, _) in status.servers.items() if error]:
        return Check("servers", "FAIL", "; ".join(errors), "docs/observing.md lists what the collector needs")
    if lacks := [f"{name}: {what}" for name, (_, what) in status.servers.items() if what]:
        return Check("servers", "WARN", "; ".join(lacks), "docs/observing.md says what is not seen without it")
    return Check("servers", "OK", ", ".join(status.servers) or "none are observed")


def check_incidents(status: Status) -> Check:
    """Whether the collector could look for incidents the last time, and send messages about them."""
    lost = status.counts.get("incident_messages_lost", 0)
    if status.incidents_error:
        advice = "it looks again by itself; a database that is too slow for it is in its log"
        return Check("incidents", "FAIL", f"the last look failed: {status.incidents_error}", advice)
    if lost:
        advice = "check incident_webhook and its receiver; the collector's log has the reason"
        return Check("incidents", "FAIL", f"{plural(lost, 'message')} could not be sent", advice)
    looks = status.counts.get("incident_looks", 0)
    return Check("incidents", "OK", plural(looks, "look") if looks else "no look yet, or they are off")


def counted_problems(status: Status) -> Iterator[tuple[str, list[str]]]:
    """Each problem that the counters have seen since the start, as a sentence, and the names of its counters."""
    if status.refused:
        reasons = ", ".join(f"{reason.replace('_', ' ')} {count(number)}" for reason, number in status.refused.items())
        yield f"refused requests: {reasons}", [f"refused_{reason}" for reason in status.refused]
    for name in _PROBLEMS:
        if status.counts.get(name):
            yield f"{DESCRIPTIONS[name]}: {count(status.counts[name])}", [name]
    for name, number in sorted(status.counts.items()):
        if name.startswith("closed_"):
            port, reason = name.removeprefix("closed_").split("_", 1)
            yield f"{port} port: {plural(number, 'connection')} {CLOSED[reason]}", [name]


def over_limit(status: Status) -> Iterator[str]:
    """Each service over the cardinality limit, as a sentence."""
    for each in status.over_limit:
        transactions = plural(each.transactions, "transaction")
        service = printable(each.service)
        yield f"{service} has too many names: {transactions} since yesterday stored as _OTHER; name them by route"
