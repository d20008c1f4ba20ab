"""The words about one transaction: the command and the page print the same rows and words."""

from __future__ import annotations

import time
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ...format import count, duration, percent, plural, printable, ratio, unix_ns
from ..after_response import AfterResponse
from ..answers import Bill, Statement, Target, Trace
from ..components import COUNTERS, FAMILIES, NOTES, Component, family, number
from ..server_side import ServerSide

Severity = Literal["", "plain", "warning", "error"]

KEPT = {
    "random": "in the fair sample",
    "slow": "slow for its kind",
    "error": "it failed",
    "forced": "asked for by code or header",
    "upstream": "its caller's detail was kept",
}
_IN_HEADER = {"http.request.method", "http.route", "http.response.status_code", "error.type", "user.id", "url.scheme"}
_MIN_SHARE = 0.005
"""Of the server's time of a statement; smaller parts are not shown."""
_MIN_WAIT_NS = 100_000


@dataclass(frozen=True)
class Remark:
    """A few words; `plain` ones are as important as the numbers, those without a severity less."""

    text: str
    severity: Severity = ""


@dataclass(frozen=True)
class BillRow:
    """A row of the bill; those of all rows add up to the duration."""

    name: str
    family: str
    """One of FAMILIES; empty for the overlap, which is negative, and for what is on no row."""
    time_ns: int
    share: float
    """Of the duration."""
    component: Component | None = None
    """None for `other` and what follows it."""
    notes: tuple[Remark, ...] = ()


def choose(trace: Trace, span_id: str) -> Bill:
    """
    The transaction whose span id begins with `span_id`; without one, the root of the trace.

    Raises:
        LookupError: The trace has no transaction with this span id, or several.
    """
    if not span_id:
        return trace.transactions[0]
    matches = [bill for bill in trace.transactions if bill.span_id.startswith(span_id)]
    if len(matches) == 1:
        return matches[0]
    if matches:
        spans = _listed(matches)
        raise LookupError(f"trace {trace.trace_id} has {len(matches)} transactions whose span id begins so: {spans}")
    known = _listed(trace.transactions)
    raise LookupError(f"trace {trace.trace_id} has no transaction with span id {span_id}; it has {known}")


def _listed(bills: Sequence[Bill], most: int = 5) -> str:
    more = f" and {len(bills) - most} more" if len(bills) > most else ""
    return ", ".join(bill.span_id for bill in bills[:most]) + more


def when(bill: Bill) -> str:
    """`2026-11-22 15:52:37.123 UTC (3 minutes ago)`."""
    ago_ = ago(bill)
    return f"{bill.started_at[:23].replace('T', ' ')} UTC{f' ({ago_})' if ago_ else ''}"


def ago(bill: Bill) -> str:
    """`3 minutes ago`; empty within the first second."""
    ago_s = time.time() - unix_ns(bill.started_at) / 1e9
    for size, unit in ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second")):
        if ago_s >= size:
            return f"{plural(ago_s // size, unit)} ago"
    return ""


def where(bill: Bill) -> list[str]:
    """Host, version, environment, user, and the caller if it is not stored."""
    parts = {"": bill.host, "version ": bill.version, "in ": bill.environment, "user ": bill.user}
    words = [name + printable(part) for name, part in parts.items() if part]
    if bill.depth == 0 and bill.parent_span_id:
        words.append(f"called by span {bill.parent_span_id} (not stored)")
    return words


def why_kept(bill: Bill) -> str:
    """Why its calls were kept one by one, or that they were not."""
    if not bill.kept:
        return "only the bill was kept"
    if bill.kept == "foreign":
        sampled = f", which samples {percent(bill.sample_probability)} of all" if bill.sample_probability < 1 else ""
        return f"computed from the spans of another SDK{sampled}"
    sampled = f" ({percent(bill.sample_probability)} of all)" if bill.kept == "random" else ""
    return f"every call kept: {KEPT.get(bill.kept, printable(bill.kept))}{sampled}"


def has_every_call(kept: str) -> bool:
    """Whether all its calls were kept. A derived transaction has those that its SDK recorded: perhaps only some."""
    return kept not in ("", "foreign")


def why_no_calls(bill: Bill) -> str:
    """Why there is none to show."""
    if not bill.components:
        return "There are none."
    if bill.kept:
        return "They were kept, but are not stored: they have not arrived yet, or their retention is over."
    who = "it"
    if bill.sample_probability:
        who = f"the fair sample keeps {percent(bill.sample_probability)} of all transactions, and this one"
    return f"Not kept one by one: {who} was neither slow for its kind nor failed nor asked for. The bill is complete."


