"""Time before the application starts, and time that it spends in no measured call but its view and middleware."""

from __future__ import annotations

from collections.abc import Iterator

from ...format import duration, percent, shell_command
from ..components import CONTAINERS
from ..names import shown
from ..profile.profile import profile_kind
from ..sampling import COMPUTING, doing
from .answer import LEAST_OTHER_NS, LEAST_OTHER_SHARE, LEAST_QUEUE_NS, LEAST_QUEUE_SHARE, MOST
from .candidate import Bills, Candidate
from .observed import KindSums, Observed, grouped

_FEWEST_SAMPLES = 5
_LEAST_LINE_SHARE = 0.25


def mostly_other(observed: Observed) -> Iterator[Candidate]:
    """Kinds of which most transactions have most of their time in no component."""
    for key, kind in observed.kinds.items():
        if kind.other_ns < MOST * LEAST_OTHER_NS * kind.transactions:
            continue  # without looking at its profile
        if kinds := observed.worth([(key, kind.other_ns)]):
            profile = shell_command("walltime profile", kind.name, service=kind.service)
            where = _most_of(observed, kind)
            yield Candidate(
                "mostly_other",
                kind.service,
                kind.name,
                kinds,
                of="other",
                least_call_ns=LEAST_OTHER_NS,
                least_part=LEAST_OTHER_SHARE,
                least_users=MOST,
                change=f"Look into what {shown(kind.name)} does outside of measured calls{where and f' ({where})'}:"
                f" `{profile}` shows the lines; name its parts with walltime.component().",
                finding=_in_other,
                certainty="The price is all of that time, so it is the most that a change can save.",
            )


def _in_other(_: str, bills: Bills) -> str:
    """With what its CPU time says for certain: it can also be that of measured calls."""
    other_ns, cpu_ns = bills.call_ns, bills.cpu_ns
    used = does = ""
    if cpu_ns is not None:
        used = f"; its CPU time is {duration(cpu_ns)}"
        if 2 * cpu_ns < other_ns:
            does = ", so it waits, for a lock, a file, or a library that is not instrumented"
        elif 2 * (cpu_ns - (bills.helped_base_ns - other_ns)) >= other_ns:
            does = ", so it computes"
    return f"{percent(bills.part)} of its time is in no measured call {bills.where}, {duration(other_ns)}{used}{does}."


def _most_of(observed: Observed, kind: KindSums) -> str:
    """`60 % of it computing in shop/serializers.py:88 to_json`; empty when no sampled line has a good part of it."""
    lines = (
        each
        for each in profile_kind(observed.engine, observed.of_kinds([kind.kind])).lines
        if each.is_named and each.component in CONTAINERS
    )
    places = grouped(lines, lambda each: (each.where, each.state in COMPUTING)).values()
    most = max(places, key=lambda mine: sum(each.time_ns for each in mine), default=[])
    share = min(sum(each.time_ns for each in most) / max(kind.other_ns, 1), 1.0)
    is_known = sum(each.samples for each in most) >= _FEWEST_SAMPLES and share >= _LEAST_LINE_SHARE
    return f"{percent(share)} of it {doing(most[0].state)} in {most[0].where}" if is_known else ""


def queue(observed: Observed) -> Iterator[Candidate]:
    """Services of which most transactions wait before the application starts them; all kinds share its workers."""
    for service, waiting in grouped(observed.kinds.values(), lambda each: each.service).items():
        if kinds := observed.worth((each.kind, each.queue_ns) for each in waiting):
            yield Candidate(
                "queue",
                service,
                "",
                kinds,
                of="queue",
                least_call_ns=LEAST_QUEUE_NS,
                least_part=LEAST_QUEUE_SHARE,
                least_users=MOST,
                change=f"Give {service} more workers or processes: its requests wait before the application starts"
                " them.",
                finding=_queued,
                certainty="Queue time is before the transaction and not in its duration; the price is of both together."
                " More workers help only while the machine and the servers behind it have room.",
            )


def _queued(kind: str, bills: Bills) -> str:
    run_ns = bills.helped_base_ns - bills.call_ns
    waits = f"{kind} waits {duration(bills.call_ns)} in the queue"
    return f"{waits} before a transaction of {duration(run_ns)}, {bills.of_users}."
