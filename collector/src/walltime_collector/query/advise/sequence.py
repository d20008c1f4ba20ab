"""Calls to different servers, one after the other, that could run at the same time."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from ...format import duration, plural
from ..answers import Call
from ..kept.sample import kept_sample
from ..names import shown
from .answer import LEAST_SEQUENTIAL_NS, LEAST_SEQUENTIAL_SHARE
from .candidate import Candidate, Removed, worth
from .observed import Key, Observed, TargetSums

_LEAST_KEPT = 5
_SELECT = re.compile(r"\s*select\b", re.IGNORECASE)


def sequential_calls(observed: Observed) -> Iterator[Candidate]:
    """Kinds that call at least two servers for LEAST_SEQUENTIAL_NS each, as most of their kept transactions show."""
    long_ones: dict[Key, list[TargetSums]] = defaultdict(list)
    for each in observed.targets:
        kind = observed.kinds.get((each.service, each.name))
        is_reading = each.component == "http.request" or each.component.endswith(".query")
        if kind and is_reading and each.time_ns >= LEAST_SEQUENTIAL_NS * kind.transactions:
            long_ones[each.service, each.name].append(each)
    several = {key: mine for key, mine in long_ones.items() if len({each.address for each in mine}) > 1}
    possible = {key: float(_but_the_longest([(e.address, e.time_ns) for e in mine])) for key, mine in several.items()}
    if not (users := worth(observed, possible)):
        return
    kept = kept_sample(observed.engine, observed.sampled, kinds=["\t".join(key) for key in users])
    calls: dict[Key, dict[str, list[Call]]] = defaultdict(lambda: defaultdict(list))
    for one in kept.calls:
        key = (one.service, one.name)
        if (one.call.component, one.call.address) in {(each.component, each.address) for each in several[key]}:
            calls[key][one.trace_id].append(one.call)
    for key in users:
        traces = calls[key]
        billed_ns = sum(_but_the_longest([(e.address, e.own_ns) for e in mine]) for mine in traces.values())
        saved_ns = {trace: _saved_ns(mine) for trace, mine in traces.items()}
        in_sequence = sum(
            2 * saved_ns[trace] >= _but_the_longest([(e.address, e.own_ns) for e in mine]) > 0
            for trace, mine in traces.items()
        )
        if len(traces) < _LEAST_KEPT or 2 * in_sequence < len(traces) or not billed_ns:
            continue
        share = sum(saved_ns.values()) / billed_ns
        kind, mine = observed.kinds[key], several[key]
        saved = possible[key] * share
        if saved >= LEAST_SEQUENTIAL_SHARE * kind.duration_ns and (kinds := worth(observed, {key: saved})):
            servers = " and ".join(f"{e.component} on {e.address}" for e in mine)
            times = ", ".join(f"{e.address} {duration(e.time_ns / kind.transactions)}" for e in mine)
            yield Candidate(
                "sequential_calls",
                kind.service,
                f"{kind.name}\0" + "\0".join(sorted(each.key for each in mine)),
                kinds,
                Removed("overlap", targets=tuple(each.key for each in mine), share=share),
                change=f"Let {shown(kind.name)} call {servers} at the same time (threads or asyncio).",
                finding=f"In {in_sequence} of {plural(len(traces), 'kept transaction')} it calls them one after the"
                f" other: {times}.",
                certainty="It is possible where none of them needs the result of another."
                + ("" if kept.is_fair else " The kept transactions are slow or failed ones."),
            )


def _but_the_longest(times_ns: Sequence[tuple[str, int]]) -> int:
    by_server: dict[str, int] = defaultdict(int)
    for address, time_ns in times_ns:
        by_server[address] += time_ns
    return sum(by_server.values()) - max(by_server.values(), default=0)


def _saved_ns(calls: Sequence[Call]) -> int:
    """Of one transaction: only calls that read count, and not the time in which several run already."""
    reads = [each for each in calls if each.name in ("GET", "HEAD") or _SELECT.match(each.text)]
    overlap_ns, until_ns = 0, 0
    for each in sorted(reads, key=lambda each: each.offset_ns):
        overlap_ns += max(0, min(until_ns, each.offset_ns + each.duration_ns) - each.offset_ns)
        until_ns = max(until_ns, each.offset_ns + each.duration_ns)
    return max(0, _but_the_longest([(each.address, each.own_ns) for each in reads]) - overlap_ns)
