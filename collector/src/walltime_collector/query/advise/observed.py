"""What `advise` looks at: sums of each kind, its statements and its servers, and the slow log."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TypeVar

from ...clickhouse.engine import Engine
from ...conversion import from_row
from ...statements.fingerprint import fingerprint_id, of_template
from ..digest.rank import of_log
from ..queries import Row, run
from ..sampled import level_of, run_sums, sampled
from ..scope import Scope
from .answer import LEAST_MEAN_NS, LEAST_SHARE, LEAST_TRANSACTIONS

_MOST_KINDS = 1_000
_MOST_STATEMENTS = 5_000
_MOST_TARGETS = 5_000
_MOST_LOGGED = 2_000
_MOST_PRICED = 25_000
"""Transactions of a kind with very many that are read one by one."""


Key = tuple[str, str]
"""Service and name of a kind."""
Group = TypeVar("Group", bound=Hashable)
Member = TypeVar("Member")


@dataclass(frozen=True)
class OfKind:
    """Sums over transactions of a kind."""

    service: str
    name: str
    transactions: int

    @property
    def kind(self) -> Key:
        """Its key."""
        return self.service, self.name


@dataclass(frozen=True)
class KindSums(OfKind):
    """All transactions of a kind."""

    duration_ns: int
    """At most what it were if all were as long as 95 of 100 of them: a few long ones do not hide what others lose."""
    other_ns: int
    """Of all containers: `other`, and the own time of `view` and `middleware`."""
    queue_ns: int
    queue_known: int


@dataclass(frozen=True)
class StatementSums(OfKind):
    """All calls of a statement, in so many transactions."""

    text: str
    calls: int
    time_ns: int
    fingerprint: str

    @property
    def id(self) -> str:
        """Of its page."""
        return f"{fingerprint_id(self.fingerprint):016X}"


@dataclass(frozen=True)
class TargetSums(OfKind):
    """All calls of a component on a server, in so many transactions."""

    component: str
    address: str
    calls: int
    time_ns: int
    hits: int
    misses: int
    errors: int
    call_ns: float
    """Of a typical call."""

    @property
    def key(self) -> str:
        """As in queries/advise/saved.sql."""
        return f"{self.component}\t{self.address}"

    @property
    def server(self) -> tuple[str, str]:
        """The system, as `mysql` of `mysql.query`, and the address."""
        return self.component.rpartition(".")[0], self.address


@dataclass(frozen=True)
class Observed:
    """The sums of a scope; where the sums per minute lack its filters and it is large, they are estimates."""

    engine: Engine = field(repr=False)
    scope: Scope
    sampled: Scope
    """The same, or a sample of its very many transactions: for what is read one by one."""
    one_in: int
    """The sums are of one transaction in so many."""
    kinds: Mapping[Key, KindSums]
    statements: Sequence[StatementSums]
    """As `targets`, the most expensive first."""
    targets: Sequence[TargetSums]
    logged: Mapping[str, Row]
    """Fingerprint → its row of queries/advise/logged.sql."""

    @property
    def transactions(self) -> int:
        """Of the scope."""
        return sum(each.transactions for each in self.kinds.values())

    def worth(self, saved_ns: Iterable[tuple[Key, float]]) -> dict[Key, float]:
        """The sums of what is saved by kind, of kinds of which that may be enough: THRESHOLDS["all"]."""
        sums: dict[Key, float] = defaultdict(float)
        for key, saved in saved_ns:
            sums[key] += saved
        return {
            key: saved
            for key, saved in sums.items()
            if (kind := self.kinds.get(key)) is not None
            and kind.transactions >= LEAST_TRANSACTIONS
            and saved >= max(LEAST_SHARE * kind.duration_ns, LEAST_MEAN_NS * kind.transactions)
        }

    def of_kinds(self, keys: Collection[Key]) -> Scope:
        """The transactions of these kinds, or of a few more, sampled where they are very many."""
        services, names = {service for service, _ in keys}, {name for _, name in keys}
        filters = self.scope.filters
        if len(services) == 1:
            filters = replace(filters, service=min(services), kind=min(names) if len(names) == 1 else filters.kind)
        many = sum(self.kinds[key].transactions for key in keys)
        return Scope(self.scope.window, filters, level_of(many, _MOST_PRICED) if self.sampled.sample_level else 0)


def observe(engine: Engine, scope: Scope) -> Observed:
    """
    Read the sums.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    one_by_one = sampled(engine, scope, is_for_calls=True)
    summed = scope if scope.filters.are_in_minutes else one_by_one
    params = summed.divided()
    with ThreadPoolExecutor(3, "advise") as threads:
        logging = threads.submit(run, engine, "advise/logged", **of_log(scope), limit=_MOST_LOGGED)
        sending = threads.submit(run_sums, engine, "advise/statements", **params, limit=_MOST_STATEMENTS)
        calling = threads.submit(run_sums, engine, "advise/targets", **params, limit=_MOST_TARGETS)
        kinds = [from_row(KindSums, row) for row in run_sums(engine, "advise/kinds", **params, limit=_MOST_KINDS)]
    return Observed(
        engine,
        scope,
        one_by_one,
        summed.one_in,
        {each.kind: each for each in kinds},
        [from_row(StatementSums, row, fingerprint=of_template(row["text"])) for row in sending.result()],
        [from_row(TargetSums, row) for row in calling.result()],
        {row["fingerprint_text"]: row for row in logging.result()},
    )


def grouped(members: Iterable[Member], group_of: Callable[[Member], Group]) -> dict[Group, list[Member]]:
    """The members of each group, in their order."""
    groups: dict[Group, list[Member]] = {}
    for each in members:
        groups.setdefault(group_of(each), []).append(each)
    return groups
