"""Time before the application starts, and time that it spends in no measured call but its view and middleware."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from ...format import duration, percent, shell_command
from ..components import CONTAINERS
from ..names import shown
from ..profile.profile import profile_kind
from ..sampling import COMPUTING, doing
from .answer import LEAST_MEAN_NS, LEAST_OTHER_NS, LEAST_OTHER_SHARE, LEAST_QUEUE_NS, LEAST_QUEUE_SHARE
from .candidate import Candidate, Removed, helped_most, worth
from .observed import Key, KindSums, Observed

_FEWEST_SAMPLES = 5
_LEAST_LINE_SHARE = 0.25


def mostly_other(observed: Observed) -> Iterator[Candidate]:
    """Kinds with most of their time in no component."""
    for key, kind in observed.kinds.items():
        mean_ns = kind.other_ns / kind.transactions
        if mean_ns < LEAST_OTHER_NS or kind.other_ns < LEAST_OTHER_SHARE * kind.duration_ns:
            continue
        kinds = worth(observed, {key: float(kind.other_ns)})
        cpu_ns = kind.cpu_ns / kind.cpu_known if kind.cpu_known else None
        used = "" if cpu_ns is None else f"; its CPU time is {duration(cpu_ns)}"
        if kinds:
            profile = shell_command("walltime profile", kind.name, service=kind.service)
            yield Candidate(
                "mostly_other",
                kind.service,
                kind.name,
                kinds,
                Removed("other"),
                least_p50_ns=LEAST_MEAN_NS,
                change=f"Look into what {shown(kind.name)} does outside of measured calls"
                f" ({_most_of(observed, kind) or _computes_or_waits(mean_ns, cpu_ns)}):"
                f" `{profile}` shows the lines; name its parts with walltime.component().",
                finding=f"{percent(kind.other_ns / kind.duration_ns)} of its time is in no measured call,"
                f" {duration(mean_ns)} a transaction{used}.",
                certainty="The price is all of that time, so it is the most that a change can save.",
            )


def _most_of(observed: Observed, kind: KindSums) -> str:
    """`60 % of it computing in shop/serializers.py:88 to_json`; empty when no sampled line has a good part of it."""
    sums: dict[tuple[str, bool], tuple[int, int, str]] = {}
    for each in profile_kind(observed.engine, observed.of_kind((kind.service, kind.name))).lines:
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


def _computes_or_waits(mean_ns: float, cpu_ns: float | None) -> str:
    if cpu_ns is None:
        return "find out what it computes, or waits for"
    is_computing = cpu_ns >= mean_ns / 2
    return "it computes" if is_computing else "it waits, for a lock, a file, or a library that is not instrumented"


def queue(observed: Observed) -> Iterator[Candidate]:
    """Services whose transactions wait before the application starts them; workers are shared by all its kinds."""
    by_service: dict[str, dict[Key, float]] = defaultdict(dict)
    for key, kind in observed.kinds.items():
        if (
            kind.queue_known
            and kind.queue_ns >= LEAST_QUEUE_NS * kind.queue_known
            and kind.queue_ns >= LEAST_QUEUE_SHARE * (kind.queue_ns + kind.duration_ns)
        ):
            by_service[kind.service][key] = float(kind.queue_ns)
    for service, saved in by_service.items():
        if kinds := worth(observed, saved):
            most = helped_most(kinds)
            kind = observed.kinds[most]
            yield Candidate(
                "queue",
                service,
                "",
                kinds,
                Removed("queue"),
                change=f"Give {service} more workers or processes: its requests wait before the application starts"
                " them.",
                finding=f"{shown(most[1])} waits {duration(kind.queue_ns / kind.queue_known)} in the queue before a"
                f" transaction of {duration(kind.duration_ns / kind.transactions)}.",
                certainty="Queue time is before the transaction and not in its duration; the price is of both together."
                " More workers help only while the machine and the servers behind it have room.",
            )
