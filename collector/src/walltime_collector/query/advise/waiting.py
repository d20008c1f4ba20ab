"""Time before the application starts, and time that it spends in no measured call but its view and middleware."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from shlex import quote

from ...format import duration, percent
from ..names import shown
from .answer import LEAST_MEAN_NS, LEAST_OTHER_NS, LEAST_OTHER_SHARE, LEAST_QUEUE_NS, LEAST_QUEUE_SHARE
from .candidate import Candidate, Removed, helped_most, worth
from .observed import Key, Observed


def mostly_other(observed: Observed) -> Iterator[Candidate]:
    """Kinds with most of their time in no component."""
    for key, kind in observed.kinds.items():
        mean_ns = kind.other_ns / kind.transactions
        if mean_ns < LEAST_OTHER_NS or kind.other_ns < LEAST_OTHER_SHARE * kind.duration_ns:
            continue
        kinds = worth(observed, {key: float(kind.other_ns)})
        cpu_ns = kind.cpu_ns / kind.cpu_known if kind.cpu_known else None
        if cpu_ns is not None and cpu_ns >= mean_ns / 2:
            change = "it computes"
        elif cpu_ns is not None:
            change = "it waits, for a lock, a file, or a library that is not instrumented"
        else:
            change = "find out what it computes, or waits for"
        used = "" if cpu_ns is None else f"; its CPU time is {duration(cpu_ns)}"
        if kinds:
            yield Candidate(
                "mostly_other",
                kind.service,
                kind.name,
                kinds,
                Removed("other"),
                least_p50_ns=LEAST_MEAN_NS,
                change=f"Look into what {shown(kind.name)} does outside of measured calls ({change}):"
                f" `walltime profile {quote(kind.name)}` shows the lines; name its parts with walltime.component().",
                finding=f"{percent(kind.other_ns / kind.duration_ns)} of its time is in no measured call,"
                f" {duration(mean_ns)} a transaction{used}.",
                certainty="The price is all of that time, so it is the most that a change can save.",
            )


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
