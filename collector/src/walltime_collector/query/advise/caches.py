"""Caches: keys that are read one by one, and servers that hit but are slow."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from statistics import median

from ...format import count, duration, plural, printable, ratio
from ..kept.sample import SampledCall, kept_sample
from ..servers.requested import key_prefix
from ..statistics import weighted
from .answer import (
    LEAST_CACHE_CALL_NS,
    LEAST_CALLS,
    LEAST_HELPED,
    LEAST_HIT_RATIO,
    LEAST_LONE_CACHE_CALL_NS,
    MOST,
    NOT_FAIR,
    USUAL_CACHE_CALL_NS,
)
from .candidate import Bills, Candidate
from .observed import Key, Observed, grouped

_LEAST_COMPARED = 100
"""Calls of another server that this one is compared with."""
_SEVERAL = re.compile(r" and \d+ more$")
_TOGETHER = {"memcache.get": "get_many", "redis.get": "mget"}


def repeated_gets(observed: Observed) -> Iterator[Candidate]:
    """Keys of one prefix that transactions get one by one, at least LEAST_CALLS of them."""
    for component, together in _TOGETHER.items():
        targets = [each for each in observed.targets if each.component == component]
        if not (users := observed.worth((each.kind, each.time_ns) for each in targets)):
            continue
        names = list(map("\t".join, users))
        _, calls = kept_sample(observed.engine, observed.sampled, component=component, kinds=names, is_by_kind=True)
        all_ns = {
            key: sum(map(_weighed_ns, mine)) or 1.0 for key, mine in grouped(calls, lambda each: each.kind).items()
        }
        single = (each for each in calls if not _SEVERAL.search(each.call.text))
        by_trace = grouped(single, lambda each: (each.kind, key_prefix(each.call.text), each.trace_id))
        repeated: dict[tuple[str, str], dict[Key, list[list[SampledCall]]]] = defaultdict(dict)
        often = [(key, mine) for key, mine in by_trace.items() if len(mine) >= LEAST_CALLS]
        for (key, prefix), found in grouped(often, lambda each: each[0][:2]).items():
            if weighted.effective([mine[0].weight for _, mine in found]) >= LEAST_HELPED:
                repeated[key[0], prefix][key] = [mine for _, mine in found]
        for (service, prefix), of_kinds in repeated.items():
            share = {key: sum(map(_saved_ns, found)) / all_ns[key] for key, found in of_kinds.items()}
            saved = ((each.kind, share.get(each.kind, 0.0) * each.time_ns) for each in targets)
            if kinds := observed.worth(saved):
                read = [mine for found in of_kinds.values() for mine in found]
                servers = sorted({each.address for each in targets if each.kind in kinds})
                yield Candidate(
                    "repeated_gets",
                    service,
                    f"{component} {prefix}",
                    kinds,
                    of="targets",
                    targets=tuple(f"{component}\t{each}" for each in servers),
                    least_calls=LEAST_CALLS,
                    share=share,
                    change=f"Get the keys {printable(prefix)}… with one {together}() ({component} on"
                    f" {plural(len(servers), 'server')}).",
                    finding=partial(_repeated, round(median(map(len, read)))),
                    certainty=f"Read from {plural(len(read), 'kept transaction')}; it is possible where the keys are"
                    f" known before the first value.{NOT_FAIR * (not all(mine[0].is_fair for mine in read))}",
                    component=component,
                    address=servers[0] if len(servers) == 1 else "",
                )


def _repeated(gets: int, kind: str, bills: Bills) -> str:
    return f"{kind} gets {count(gets)} of them one by one {bills.where}, {duration(bills.call_ns)} each."


def _saved_ns(calls: Sequence[SampledCall]) -> float:
    """All but one call of a transaction to each server, with its weight."""
    by_server = grouped(calls, lambda each: each.call.address).values()
    return sum(sum(map(_weighed_ns, mine)) * (1 - 1 / len(mine)) for mine in by_server)


def _weighed_ns(call: SampledCall) -> float:
    return call.weight * call.call.own_ns


def slow_cache(observed: Observed) -> Iterator[Candidate]:
    """Cache servers with a good hit ratio whose lookups take long in most of the transactions that use them."""
    lookups = (each for each in observed.targets if each.hits + each.misses)
    servers = grouped(lookups, lambda each: (each.component, each.address))
    call_ns = {at: weighted.median([(each.call_ns, each.calls) for each in mine]) for at, mine in servers.items()}
    compared = [at for at, mine in servers.items() if sum(each.calls for each in mine) >= _LEAST_COMPARED]
    for at, mine in servers.items():
        component, address = at
        hits, misses = sum(each.hits for each in mine), sum(each.misses for each in mine)
        if call_ns[at] < LEAST_CACHE_CALL_NS or hits < LEAST_HIT_RATIO * (hits + misses):
            continue
        others = [call_ns[other] for other in compared if other[0] == component and other != at]
        others_ns = median(others or [call_ns[at]])  # the fastest of many is fast by chance
        is_slower = 2 * others_ns < call_ns[at]
        least_ns = 2 * others_ns if is_slower else LEAST_LONE_CACHE_CALL_NS if others else LEAST_CACHE_CALL_NS
        usual_ns = others_ns if is_slower else USUAL_CACHE_CALL_NS
        kinds = observed.worth((each.kind, max(0.0, each.time_ns - each.calls * usual_ns)) for each in mine)
        if kinds and call_ns[at] >= least_ns:
            another = "another server takes" if len(others) == 1 else f"the median of {len(others)} other servers is"
            beside = f"{another} {duration(usual_ns)}" if is_slower else "0.5 ms is usual in one network"
            yield Candidate(
                "slow_cache",
                "",
                mine[0].key,
                kinds,
                of="targets",
                targets=(mine[0].key,),
                usual_ns=usual_ns,
                least_call_ns=max(LEAST_CACHE_CALL_NS, least_ns),
                least_users=MOST,
                change=f"Find out why {component} on {address} is slow: the network to it, the size of its values, its"
                " load, or swapping.",
                finding=partial(_slow, ratio(hits, hits + misses), beside),
                component=component,
                address=address,
            )


def _slow(hits: str, compared: str, kind: str, bills: Bills) -> str:
    call = duration(bills.call_ns)
    return f"{hits} of its lookups hit, but a call of {kind} takes {call} {bills.of_users}; {compared}."
