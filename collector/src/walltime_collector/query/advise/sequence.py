"""Calls to different servers, one after the other, that could run at the same time."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from ...format import duration, percent, plural
from ..answers import Call
from ..kept.sample import SampledCall, kept_sample
from ..names import shown
from ..statistics.weighted import effective, median
from .answer import LEAST_HELPED, LEAST_SEQUENTIAL_NS, LEAST_SEQUENTIAL_SHARE, MOST, NOT_FAIR
from .candidate import Candidate, Removed, worth
from .observed import Key, Observed, TargetSums

_SELECT = re.compile(r"\s*select\b", re.IGNORECASE)


def sequential_calls(observed: Observed) -> Iterator[Candidate]:
    """Kinds that call at least two servers for LEAST_SEQUENTIAL_NS each, as most of their kept transactions show."""
    several: dict[Key, list[TargetSums]] = defaultdict(list)
    for each in observed.targets:
        kind = observed.kinds.get((each.service, each.name))
        is_reading = each.component == "http.request" or each.component.endswith(".query")
        if kind and is_reading and each.call_ns * each.calls >= LEAST_SEQUENTIAL_NS * kind.transactions:
            several[each.service, each.name].append(each)
    possible = {key: float(_but_the_longest([(e.address, e.time_ns) for e in mine])) for key, mine in several.items()}
    if not (users := worth(observed, possible)):
        return
    kept = kept_sample(observed.engine, observed.sampled, kinds=["\t".join(key) for key in users], is_by_kind=True)
    calls: dict[Key, dict[str, list[SampledCall]]] = defaultdict(lambda: defaultdict(list))
    for one in kept.calls:
        key = (one.service, one.name)
        if (one.call.component, one.call.address) in {(each.component, each.address) for each in several[key]}:
            calls[key][one.trace_id].append(one)
    for key in users:
        weighed = [(_share([each.call for each in mine]), mine[0].weight) for mine in calls[key].values()]
        whole = sum(weight for _, weight in weighed)
        in_sequence = sum(weight for share, weight in weighed if share >= MOST)
        if effective([weight for _, weight in weighed]) < LEAST_HELPED or in_sequence < MOST * whole:
            continue
        share = median(weighed)
        if kinds := worth(observed, {key: possible[key] * share}):
            kind, mine = observed.kinds[key], several[key]
            servers = " and ".join(f"{e.component} on {e.address}" for e in mine)
            times = ", ".join(f"{e.address} takes {duration(e.call_ns)} a call" for e in mine)
            yield Candidate(
                "sequential_calls",
                kind.service,
                f"{kind.name}\0" + "\0".join(sorted(each.key for each in mine)),
                kinds,
                Removed(
                    "overlap",
                    targets=tuple(each.key for each in mine),
                    least_call_ns=LEAST_SEQUENTIAL_NS,
                    least_part=LEAST_SEQUENTIAL_SHARE,
                ),
                share=share,
                least_users=MOST,
                change=f"Let {shown(kind.name)} call {servers} at the same time (threads or asyncio).",
                finding=f"In {percent(in_sequence / whole)} of its transactions it calls them one after the other, as"
                f" {plural(len(weighed), 'kept transaction')} show: {times}.",
                certainty="It is possible where none of them needs the result of another."
                + NOT_FAIR * (not all(each[0].is_fair for each in calls[key].values())),
            )


def _but_the_longest(times_ns: Sequence[tuple[str, int]]) -> int:
    by_server: dict[str, int] = defaultdict(int)
    for address, time_ns in times_ns:
        by_server[address] += time_ns
    return sum(by_server.values()) - max(by_server.values(), default=0)


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
