"""Problems of applications: lost data, calls on no bill, missing names, wrong clocks; for doctor and the pages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..format import age, count, duration, plural, printable, share
from ..query.names import shown
from .applications import Application, Applications

SILENT_S = 900
"""A service that is busy in most minutes and sends nothing for so long may have stopped."""
_BUSY_MINUTES = 30
_MAX_SKEW_NS = 1_000_000_000
_MAX_SHARE_WITHOUT_ROUTE = 0.05
_MAX_NAMES = 5


@dataclass(frozen=True)
class Finding:
    """
    A failure (`is_failure`: data is lost or wrong) or a warning. The field names are those of --json.

    Args:
        message: What was found.
        what_now: What to do.
    """

    service: str
    is_failure: bool
    message: str
    what_now: str


def findings(seen: Applications) -> tuple[Finding, ...]:
    """All findings, the failures first."""
    rows = [Finding(each.service, *finding) for each in seen.applications for finding in _findings(each, seen.now_s)]
    return tuple(sorted(rows, key=lambda each: not each.is_failure))


def summary(seen: Applications) -> str:
    """The names of the services, those that sent last first."""
    if not seen.applications:
        return (
            "no service has sent a transaction in the last 7 days; start yours with walltime-run, and a script opens"
            ' its own: with walltime.transaction("name"):'
        )
    names = ", ".join(printable(each.service) for each in seen.applications[:_MAX_NAMES])
    more = len(seen.applications) - _MAX_NAMES
    return f"{plural(len(seen.applications), 'service')} in 7 days: {names}" + (f" and {more} more" if more > 0 else "")


def described(each: Application, now_s: float) -> str:
    """One service in one line: when it was last seen, its SDK, its transactions, how much of their time is measured."""
    if not each.transactions:
        if not each.last_minute_s:
            return "no transaction in 7 days"
        return f"last seen {age(now_s - each.last_minute_s)} ago, no transaction in the last day"
    parts = [
        f"last seen {age(now_s - each.last_minute_s)} ago",
        f"SDK {', '.join(map(printable, each.sdks))}" if each.sdks else "SDK not known",
        f"{plural(each.transactions, 'transaction')} in a day",
        f"{share(each.errors / each.transactions)} failed",
    ]
    if each.time_ns:
        parts.append(f"{share(max(1 - each.other_ns / each.time_ns, 0.0))} of their time on lines of the bill")
    return ", ".join(parts)


def _findings(each: Application, now_s: float) -> Iterator[tuple[bool, str, str]]:
    """Whether it is a failure, what was found, what to do."""
    yield from _losses(each)
    for clock in each.clocks:
        skew_ns = max(clock.ahead_ns, clock.behind_ns)
        if skew_ns >= _MAX_SKEW_NS:
            direction = "ahead of the collector's" if clock.ahead_ns >= clock.behind_ns else "behind its caller's"
            host = printable(clock.host) or "without a name"
            yield (
                True,
                f"the clock of host {host} is {duration(skew_ns)} {direction}",
                "synchronize it with NTP: its transactions are stored with its times",
            )
    if each.service.startswith("unknown_service"):
        advice = 'set OTEL_SERVICE_NAME, or walltime.configure(service_name="…")'
        yield False, "its processes have no service name", advice
    silent_s = now_s - each.last_minute_s
    if each.busy_minutes >= _BUSY_MINUTES and silent_s >= SILENT_S:
        yield (
            False,
            f"it has sent nothing for {age(silent_s)}",
            "check that it runs and reaches the collector; its log shows failed exports",
        )
    if each.transactions and each.without_route >= _MAX_SHARE_WITHOUT_ROUTE * each.transactions:
        yield (
            False,
            f"{share(each.without_route / each.transactions)} of its transactions have no route for a name",
            "404s and files have none; for others use walltime.current().set_name(…), see docs/servers.md",
        )
    for kind in each.uncovered:
        computing = share(min(kind.cpu_ns / max(kind.other_ns, 1), 1.0))
        cpu = f", at most {computing} of it CPU" if kind.cpu_ns else ""  # other SDKs send none
        yield (
            False,
            f"{shown(kind.name)}: {share(kind.other_ns / kind.time_ns)} of its time in the last hour is in no measured"
            f" call and on no sampled line ({duration(kind.other_ns / kind.transactions)} each{cpu})",
            "see what `walltime-run --check` says there, and whether sample_hz is 0; or put"
            ' `with walltime.component("name"):` around parts of its view or handler',
        )


def _losses(each: Application) -> Iterator[tuple[bool, str, str]]:
    for loss in each.losses:
        processes = f"{plural(loss.processes, 'process', 'processes')}, since they began"
        if loss.what.startswith("lost."):
            reason = loss.what.removeprefix("lost.")
            yield (
                True,
                f"{plural(loss.count, 'transaction')} lost on its side: {printable(reason.replace('_', ' '))}"
                f" ({processes})",
                _ADVICE_BY_REASON.get(reason, "docs/wire.md explains this counter; see the application's log"),
            )
    yield from _outside(each)


def _outside(each: Application) -> Iterator[tuple[bool, str, str]]:
    """Calls on no bill; of processes without any transaction, the SDK says what they are: `outside.wsgi.bottle`."""
    calls = {loss.what.removeprefix("outside."): loss for loss in each.losses if loss.what.startswith("outside.")}
    named = sum(loss.count for what, loss in calls.items() if what != "calls")
    for what, loss in calls.items():
        number, where, rate = loss.count, "", ""
        kind, _, program = what.partition(".")
        if program:
            where = f" in {printable(program)}"
        else:
            number -= named
            rate = f", {count(number / each.transactions)} per transaction" if each.transactions else ""
        if number > 0:
            yield (
                not each.last_minute_s,
                f"{plural(number, 'call')} outside of any transaction{where}, on no bill{rate}"
                f" ({plural(loss.processes, 'process', 'processes')}, since they began)",
                _ADVICE_BY_KIND.get(kind, _ADVICE_BY_KIND["calls"]),
            )


_ADVICE_BY_KIND = {
    "wsgi": "wrap the application: app = walltime.WSGIMiddleware(app) (docs/servers.md)",
    "asgi": "wrap the application: app = walltime.ASGIMiddleware(app) (docs/servers.md)",
    "handler": 'in the handlers of requests: with walltime.transaction("GET /product/{id}", kind="server"):'
    " (docs/servers.md)",
    "worker": 'above the function of each job: @walltime.transaction("name", kind="consumer") (docs/servers.md)',
    "calls": 'open one around the work: with walltime.transaction("name"): (docs/processes.md, docs/servers.md); a'
    " worker's own calls between its jobs need none",
}
"""By the kind of program, as in the SDK's servers/unsupported.py."""

_ADVICE_BY_REASON = {
    "queue_full": "it produces more than it can export: check the collector and the network, then raise"
    " OTEL_BSP_MAX_QUEUE_SIZE (docs/settings.md)",
    "unreachable": "the collector was unreachable for too long, or the process ended first; its address is"
    " OTEL_EXPORTER_OTLP_ENDPOINT (docs/settings.md)",
    "refused": "the collector refused them: `walltime status` counts refused requests, its log shows why",
    "too_large": "each was larger than the collector or a proxy in front of it accepts: raise max_request_bytes, or the"
    " proxy's limit (client_max_body_size of nginx)",
    "rejected": "the collector rejected spans of them; the application's log has its reason",
    "internal": "a failure inside the SDK: the application's log has the details; please report it",
}
