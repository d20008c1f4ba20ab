"""Time before the application starts, and time that it spends in no measured call but its view and middleware."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from ...format import duration, percent, shell_command
from ..components import CONTAINERS
from ..names import shown
from ..profile.profile import profile_kind
from ..sampling import COMPUTING, doing
from .answer import LEAST_OTHER_NS, LEAST_OTHER_SHARE, LEAST_QUEUE_NS, LEAST_QUEUE_SHARE, MOST
from .candidate import Bills, Candidate, Removed, worth
from .observed import Key, KindSums, Observed

_FEWEST_SAMPLES = 5
_LEAST_LINE_SHARE = 0.25


def mostly_other(observed: Observed) -> Iterator[Candidate]:
    """Kinds of which most transactions have most of their time in no component."""
    for key, kind in observed.kinds.items():
        kinds = worth(observed, {key: float(kind.other_ns)})
        if kinds and kind.other_ns >= MOST * LEAST_OTHER_NS * kind.transactions:
            profile = shell_command("walltime profile", kind.name, service=kind.service)
            where = _most_of(observed, kind)
            yield Candidate(
                "mostly_other",
                kind.service,
                kind.name,
                kinds,
                Removed("other", least_call_ns=LEAST_OTHER_NS, least_part=LEAST_OTHER_SHARE),
                least_users=MOST,
                change=f"Look into what {shown(kind.name)} does outside of measured calls{where and f' ({where})'}:"
                f" `{profile}` shows the lines; name its parts with walltime.component().",
                finding=_in_other,
                certainty="The price is all of that time, so it is the most that a change can save.",
            )


def _in_other(_: str, bills: Bills) -> str:
    time_ns = bills.call_ns
    return (
        f"{percent(bills.part)} of its time is in no measured call {bills.where}, {duration(time_ns)}"
        f"{_computes_or_waits(time_ns, bills.helped_base_ns, bills.cpu_ns)}."
    )


def _most_of(observed: Observed, kind: KindSums) -> str:
    """`60 % of it computing in shop/serializers.py:88 to_json`; empty when no sampled line has a good part of it."""
    sums: dict[tuple[str, bool], tuple[int, int, str]] = {}
    for each in profile_kind(observed.engine, observed.of_kinds([(kind.service, kind.name)])).lines:
        if each.is_named and each.component in CONTAINERS:
            key = each.where, each.state in COMPUTING
            samples, time_ns, state = sums.get(key, (0, 0, each.state))
            sums[key] = samples + each.samples, time_ns + each.time_ns, state
    if not sums:
        return ""
    (where, _), (samples, time_ns, state) = max(sums.items(), key=lambda each: each[1][1])
    share = min(time_ns / kind.other_ns, 1.0)
    is_known = samples >= _FEWEST_SAMPLES and share >= _LEAST_LINE_SHARE
    return f"{percent(share)} of it {doing(state)} in {where}" if is_known else ""


def _computes_or_waits(other_ns: float, whole_ns: float, cpu_ns: float | None) -> str:
    """Only what is certain: CPU time can also be that of measured calls."""
    if cpu_ns is None:
        return ""
    used = f"; its CPU time is {duration(cpu_ns)}"
    if 2 * cpu_ns < other_ns:
        return f"{used}, so it waits, for a lock, a file, or a library that is not instrumented"
    return f"{used}, so it computes" if 2 * (cpu_ns - (whole_ns - other_ns)) >= other_ns else used


def queue(observed: Observed) -> Iterator[Candidate]:
    """Services of which most transactions wait before the application starts them; all kinds share its workers."""
    by_service: dict[str, dict[Key, float]] = defaultdict(dict)
    for key, kind in observed.kinds.items():
        if kind.queue_known and kind.queue_ns >= MOST * LEAST_QUEUE_NS * kind.queue_known:
            by_service[kind.service][key] = float(kind.queue_ns)
    for service, saved in by_service.items():
        if kinds := worth(observed, saved):
            yield Candidate(
                "queue",
                service,
                "",
                kinds,
                Removed("queue", least_call_ns=LEAST_QUEUE_NS, least_part=LEAST_QUEUE_SHARE),
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
