"""Connections that are opened for each transaction, or for each call."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Literal

from ...format import duration
from .answer import MOST, Category
from .candidate import Bills, Candidate, Removed, worth
from .observed import Key, Observed, TargetSums

_REMEDY = {
    "mysql": "a connection pool",
    "memcache": "one client for the whole process",
    "redis": "one client, with its pool, for the whole process",
    "http": "one session or client for the whole process, which keeps connections alive",
}

_CATEGORIES: Sequence[tuple[Category, Literal[-1, 1], str]] = (
    ("connect_per_query", 1, "call"),
    ("missing_pool", -1, "transaction"),
)


def connections(observed: Observed) -> Iterator[Candidate]:
    """For each service and each sort of connection: kinds that reconnect, and kinds that have no pool."""
    users: dict[tuple[Key, str, str], int] = defaultdict(int)
    beside: dict[tuple[str, str], set[str]] = defaultdict(set)
    groups: dict[tuple[str, str], list[TargetSums]] = defaultdict(list)
    for each in observed.targets:
        system, _, operation = each.component.rpartition(".")
        where = ((each.service, each.name), system, each.address)
        users[where] = max(users[where], each.transactions)
        if operation == "connect":
            groups[each.service, each.component].append(each)
        else:
            beside[system, each.address].add(each.key)
    for (service, component), connects in groups.items():
        system = component.rpartition(".")[0]
        mine: dict[Key, list[TargetSums]] = defaultdict(list)
        for each in connects:
            key = (each.service, each.name)
            if each.transactions >= MOST * users[key, system, each.address]:
                mine[key].append(each)
        if not (kinds := worth(observed, {key: float(sum(each.time_ns for each in mine[key])) for key in mine})):
            continue
        addresses = list(dict.fromkeys(each.address for key in kinds for each in mine[key]))
        remedy = _REMEDY.get(system, "a connection pool")
        for category, often, when in _CATEGORIES:
            yield Candidate(
                category,
                service,
                component,
                kinds,
                Removed(
                    "targets",
                    targets=tuple(f"{component}\t{address}" for address in addresses),
                    beside=tuple(key for address in addresses for key in sorted(beside[system, address])),
                    often=often,
                ),
                least_users=MOST,
                change=f"Use {remedy}: {service} connects to {', '.join(addresses)} for each {when}.",
                finding=partial(_finding, component),
                component=component,
                address=addresses[0] if len(addresses) == 1 else "",
            )


def _finding(component: str, kind: str, bills: Bills) -> str:
    return f"{kind} connects {bills.times} {bills.where} ({component}), {duration(bills.call_ns)} each."
