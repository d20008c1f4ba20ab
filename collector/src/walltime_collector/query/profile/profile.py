"""Answers `profile`: the bill of a kind, its containers and components split by the stacks that were sampled."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt

from ...clickhouse.engine import Engine
from ...errors import NotStored
from ...format import iso_time, quoted
from .. import kinds
from ..components import CONTAINERS
from ..queries import Row, run
from ..sampled import sampled as sampled_scope
from ..sampling import REST, Sampled, by_line, sampled, share_interval
from ..scope import Scope
from ..top import top_of
from .answer import Coverage, Part, Profile

MAX_STACKS = 500
"""Of a component."""
_NAMES = ("line", "function", "library", "state", "stack")


@dataclass(frozen=True)
class KindBill:
    """What the transactions of a kind spent their time on."""

    transactions: int
    total_ns: int
    components: Mapping[str, tuple[int, int]]
    """Calls and exclusive time of each, `other` among them."""


def profile(engine: Engine, scope: Scope, *, state: str = "") -> Profile:
    """
    Profile the kind of a scope, whose names may be cut or be the beginning of the right ones: see names.find.

    Raises:
        NotStored: There is no such kind, several begin like this, or none of its transactions are in the scope.
        BadParameter: Several services have a kind of this name.
        EngineUnavailable, QueryFailed: No answer.
    """
    service, kind = kinds.service(engine, scope.filters.service), scope.filters.kind
    rows = kinds.kind_in(engine, kind, service, scope.window)
    kind = str(rows[0].get("name", kind))
    services = [str(row["service"]) for row in rows]
    service = kinds.one_of_services(kind, [str(row["service"]) for row in rows if row["slow"]] or services)
    scope = replace(scope, filters=replace(scope.filters, service=service, kind=kind))
    return profile_kind(engine, sampled_scope(engine, scope), state=state)


def profile_kind(engine: Engine, scope: Scope, *, state: str = "") -> Profile:
    """
    Profile the kind whose service and name the scope has exactly.

    Raises:
        NotStored: None of its transactions are in the scope.
        EngineUnavailable, QueryFailed: No answer.
    """
    top = top_of(engine, scope, time.time_ns(), limit=1)
    if not top.kinds:
        what = f"no transaction {quoted(scope.filters.kind)} is stored of this time and these filters"
        raise NotStored("kind", what, "choose another time: transactions count where they started")
    (of,) = top.kinds
    components = {each.name: (each.calls, each.time_ns) for each in of.components}
    return split(engine, scope, KindBill(of.transactions, of.total_ns, components | {"other": (0, of.other_ns)}), state)


def split(engine: Engine, scope: Scope, bill: KindBill, state: str = "") -> Profile:
    """
    Split the bill of a scope's transactions by their samples.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    sampled_of: dict[str, list[Row]] = defaultdict(list)
    for row in run(engine, "scoped/stacks", **scope.divided(), limit=MAX_STACKS):
        # samples of a component that is on no bill are of `other`
        sampled_of[row["component"] if row["component"] in bill.components else "other"].append(row)
    parts: list[Part] = []
    stacks: list[Sampled] = []
    for name, (calls, time_ns) in bill.components.items():
        mine = _stacks(name, time_ns, sampled_of[name], scope.one_in)
        sampled_ns = min(sum(each.time_ns for each in mine), time_ns)  # rounding
        parts.append(Part(name, calls, time_ns, name in CONTAINERS, sum(each.samples for each in mine), sampled_ns))
        stacks += mine
    shown = tuple(each for each in stacks if state in ("", each.state))
    return Profile(
        service=scope.filters.service,
        name=scope.filters.kind,
        since=iso_time(scope.window.start_ns),
        until=iso_time(scope.window.end_ns),
        transactions=bill.transactions,
        total_ns=bill.total_ns,
        overlap_ns=sum(each.time_ns for each in parts) - bill.total_ns,
        state=state,
        parts=tuple(sorted(parts, key=lambda each: (-each.time_ns, each.name))),
        coverage=coverage(parts, stacks),
        lines=by_line(shown),
        stacks=shown,
    )


def coverage(parts: Sequence[Part], stacks: Sequence[Sampled]) -> Coverage:
    """
    The share of the time that is on a named line.

    The time of a container counts as far as its samples are enough for it (by chance they may be fewer than its time,
    so two standard errors may be missing), and as many of them have a line.
    """
    whole_ns = sum(each.time_ns for each in parts)
    named_ns = [float(sum(each.time_ns for each in parts if not each.is_container))] * 3
    for part in parts:
        if not (part.is_container and part.samples):
            continue
        named = sum(each.samples for each in stacks if each.component == part.name and each.is_named)
        enough_ns = min(part.sampled_ns * (1 + 2 / sqrt(part.samples)), part.time_ns)
        shares = (named / part.samples, *share_interval(named, part.samples))
        named_ns = [sum_ns + share * enough_ns for sum_ns, share in zip(named_ns, shares, strict=True)]
    return Coverage(*(each / whole_ns for each in named_ns)) if whole_ns else Coverage(1.0, 1.0, 1.0)


def _stacks(name: str, most_ns: int, rows: Sequence[Row], one_in: int) -> list[Sampled]:
    """
    The sampled stacks of a component, and the rest as REST; scaled down where they stand for more than its time.

    Args:
        one_in: One in so many transactions was read.
    """
    read = [([name, *(row[each] for each in _NAMES)], row["samples"], row["time_ns"]) for row in rows]
    whole = {row["component"]: (row["all_samples"], row["all_time_ns"]) for row in rows}
    rest = sum(samples for samples, _ in whole.values()) - sum(samples for _, samples, _ in read)
    all_ns = sum(time_ns for _, time_ns in whole.values())
    if rest:
        read.append(([name, REST, "", "", "", ""], rest, all_ns - sum(time_ns for *_, time_ns in read)))
    factor = min(one_in, most_ns / all_ns) if all_ns else 1
    return [sampled(names, samples, time_ns * factor) for names, samples, time_ns in read if samples]