def calls_dropped(bill: Bill) -> str:
    """Empty when all are there."""
    if not bill.calls_dropped:
        return ""
    return f"{plural(bill.calls_dropped, 'call')} beyond the detail limit: in the bill, not kept one by one"


def bill_rows(bill: Bill) -> list[BillRow]:
    """The components, `other`, and the overlap or what is not itemized."""
    whole_ns = max(bill.duration_ns, 1)
    rows = [
        BillRow(each.name, family(each.name), each.time_ns, each.time_ns / whole_ns, each, tuple(notes(each)))
        for each in bill.components
    ]
    others = [("other", "other", bill.other_ns, "in no measured call")]
    if bill.overlap_ns > 0:
        others.append(("overlap", "", -bill.overlap_ns, "calls that ran at the same time, counted once"))
    elif bill.overlap_ns < 0:
        others.append(("not itemized", "", -bill.overlap_ns, "inside calls, on no line of the bill"))
    return rows + [BillRow(name, of, ns, ns / whole_ns, notes=(Remark(note),)) for name, of, ns, note in others]


def rounding(bill: Bill) -> str:
    """What to say below the rows when they do not add up to the total as they are printed, in ms to the microsecond."""
    if sum(round(row.time_ns / 1_000) for row in bill_rows(bill)) == round(bill.duration_ns / 1_000):
        return ""
    return f"rounded to 1 µs; the parts add up to {bill.duration_ns:,} ns exactly"


def notes(component: Component, *, without: Container[str] = ()) -> Iterator[Remark]:
    """What it counted, but for calls and times, in the order of the table of counters; some of them can be left out."""
    for counter in COUNTERS:
        number = getattr(component, counter)
        if counter in without:
            continue
        if number and counter == "cpu_ns":
            yield Remark(f"{duration(number)} of it computing here", "plain")
        elif number and (note := NOTES.get(counter)):
            yield Remark(plural(number, note.one, note.many), note.severity or "plain")
        elif counter == "hits" and (looked_up := component.hits + component.misses):
            yield Remark(f"{number} of {plural(looked_up, 'key')} hit ({ratio(number, looked_up)})", "plain")


def target_notes(target: Target) -> Iterator[Remark]:
    """What a component counted on one server."""
    return notes(Component(target.component, errors=target.errors, hits=target.hits, misses=target.misses))


def targets(bill: Bill) -> list[Target]:
    """In the order of the bill's components, by address."""
    rank = {component.name: at for at, component in enumerate(bill.components)}
    return sorted(bill.targets, key=lambda each: (rank.get(each.component, len(rank)), each.address))


def beside(bill: Bill) -> list[tuple[str, str]]:
    """CPU, queue and memory, each with its name; what is unknown is left out."""
    rows = []
    if bill.cpu_user_ns is not None or bill.cpu_system_ns is not None:
        user_ns, system_ns = bill.cpu_user_ns or 0, bill.cpu_system_ns or 0
        part = percent((user_ns + system_ns) / max(bill.duration_ns, 1))
        rows.append(("CPU", f"{duration(user_ns)} user + {duration(system_ns)} system, {part} of the duration"))
    rows += _waits(bill)
    if bill.queue_ns is not None:
        rows.append(("queue", f"{duration(bill.queue_ns)} before it started, not in the duration"))
    if bill.peak_rss_growth_bytes:
        rows.append(("memory", f"peak grew by {count(round(bill.peak_rss_growth_bytes / 1024))} KiB"))
    return rows


def _waits(bill: Bill) -> Iterator[tuple[str, str]]:
    """Waiting for a CPU, and the event loop; they are inside the components and `other`."""

    def part(ns: int) -> str:
        return f"{duration(ns)}, {percent(ns / max(bill.duration_ns, 1))} of the duration"

    def line(name: str) -> str:
        return printable(bill.attributes.get(f"walltime.loop_{name}_line", ""))

    if bill.cpu_wait_ns is not None:
        throttled = f"; throttled {duration(bill.cpu_throttled_ns)}: its CPU quota was used up"
        yield "cpu.wait", f"{part(bill.cpu_wait_ns)}{throttled if bill.cpu_throttled_ns else ''}"
    if bill.loop_run_ns is not None and bill.loop_wait_ns is not None:
        longest_ns = number(bill.attributes.get("walltime.loop_longest_ns", ""))
        longest = f"; {duration(longest_ns)} in one step{', at ' if line('longest') else ''}{line('longest')}"
        yield "loop.run", f"{part(bill.loop_run_ns)}{longest if longest_ns else ''}"
        held = f"; the loop was held up by {line('held')}" if line("held") else ""
        yield "loop.wait", f"{part(bill.loop_wait_ns)}{held}"


