"""Calls to different servers, one after the other, that could run at the same time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ...format import duration, percent, plural
from ..answers import Call
from ..kept.sample import kept_sample
from ..names import shown
from ..statistics.weighted import effective, median
from .answer import LEAST_HELPED, LEAST_SEQUENTIAL_NS, LEAST_SEQUENTIAL_SHARE, MOST, NOT_FAIR
from .candidate import Candidate
from .observed import Observed, TargetSums, grouped

_SELECT = re.compile(r"\s*select\b", re.IGNORECASE)


def sequential_calls(observed: Observed) -> Iterator[Candidate]:
    """Kinds that call at least two servers for LEAST_SEQUENTIAL_NS each, as most of their kept transactions show."""
    several = grouped((each for each in observed.targets if _is_long(observed, each)), lambda each: each.kind)
    possible = {key: _but_the_longest([(e.address, e.time_ns) for e in mine]) for key, mine in several.items()}
    if not (users := observed.worth(possible.items())):
        return
    kinds = list(map("\t".join, users))
    _, kept = kept_sample(observed.engine, observed.sampled, kinds=kinds, is_by_kind=True)
    sent = {(each.kind, each.component, each.address) for mine in several.values() for each in mine}
    calls = grouped(
        (each for each in kept if (each.kind, each.call.component, each.call.address) in sent), lambda each: each.kind
    )
    for key, of_kind in calls.items():
        mine, read = several[key], list(grouped(of_kind, lambda each: each.trace_id).values())
        weighed = [(_share([one.call for one in each]), each[0].weight) for each in read]
        whole = sum(weight for _, weight in weighed)
        in_sequence = sum(weight for share, weight in weighed if share >= MOST)
        if effective([weight for _, weight in weighed]) < LEAST_HELPED or in_sequence < MOST * whole:
            continue
        share = median(weighed)
        if saved := observed.worth([(key, possible[key] * share)]):
            service, name = key
            servers = " and ".join(f"{each.component} on {each.address}" for each in mine)
            times = ", ".join(f"{each.address} takes {duration(each.call_ns)} a call" for each in mine)
            yield Candidate(
                "sequential_calls",
                service,
                f"{name}\0" + "\0".join(sorted(each.key for each in mine)),
                saved,
                of="overlap",
                targets=tuple(each.key for each in mine),
                least_call_ns=LEAST_SEQUENTIAL_NS,
                least_part=LEAST_SEQUENTIAL_SHARE,
                share=share,
                least_users=MOST,
                change=f"Let {shown(name)} call {servers} at the same time (threads or asyncio).",
                finding=f"In {percent(in_sequence / whole)} of its transactions it calls them one after the other, as"
                f" {plural(len(read), 'kept transaction')} show: {times}.",
                certainty="It is possible where none of them needs the result of another."
                + NOT_FAIR * (not all(each.is_fair for each in of_kind)),
            )


def _is_long(observed: Observed, target: TargetSums) -> bool:
    if target.component != "http.request" and not target.component.endswith(".query"):
        return False
    kind = observed.kinds.get(target.kind)
    return kind is not None and target.call_ns * target.calls >= LEAST_SEQUENTIAL_NS * kind.transactions


def _but_the_longest(times_ns: Sequence[tuple[str, int]]) -> int:
    by_server = [sum(ns for _, ns in mine) for mine in grouped(times_ns, lambda each: each[0]).values()]
    return sum(by_server) - max(by_server, default=0)


def _share(calls: Sequence[Call]) -> float:
    """
    Which part of the time beside the longest server is saved, of one transaction.

    Only calls that read count, and not the time in which several run already.
    """
    billed_ns = _but_the_longest([(each.address, each.own_ns) for each in calls])
    reads = [each for each in calls if each.name in ("GET", "HEAD") or _SELECT.match(each.text)]
    overlap_ns, until_ns = 0, 0
    for each in sorted(reads, key=lambda each: each.offset_ns):
        overlap_ns += max(0, min(until_ns, each.offset_ns + each.duration_ns) - each.offset_ns)
        until_ns = max(until_ns, each.offset_ns + each.duration_ns)
    saved_ns = _but_the_longest([(each.address, each.own_ns) for each in reads]) - overlap_ns
    return max(0.0, saved_ns / billed_ns) if billed_ns else 0.0
