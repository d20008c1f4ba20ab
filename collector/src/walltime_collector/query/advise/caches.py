"""Caches: keys that are read one by one, and servers that hit but are slow."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
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
from .candidate import Bills, Candidate, Removed, worth
from .observed import Key, Observed, TargetSums

_LEAST_COMPARED = 100
"""Calls of another server that this one is compared with."""
_SEVERAL = re.compile(r" and \d+ more$")
_SINGLE = ("memcache.get", "redis.get")
_TOGETHER = {"memcache.get": "get_many", "redis.get": "mget"}


def repeated_gets(observed: Observed) -> Iterator[Candidate]:
    """Keys of one prefix that transactions get one by one, at least LEAST_CALLS of them."""
    for component in _SINGLE:
        targets: dict[Key, list[TargetSums]] = defaultdict(list)
        for each in observed.targets:
            if each.component == component:
                targets[each.service, each.name].append(each)
        if users := worth(observed, {key: float(sum(each.time_ns for each in mine)) for key, mine in targets.items()}):
            yield from _by_prefix(observed, component, {key: targets[key] for key in users})


def _by_prefix(observed: Observed, component: str, targets: Mapping[Key, list[TargetSums]]) -> Iterator[Candidate]:
    kept = kept_sample(
        observed.engine,
        observed.sampled,
        component=component,
        kinds=["\t".join(key) for key in targets],
        is_by_kind=True,
    )
    all_ns: dict[Key, float] = defaultdict(float)
    gets: dict[tuple[str, Key], dict[str, list[SampledCall]]] = defaultdict(lambda: defaultdict(list))
    for each in kept.calls:
        key = (each.service, each.name)
        all_ns[key] += each.weight * each.call.own_ns
        if not _SEVERAL.search(each.call.text):
            gets[key_prefix(each.call.text), key][each.trace_id].append(each)
    shares: dict[tuple[str, str], dict[Key, float]] = defaultdict(dict)
    read: dict[tuple[str, str], list[list[SampledCall]]] = defaultdict(list)
    for (prefix, key), by_trace in gets.items():
        repeated = [calls for calls in by_trace.values() if len(calls) >= LEAST_CALLS]
        if weighted.effective([calls[0].weight for calls in repeated]) >= LEAST_HELPED:
            shares[key[0], prefix][key] = sum(map(_saved_ns, repeated)) / max(all_ns[key], 1)
            read[key[0], prefix] += repeated
    for (service, prefix), share in shares.items():
        saved = {key: share[key] * sum(each.time_ns for each in targets[key]) for key in share}
        if not (kinds := worth(observed, saved)):
            continue
        calls = read[service, prefix]
        servers = sorted({each.address for key in kinds for each in targets[key]})
        yield Candidate(
            "repeated_gets",
            service,
            f"{component} {prefix}",
            kinds,
            Removed("targets", targets=tuple(f"{component}\t{each}" for each in servers), least_calls=LEAST_CALLS),
            share=share,
            change=f"Get the keys {printable(prefix)}… with one {_TOGETHER[component]}()"
            f" ({component} on {plural(len(servers), 'server')}).",
            finding=partial(_repeated, round(median(map(len, calls)))),
            certainty=f"Read from {plural(len(calls), 'kept transaction')}; it is possible where the keys are known"
            f" before the first value.{NOT_FAIR * (not all(each[0].is_fair for each in calls))}",
            component=component,
            address=servers[0] if len(servers) == 1 else "",
        )


def _repeated(gets: int, kind: str, bills: Bills) -> str:
    return f"{kind} gets {count(gets)} of them one by one {bills.where}, {duration(bills.call_ns)} each."


def _saved_ns(calls: Sequence[SampledCall]) -> float:
    """All but one call of a transaction to each server, with its weight."""
    by_server: dict[str, list[int]] = defaultdict(list)
    for each in calls:
        by_server[each.call.address].append(each.call.own_ns)
    return calls[0].weight * sum(sum(times) * (1 - 1 / len(times)) for times in by_server.values())


def slow_cache(observed: Observed) -> Iterator[Candidate]:
    """Cache servers with a good hit ratio whose lookups take long in most of the transactions that use them."""
    servers: dict[tuple[str, str], list[TargetSums]] = defaultdict(list)
    for each in observed.targets:
        if each.hits + each.misses:
            servers[each.component, each.address].append(each)
    calls = {server: sum(each.calls for each in mine) for server, mine in servers.items()}
    call_ns = {
        server: weighted.median([(each.call_ns, each.calls) for each in mine]) for server, mine in servers.items()
    }
    for (component, address), mine in servers.items():
        hits, misses = sum(each.hits for each in mine), sum(each.misses for each in mine)
        mine_ns = call_ns[component, address]
        if mine_ns < LEAST_CACHE_CALL_NS or hits < LEAST_HIT_RATIO * (hits + misses):
            continue
        others = [
            ns
            for (name, at), ns in call_ns.items()
            if name == component and at != address and calls[name, at] >= _LEAST_COMPARED
        ]
        others_ns = median(others) if others else mine_ns  # the fastest of many is fast by chance
        is_slower = 2 * others_ns < mine_ns
        if others and not is_slower and mine_ns < LEAST_LONE_CACHE_CALL_NS:
            continue
        usual_ns = others_ns if is_slower else USUAL_CACHE_CALL_NS
        saved: dict[Key, float] = defaultdict(float)
        for each in mine:
            saved[each.service, each.name] += max(0.0, each.time_ns - each.calls * usual_ns)
        if kinds := worth(observed, saved):
            another = "another server takes" if len(others) == 1 else f"the median of {len(others)} other servers is"
            compared = f"{another} {duration(usual_ns)}" if is_slower else "0.5 ms is usual in one network"
            least_ns = 2 * usual_ns if is_slower else LEAST_LONE_CACHE_CALL_NS if others else 0
            yield Candidate(
                "slow_cache",
                "",
                f"{component}\t{address}",
                kinds,
                Removed(
                    "targets",
                    targets=(f"{component}\t{address}",),
                    usual_ns=usual_ns,
                    least_call_ns=max(LEAST_CACHE_CALL_NS, least_ns),
                ),
                least_users=MOST,
                change=f"Find out why {component} on {address} is slow: the network to it, the size of its values, its"
                " load, or swapping.",
                finding=partial(_slow, ratio(hits, hits + misses), compared),
                component=component,
                address=address,
            )


def _slow(hits: str, compared: str, kind: str, bills: Bills) -> str:
    call = duration(bills.call_ns)
    return f"{hits} of its lookups hit, but a call of {kind} takes {call} {bills.of_users}; {compared}."
