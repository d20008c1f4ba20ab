"""Caches: keys that are read one by one, servers that hit but are slow, and values that they refuse."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from statistics import median

from ...format import count, duration, plural, printable, ratio
from .. import other_side
from ..kept.sample import SampledCall, kept_sample
from ..queries import run
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
from .observed import Key, Observed, TargetSums, grouped

_LEAST_COMPARED = 100
"""Calls of another server that this one is compared with."""
_SEVERAL = re.compile(r" and \d+ more$")
_STORES = {"memcache.get": "memcache.set", "redis.get": "redis.set"}
_REFUSED = 0.5
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


@dataclass
class Built:
    """Keys of one prefix that a service looks up in vain, builds, and sends to a server."""

    lookups: float = 0.0
    hits: float = 0.0
    stores: list[tuple[Key, SampledCall, float]] = field(default_factory=list)
    """By kind: the call that should store a value, and the weighed time from its lookup until then."""


def refused_values(observed: Observed) -> Iterator[Candidate]:
    """Keys whose values a server refuses, mostly because they are too large: each lookup builds them anew."""
    window = observed.scope.window
    too_large: Mapping[str, int] = {
        row["server"]: row["refused"]
        for row in run(observed.engine, "advise/too_large", start_ns=window.start_ns, end_ns=window.end_ns)
    }
    known = other_side.servers(observed.engine, window) if too_large else ()
    for component, store in _STORES.items():
        for server in sorted({each.address for each in observed.targets if each.component == store}):
            refused = too_large.get(other_side.meant(server, known) or "", 0) if component == "memcache.get" else 0
            mine = [each for each in observed.targets if each.address == server]
            lookups = {each.kind: each for each in mine if each.component == component and each.misses}
            if lookups and (refused or any(each.errors for each in mine if each.component == store)):
                kinds = list(map("\t".join, lookups))
                _, calls = kept_sample(observed.engine, observed.sampled, address=server, kinds=kinds, is_by_kind=True)
                yield from _refused(observed, (component, store, server), lookups, calls, refused)


def _refused(
    observed: Observed,
    where: tuple[str, str, str],
    lookups: Mapping[Key, TargetSums],
    calls: Sequence[SampledCall],
    too_large: int,
) -> Iterator[Candidate]:
    component, store, server = where
    gets = [each for each in calls if each.call.component == component]
    all_ns = {kind: sum(map(_weighed_ns, each)) or 1.0 for kind, each in grouped(gets, lambda each: each.kind).items()}
    all_misses = sum(each.weight for each in gets if each.call.result == "miss") or 1.0
    misses = sum(each.misses for each in lookups.values())
    for (service, prefix), built in _built(calls, component, store).items():
        weights = [each.weight for _, each, _ in built.stores]
        errors = [each.call.error for _, each, _ in built.stores if each.call.error]
        missed = misses * built.lookups / all_misses
        is_too_large = too_large >= _REFUSED * missed
        if built.hits or weighted.effective(weights) < LEAST_HELPED:
            continue
        if not is_too_large and len(errors) < _REFUSED * len(weights):
            continue
        share: dict[Key, float] = defaultdict(float)
        for kind, _, built_ns in built.stores:
            share[kind] += built_ns / all_ns[kind]
        kinds = observed.worth((kind, share[kind] * each.time_ns) for kind, each in lookups.items())
        if not kinds:
            continue
        why = "are larger than it takes (-I, by default 1 MB)" if is_too_large else f"are refused ({errors[0]})"
        yield Candidate(
            "refused_values",
            service,
            f"{store} {prefix} {server}",
            kinds,
            of="targets",
            targets=(f"{component}\t{server}",),
            share=share,
            change=f"Make the values of {printable(prefix)}… smaller, or do not look them up on {server}: they {why}.",
            finding=partial(_in_vain, count(missed * observed.one_in)),
            certainty=f"Read from {plural(len(weights), 'kept call')} that should store one; the price is the most it"
            " can be: the first one of each has to be built.",
            component=store,
            address=server,
        )


def _built(calls: Sequence[SampledCall], component: str, store: str) -> Mapping[tuple[str, str], Built]:
    """By service and prefix; calls are in the order of their starts."""
    found: dict[tuple[str, str], Built] = defaultdict(Built)
    for (_, kind), mine in grouped(calls, lambda each: (each.trace_id, each.kind)).items():
        missed: dict[str, int] = {}
        for each in mine:
            call, built = each.call, found[kind[0], key_prefix(each.call.text)]
            if call.component == component and not _SEVERAL.search(call.text):
                built.lookups += each.weight * (call.result == "miss")
                built.hits += each.weight * (call.result == "hit")
                if call.result == "miss":
                    missed[call.text] = call.offset_ns
            elif call.component == store and call.text in missed:
                took_ns = call.offset_ns + call.duration_ns - missed.pop(call.text)
                built.stores.append((kind, each, each.weight * took_ns))
    return found


def _in_vain(misses: str, kind: str, bills: Bills) -> str:
    return f"{kind} looks them up {bills.where}, always in vain ({misses} misses), and builds them each time."
