"""Connections that are opened for each transaction, or for each call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Literal

from ...format import duration
from .answer import MOST, Category
from .candidate import Bills, Candidate
from .observed import Observed, TargetSums, grouped

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
    users = grouped(observed.targets, lambda each: (each.kind, each.server))
    beside = grouped((each for each in observed.targets if not _connects(each)), lambda each: each.server)
    connecting = [
        each
        for each in filter(_connects, observed.targets)
        if each.transactions >= MOST * max(one.transactions for one in users[each.kind, each.server])
    ]
    for (service, component), mine in grouped(connecting, lambda each: (each.service, each.component)).items():
        if not (kinds := observed.worth((each.kind, each.time_ns) for each in mine)):
            continue
        servers = list(dict.fromkeys(each.server for each in mine if each.kind in kinds))
        remedy = _REMEDY.get(servers[0][0], "a connection pool")
        for category, often, when in _CATEGORIES:
            yield Candidate(
                category,
                service,
                component,
                kinds,
                of="targets",
                targets=tuple(f"{component}\t{address}" for _, address in servers),
                beside=tuple(dict.fromkeys(each.key for server in servers for each in beside.get(server, ()))),
                often=often,
                least_users=MOST,
                change=f"Use {remedy}: {service} connects to {', '.join(address for _, address in servers)} for each"
                f" {when}.",
                finding=partial(_finding, component),
                component=component,
                address=servers[0][1] if len(servers) == 1 else "",
            )


def _connects(target: TargetSums) -> bool:
    return target.component.endswith(".connect")


def _finding(component: str, kind: str, bills: Bills) -> str:
    return f"{kind} connects {bills.times} {bills.where} ({component}), {duration(bills.call_ns)} each."
