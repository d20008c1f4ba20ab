"""Caches: keys that are read one by one, and servers that hit but are slow."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping

from ...format import count, duration, plural, printable, ratio
from ..kept.sample import SampledCall, kept_sample
from ..names import shown
from ..servers.requested import key_prefix
from .answer import LEAST_CACHE_CALL_NS, LEAST_CALLS, LEAST_HIT_RATIO, LEAST_LONE_CACHE_CALL_NS, USUAL_CACHE_CALL_NS
from .candidate import Candidate, Removed, helped_most, worth
from .observed import Key, Observed, TargetSums

_LEAST_COMPARED = 100
"""Calls of another server that this one is compared with."""
_SEVERAL = re.compile(r" and \d+ more$")
_SINGLE = ("memcache.get", "redis.get")
_TOGETHER = {"memcache.get": "get_many", "redis.get": "mget"}


def repeated_gets(observed: Observed) -> Iterator[Candidate]:
    """Keys of one prefix that a transaction gets one by one, at least LEAST_CALLS of them."""
    for component in _SINGLE:
        targets: dict[Key, list[TargetSums]] = defaultdict(list)
        for each in observed.targets:
            if each.component == component:
                targets[each.service, each.name].append(each)
        times_ns = {key: float(sum(each.time_ns for each in mine)) for key, mine in targets.items()}
        users = [
            key
            for key in worth(observed, times_ns)
            if sum(each.calls for each in targets[key]) >= LEAST_CALLS * max(each.transactions for each in targets[key])
        ]
        if users:
            yield from _by_prefix(observed, component, {key: targets[key] for key in users})


def _by_prefix(observed: Observed, component: str, targets: Mapping[Key, list[TargetSums]]) -> Iterator[Candidate]:
    kept = kept_sample(
        observed.engine, observed.sampled, component=component, kinds=["\t".join(key) for key in targets]
    )
    all_ns: dict[Key, int] = defaultdict(int)
    gets: dict[tuple[str, Key], dict[str, list[SampledCall]]] = defaultdict(lambda: defaultdict(list))
    for each in kept.calls:
        key = (each.service, each.name)
        all_ns[key] += each.call.own_ns
        if not _SEVERAL.search(each.call.text):
            gets[key_prefix(each.call.text), key][each.trace_id].append(each)
    by_prefix: dict[tuple[str, str], dict[Key, dict[str, list[SampledCall]]]] = defaultdict(dict)
    for (prefix, key), by_trace in gets.items():
        if sum(map(len, by_trace.values())) >= LEAST_CALLS * len(by_trace):
            by_prefix[key[0], prefix][key] = by_trace
    for (service, prefix), senders in by_prefix.items():
        shares = {key: sum(map(_saved_ns, senders[key].values())) / max(all_ns[key], 1) for key in senders}
        saved = {key: shares[key] * sum(each.time_ns for each in targets[key]) for key in senders}
        if not (kinds := worth(observed, saved)):
            continue
        most = helped_most(kinds)
        mine = [each for calls in senders[most].values() for each in calls]
        servers = len({each.address for each in targets[most]})
        yield Candidate(
            "repeated_gets",
            service,
            f"{component} {prefix}",
            kinds,
            Removed("targets", targets=tuple({each.key for each in targets[most]}), share=shares[most]),
            change=f"Get the keys {printable(prefix)}… of {shown(most[1])} with one {_TOGETHER[component]}()"
            f" ({component} on {plural(servers, 'server')}).",
            finding=f"{shown(most[1])} gets {count(round(len(mine) / len(senders[most]), 1))} of them one by one,"
            f" {duration(sum(each.call.own_ns for each in mine) / len(mine))} each.",
            certainty=f"Read from {plural(len(senders[most]), 'kept transaction')}; it is possible where the keys are"
            " known before the first value." + ("" if kept.is_fair else " They are slow or failed ones."),
            component=component,
            address=targets[most][0].address if servers == 1 else "",
        )


def _saved_ns(calls: list[SampledCall]) -> float:
    """All but one call to each server."""
    by_server: dict[str, list[int]] = defaultdict(list)
    for each in calls:
        by_server[each.call.address].append(each.call.own_ns)
    return sum(sum(times) * (1 - 1 / len(times)) for times in by_server.values())


def slow_cache(observed: Observed) -> Iterator[Candidate]:
    """Cache servers with a good hit ratio whose lookups take long."""
    servers: dict[tuple[str, str], list[TargetSums]] = defaultdict(list)
    for each in observed.targets:
        if each.hits + each.misses:
            servers[each.component, each.address].append(each)
    per_call_ns = {
        server: sum(each.time_ns for each in mine) / calls
        for server, mine in servers.items()
        if (calls := sum(each.calls for each in mine)) >= _LEAST_COMPARED
    }
    for (component, address), mine in servers.items():
        calls, hits = sum(each.calls for each in mine), sum(each.hits for each in mine)
        lookups, time_ns = hits + sum(each.misses for each in mine), sum(each.time_ns for each in mine)
        if not calls or time_ns < LEAST_CACHE_CALL_NS * calls or hits < LEAST_HIT_RATIO * lookups:
            continue
        others = [ns for (name, at), ns in per_call_ns.items() if name == component and at != address]
        fastest_ns = min(others, default=time_ns)
        is_slowest = 2 * fastest_ns * calls < time_ns
        if others and not is_slowest and time_ns < LEAST_LONE_CACHE_CALL_NS * calls:
            continue
        usual_ns = fastest_ns if is_slowest else USUAL_CACHE_CALL_NS
        saved: dict[Key, float] = defaultdict(float)
        for each in mine:
            saved[each.service, each.name] += max(0.0, each.time_ns - each.calls * usual_ns)
        if kinds := worth(observed, saved):
            most = helped_most(kinds)
            gets = sum(each.calls for each in mine if (each.service, each.name) == most)
            compared = f"another server takes {duration(usual_ns)}" if is_slowest else "0.5 ms is usual in one network"
            yield Candidate(
                "slow_cache",
                "",
                f"{component}\t{address}",
                kinds,
                Removed("targets", targets=(f"{component}\t{address}",), usual_ns=usual_ns),
                least_p50_ns=LEAST_CACHE_CALL_NS * gets / observed.kinds[most].transactions,
                change=f"Find out why {component} on {address} is slow: the network to it, the size of its values, its"
                " load, or swapping.",
                finding=f"{ratio(hits, lookups)} of its lookups hit, but a call takes {duration(time_ns / calls)};"
                f" {compared}.",
                component=component,
                address=address,
            )
