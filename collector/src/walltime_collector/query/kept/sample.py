"""A sample of the kept calls of a Scope, and what groups of them cost: only single calls have keys and places."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ...clickhouse.engine import Engine, Parameter
from ..answers import Call
from ..queries import Row, run
from ..scope import Scope
from ..transaction.kept_calls import kept_call

_MAX_TRANSACTIONS = 400
_MAX_OF_KIND = 40
_MAX_CALLS = 6_000
_MAX_GRANULES = 24
"""Of `spans`; reading one takes 1.3 to 7 ms."""
_GRANULE_ROWS = 2_048

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Sample:
    """What an estimate is made from."""

    transactions: int
    calls: int
    is_fair: bool
    """Whether all were kept by chance; those that are slow or failed are over-represented otherwise."""


@dataclass(frozen=True)
class SampledCall:
    """A kept call, its transaction, and for how many calls it stands."""

    call: Call
    weight: float
    """1 where no transaction was kept by chance."""
    is_fair: bool
    """Its transaction was kept by chance."""
    trace_id: str
    kind: tuple[str, str]
    """Service and name."""


@dataclass
class Estimate:
    """Sums over kept calls, each multiplied by the calls that it stands for."""

    calls: float = 0.0
    time_ns: float = 0.0
    errors: float = 0.0
    hits: float = 0.0
    misses: float = 0.0
    calls_share: float = 0.0
    """Of the calls of all groups."""
    share: float = 0.0
    """Of the time of all groups."""

    @property
    def mean_ns(self) -> int:
        """Of a call."""
        return round(self.time_ns / self.calls)


def kept_sample(
    engine: Engine,
    scope: Scope,
    *,
    component: str = "",
    address: str = "",
    texts: Sequence[str] = (),
    kinds: Sequence[str] = (),
    is_by_kind: bool = False,
) -> tuple[Sample, Sequence[SampledCall]]:
    """
    Kept calls of a component on a server, or of statements with one of these texts, of each transaction all of them.

    Only transactions that were kept by chance, if there are any (of a kind, with `is_by_kind`); otherwise all.

    Args:
        kinds: `service TAB name` of the transactions that make such calls; none is any.
        is_by_kind: About equally many of each kind, so that rare ones are in it; takes longer with many kinds.

    Raises:
        EngineUnavailable: The engine cannot answer now.
    """
    times = max(len(kinds) * _MAX_OF_KIND / _MAX_TRANSACTIONS, 1) if is_by_kind else 1
    owners = run(
        engine,
        "kept/transactions",
        **scope.parameters(),
        address=address,
        texts=texts,
        kinds=kinds,
        of_kind=_MAX_OF_KIND if is_by_kind and len(kinds) > 1 else _MAX_TRANSACTIONS,
        limit=round(_MAX_TRANSACTIONS * times),
    )
    fair = {_kind(each) for each in owners if each["is_fair"]}
    owners = [each for each in owners if each["is_fair"] or (_kind(each) not in fair if is_by_kind else not fair)]
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdigit():
        host, port = address, ""
    which: dict[str, Parameter] = {"component": component, "texts": texts, "host": host.strip("[]"), "port": port}
    read, found = kept_calls(engine, owners, scope.window.start_ns, scope.window.end_ns, times, **which)
    calls = []
    for owner, call in found:
        weight = 1 / (owner["sample_probability"] or 1.0) if owner["is_fair"] else 1.0
        calls.append(SampledCall(call, weight, bool(owner["is_fair"]), owner["trace"], _kind(owner)))
    return Sample(read, len(calls), bool(owners) and all(each["is_fair"] for each in owners)), calls


def estimates(calls: Iterable[SampledCall], key_of: Callable[[SampledCall], Key | None]) -> list[tuple[Key, Estimate]]:
    """The groups of calls with the same key, the one with the most time first; calls with the key None are left out."""
    groups: dict[Key, Estimate] = {}
    for each in calls:
        key = key_of(each)
        if key is None:
            continue
        group = groups.setdefault(key, Estimate())
        hits, misses = _looked_up(each.call)
        group.calls += each.weight
        group.time_ns += each.weight * each.call.own_ns
        group.errors += each.weight * bool(each.call.error)
        group.hits += each.weight * hits
        group.misses += each.weight * misses
    all_calls, all_ns = (sum(getattr(each, name) for each in groups.values()) or 1 for name in ("calls", "time_ns"))
    for group in groups.values():
        group.calls_share, group.share = group.calls / all_calls, group.time_ns / all_ns
    return sorted(groups.items(), key=lambda item: (-item[1].time_ns, item[0]))


def kept_calls(
    engine: Engine, owners: Sequence[Row], start_ns: int, end_ns: int, times: float = 1, **which: Parameter
) -> tuple[int, list[tuple[Row, Call]]]:
    """
    How many of these transactions were read, the first of them, and their calls in the order of their starts.

    Args:
        times: So many times as much is read at most.
        which: Parameters of queries/kept/calls.sql that choose calls; empty ones by default.

    Raises:
        EngineUnavailable: The engine cannot answer now.
    """
    if owners:
        (stored,) = run(engine, "kept/stored", start_ns=start_ns, end_ns=end_ns)
        owners = _near(owners, int(stored["spans"]), round(_MAX_GRANULES * times))
    if not owners:
        return 0, []
    asked = {"component": "", "texts": (), "host": "", "port": "", **which}
    traces, most = sorted({str(each["trace"]) for each in owners}), round(_MAX_CALLS * times)
    rows = run(engine, "kept/calls", **asked, start_ns=start_ns, end_ns=end_ns, traces=traces, limit=most)
    if len(rows) == most:  # in the order of trace ids: the last one may be cut
        last = rows[-1]["trace"]
        owners, rows = ([each for each in part if each["trace"] < last] for part in (owners, rows))
    owner_of = {(each["trace"], each["span"]): each for each in owners}
    found = [
        (owner, kept_call({**row, "address": "", "statement": ""}, int(owner["started_ns"])))
        for row in rows
        if (owner := owner_of.get((row["trace"], row["parent"])))
    ]
    return len(owners), found


def _kind(owner: Row) -> tuple[str, str]:
    return owner["service"], owner["name"]


def _near(owners: Sequence[Row], spans: int, most: int) -> Sequence[Row]:
    """The first of them, as many as have their calls in so many granules: trace ids order the table."""
    granules = spans // _GRANULE_ROWS + 1
    read: set[int] = set()
    for at, each in enumerate(owners):
        read.add(int(each["trace"], 16) * granules >> 128)
        if len(read) > most:
            return owners[:at]
    return owners


def _looked_up(call: Call) -> tuple[int, int]:
    """Hits and misses of a call: `hit`, `miss`, or `3/5` of a lookup of several keys."""
    found, slash, keys = call.result.partition("/")
    if slash and found.isdigit() and keys.isdigit() and call.component.rpartition(".")[2] not in ("set", "add"):
        return int(found), int(keys) - int(found)
    return int(call.result == "hit"), int(call.result == "miss")