def after_response(after: AfterResponse) -> str:
    """How long it continued, and what ended it."""
    ended = f"; ended by {printable(after.error_type)}" if after.error_type else ""
    return f"it continued for {duration(after.duration_ns)}, which is not in the duration above{ended}"


def largest(bill: Bill) -> tuple[str, float]:
    """The family that takes the largest part of the time, and its share of what all take."""
    sizes: dict[str, int] = {"other": bill.other_ns}
    for each in bill.components:
        sizes[family(each.name)] = sizes.get(family(each.name), 0) + each.time_ns
    name = max(sizes, key=lambda each: (sizes[each], -FAMILIES.index(each)))
    return name, sizes[name] / max(sum(sizes.values()), 1)


def own_attributes(bill: Bill) -> Mapping[str, str]:
    """The attributes of the application, without those that are shown elsewhere and Walltime's own."""
    return {
        key: value
        for key, value in sorted(bill.attributes.items())
        if value and key not in _IN_HEADER and (key == "walltime.name" or not key.startswith("walltime."))
    }


def statements(bill: Bill) -> list[tuple[Statement, tuple[Remark, ...]]]:
    """The statements, the most expensive first, each with what the database logged of it."""
    is_any_logged = bool(bill.logged) or any(each.server for each in bill.statements)
    is_any_shared = any(each.server and each.server.statements > 1 for each in bill.statements)
    absent = (Remark("not in the server's log"),) if is_any_logged and not is_any_shared else ()
    by_time = sorted(bill.statements, key=lambda each: -each.time_ns)
    return [(each, tuple(server_side(each.server)) if each.server else absent) for each in by_time]


def server_side(side: ServerSide) -> Iterator[Remark]:
    """`server 674 ms: 669 ms waited for a row lock, 5.00 ms on a CPU`, `1 row examined`; large waits are severe."""
    is_waiting = max(side.locked_ns, side.disk_ns) >= max(side.query_ns / 2, _MIN_WAIT_NS)
    yield Remark(f"server {duration(side.query_ns)}{server_times(side)}", "error" if is_waiting else "plain")
    if side.calls > side.entries:
        yield Remark(f"the server's log has {count(side.entries)} of {count(side.calls)}", "warning")
    if side.statements > 1:
        yield Remark(f"of all {side.statements} statements of this form")
    if side.rows_examined or side.rows_sent:
        is_waste = side.rows_examined >= 100 * max(side.rows_sent, side.rows_affected, 1)
        yield Remark(f"{plural(side.rows_examined, 'row')} examined", "warning" if is_waste else "")
        yield Remark(f"{count(side.rows_sent)} sent")
    if side.rows_affected:
        yield Remark(f"{plural(side.rows_affected, 'row')} changed")
    yield from (Remark(note, "warning") for note in side.notes)
    if side.errors:
        yield Remark(plural(side.errors, "error"), "error")
    if side.network_ns is not None:
        yield Remark(f"network and driver {duration(max(side.network_ns, 0))}")


def server_times(side: ServerSide) -> str:
    """`: 372 ms waited for a row lock, 5.00 ms on a CPU, at most 3.00 ms for the disk`; empty if no part is known."""
    row = "row locks" if side.entries > 1 else "a row lock"
    row_ns, likely_ns = min(side.row_lock_ns, side.locked_ns), min(side.likely_row_lock_ns, side.locked_ns)
    known = [
        (row_ns, f"waited for {row}"),
        (likely_ns, f"in the engine, most likely for {row}"),
        (max(side.locked_ns - row_ns - likely_ns, 0), "waited for other locks" if row_ns else "waited for locks"),
        (side.computing_ns, "on a CPU"),
        (side.disk_ns, "for the disk (about)" if side.is_disk_divided else "for the disk"),
    ]
    least_ns = max(side.query_ns * _MIN_SHARE, 1)
    parts = [f"{duration(ns)} {words}" for ns, words in sorted(known, reverse=True) if ns >= least_ns]
    if side.rest_ns >= least_ns and (parts or not side.rest_may_be):
        may_be = " or ".join({"computing": "on a CPU", "disk": "for the disk"}[each] for each in side.rest_may_be)
        more = " more" if any(getattr(side, f"{each}_ns") >= least_ns for each in side.rest_may_be) else ""
        rest = duration(side.rest_ns)
        parts.append(f"at most {rest}{more} {may_be}" if may_be else f"{rest} waited for something else")
    return f": {', '.join(parts)}" if parts else ""
