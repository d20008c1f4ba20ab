"""Connections that are opened for each transaction, or for each call."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from ...format import duration, plural
from ..names import shown
from .answer import LEAST_CONNECTS, LEAST_CONNECTS_PER_QUERY, Category
from .candidate import Candidate, Removed, helped_most, worth
from .observed import Key, Observed, TargetSums

_REMEDY = {
    "mysql": "a connection pool",
    "memcache": "one client for the whole process",
    "redis": "one client, with its pool, for the whole process",
    "http": "one session or client for the whole process, which keeps connections alive",
}


def connections(observed: Observed) -> Iterator[Candidate]:
    """For each service and each sort of connection, at most one candidate: it reconnects, or it has no pool."""
    others: dict[tuple[Key, str, str], TargetSums] = {}
    groups: dict[tuple[str, str], list[TargetSums]] = defaultdict(list)
    calls: dict[tuple[Key, str, str], int] = defaultdict(int)
    for each in observed.targets:
        system, _, operation = each.component.rpartition(".")
        where = ((each.service, each.name), system, each.address)
        if operation == "connect":
            groups[each.service, each.component].append(each)
        else:
            calls[where] += each.calls
            if where not in others or each.transactions > others[where].transactions:
                others[where] = each
    for (service, component), connects in groups.items():
        system = component.rpartition(".")[0]
        by_category: dict[Category, list[TargetSums]] = defaultdict(list)
        for each in connects:
            where = ((each.service, each.name), system, each.address)
            users = max(each.transactions, others[where].transactions if where in others else 0)
            if each.calls >= LEAST_CONNECTS_PER_QUERY * users and 2 * each.calls >= calls[where]:
                by_category["connect_per_query"].append(each)
            elif each.calls >= LEAST_CONNECTS * users:
                by_category["missing_pool"].append(each)
        for category, mine in by_category.items():
            yield from _candidate(observed, category, service, component, mine)


def _candidate(
    observed: Observed, category: Category, service: str, component: str, connects: list[TargetSums]
) -> Iterator[Candidate]:
    saved: dict[Key, float] = defaultdict(float)
    for each in connects:
        saved[each.service, each.name] += each.time_ns
    if not (kinds := worth(observed, saved)):
        return
    most = helped_most(kinds)
    mine = [each for each in connects if (each.service, each.name) == most]
    number, time_ns = sum(each.calls for each in mine), sum(each.time_ns for each in mine)
    system = component.rpartition(".")[0]
    remedy = _REMEDY.get(system, "a connection pool")
    addresses = list(dict.fromkeys(each.address for each in mine))
    when = "each call" if category == "connect_per_query" else "each transaction"
    yield Candidate(
        category,
        service,
        component,
        kinds,
        Removed("targets", targets=tuple({each.key for each in connects})),
        change=f"Use {remedy}: {service} connects to {', '.join(addresses)} for {when}.",
        finding=f"{shown(most[1])} opens {plural(round(number / observed.kinds[most].transactions, 2), 'connection')} a"
        f" transaction ({component}), {duration(time_ns / number)} each.",
        component=component,
        address=addresses[0] if len(addresses) == 1 else "",
    )
