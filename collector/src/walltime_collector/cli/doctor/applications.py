"""What `walltime doctor` finds in applications: what is lost, on no bill, or named so that nobody knows it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...format import count, duration, plural, printable, share
from ...health.applications import Application, Applications
from ...query.names import shown

SILENT_S = 900
"""A service that is busy in most minutes, and sends nothing for so long, may have stopped or lost its way here."""
_BUSY_MINUTES = 30
_SKEW_NS = 1_000_000_000
_MUCH = 0.05
_MOST_NAMES = 5


@dataclass(frozen=True)
class Finding:
    """Something to mend (`is_ill`: data is lost, or wrong) or only to look at; `what_now` says how."""

    service: str
    is_ill: bool
    said: str
    what_now: str


def findings(seen: Applications) -> tuple[Finding, ...]:
    """All that is worth a word, service by service, what is ill first."""
    found = [finding for each in seen.applications for finding in _of(each, seen.now_s)]
    return tuple(sorted(found, key=lambda each: not each.is_ill))


def summary(seen: Applications) -> str:
    """Which services there are, and when they were seen last."""
    if not seen.applications:
        return (
            "no service has sent a transaction in the last 7 days; start yours with walltime-run, and a script opens"
            ' its own: with walltime.transaction("name"):'
        )
    names = [each.service for each in seen.applications[:_MOST_NAMES]]
    more = len(seen.applications) - len(names)
    said = ", ".join(printable(name) for name in names) + (f" and {more} more" if more else "")
    return f"{plural(len(seen.applications), 'service')} in 7 days: {said}"


def described(each: Application, now_s: float) -> str:
    """One service in one line: seen when, by what SDK, how much, and how much of its time is on lines."""
    if not each.transactions:
        if not each.last_minute_s:
            return "no transaction in 7 days"
        return f"last seen {_ago(now_s - each.last_minute_s)} ago, no transaction in the last day"
    parts = [
        f"last seen {_ago(now_s - each.last_minute_s)} ago",
        f"SDK {', '.join(map(printable, each.sdks))}" if each.sdks else "SDK not known",
        f"{plural(each.transactions, 'transaction')} in a day",
        f"{share(each.errors / each.transactions)} failed",
    ]
    if each.time_ns:
        parts.append(f"{share(max(1 - each.other_ns / each.time_ns, 0.0))} of their time on lines of the bill")
    return ", ".join(parts)


def _of(each: Application, now_s: float) -> Iterator[Finding]:
    yield from _losses(each)
    for clock in each.clocks:
        far_ns = max(clock.ahead_ns, clock.behind_ns)
        if far_ns >= _SKEW_NS:
            way = "ahead of the collector's" if clock.ahead_ns >= clock.behind_ns else "behind its caller's"
            yield Finding(
                each.service,
                True,
                f"the clock of host {printable(clock.host) or 'without a name'} is {duration(far_ns)} {way}",
                "let it follow NTP: its transactions are stored at the times it says",
            )
    if each.service.startswith("unknown_service"):
        yield Finding(
            each.service,
            False,
            "its processes do not say what they are",
            'set OTEL_SERVICE_NAME, or walltime.configure(service_name="…")',
        )
    silent_s = now_s - each.last_minute_s
    if each.busy_minutes >= _BUSY_MINUTES and silent_s >= SILENT_S:
        yield Finding(
            each.service,
            False,
            f"it has sent nothing for {_ago(silent_s)}",
            "is it running, and does it reach the collector? its log says when exports fail",
        )
    if each.transactions and each.without_route >= _MUCH * each.transactions:
        yield Finding(
            each.service,
            False,
            f"{share(each.without_route / each.transactions)} of its transactions have no route for a name",
            "404s and files have none; else walltime.current().set_name(…), see docs/servers.md",
        )
    for kind in each.uncovered:
        computing = min(kind.cpu_ns / max(kind.other_ns, 1), 1.0)
        yield Finding(
            each.service,
            False,
            f"{shown(kind.name)}: {share(kind.other_ns / kind.time_ns)} of its time in the last hour is in no measured"
            f" call ({duration(kind.other_ns / kind.transactions)} each, {share(computing)} of it computing at most)",
            'put `with walltime.component("name"):` around its parts, or instrument the library that it waits for',
        )


def _losses(each: Application) -> Iterator[Finding]:
    for loss in each.losses:
        who = f"{plural(loss.processes, 'process', 'processes')}, since they began"
        if loss.what.startswith("lost."):
            reason = loss.what.removeprefix("lost.")
            yield Finding(
                each.service,
                True,
                f"{plural(loss.count, 'transaction')} lost on its side: {printable(reason.replace('_', ' '))} ({who})",
                _OF_REASON.get(reason, "docs/wire.md says what this counts; the application's log says more"),
            )
        elif loss.what == "outside.calls":
            rate = f", {count(loss.count / each.transactions)} per transaction" if each.transactions else ""
            yield Finding(
                each.service,
                False,
                f"{plural(loss.count, 'call')} outside of any transaction, on no bill{rate} ({who})",
                'open one around the work: with walltime.transaction("name"): (docs/processes.md, docs/servers.md)',
            )


_OF_REASON = {
    "queue_full": "it makes more than is exported in time: look at the collector and the network between, then raise"
    " OTEL_BSP_MAX_QUEUE_SIZE (docs/settings.md)",
    "unreachable": "the collector could not be reached for too long, or the process ended first: its address is"
    " OTEL_EXPORTER_OTLP_ENDPOINT (docs/settings.md)",
    "refused": "the collector refused them: `walltime status` counts refused requests, its log says why",
    "internal": "a failure of the SDK itself: the application's log has it; please report it",
}


def _ago(seconds: float) -> str:
    for length, unit in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"
