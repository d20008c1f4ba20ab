"""What `advise` looks at: sums of each kind, its statements and its servers, and the slow log."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from ...clickhouse.engine import Engine
from ...statements.fingerprint import fingerprint_id, of_template
from ..answers import from_row
from ..digest.rank import of_log
from ..queries import Row, run
from ..sampled import level_of, run_sums, sampled
from ..scope import Scope

_MOST_KINDS = 1_000
_MOST_STATEMENTS = 5_000
_MOST_TARGETS = 5_000
_MOST_LOGGED = 2_000
_MOST_PRICED = 25_000
"""Transactions of a kind with very many that are read one by one."""


@dataclass(frozen=True)
class KindSums:
    """All transactions of a kind."""

    service: str
    name: str
    transactions: int
    duration_ns: int
    """At most what it were if all were as long as 95 of 100 of them: a few long ones do not hide what others lose."""
    other_ns: int
    """Of all containers: `other`, and the own time of `view` and `middleware`."""
    queue_ns: int
    queue_known: int


@dataclass(frozen=True)
class StatementSums:
    """All calls that a kind made of a statement, in so many transactions."""

    service: str
    name: str
    text: str
    transactions: int
    calls: int
    time_ns: int


@dataclass(frozen=True)
class TargetSums:
    """All calls that a kind made of a component on a server, in so many transactions."""

    service: str
    name: str
    component: str
    address: str
    transactions: int
    calls: int
    time_ns: int
    hits: int
    misses: int
    call_ns: float
    """Of a typical call."""

    @property
    def key(self) -> str:
        """As in queries/advise/saved.sql."""
        return f"{self.component}\t{self.address}"


Key = tuple[str, str]
"""Service and name."""


@dataclass(frozen=True)
class Observed:
    """The sums of a scope; where the sums per minute lack its filters and it is large, they are estimates."""

    engine: Engine = field(repr=False)
    scope: Scope
    sampled: Scope
    """The same, or a sample of its very many transactions: for what is read one by one."""
    kinds: Mapping[Key, KindSums]
    statements: Sequence[StatementSums]
    targets: Sequence[TargetSums]
    logged: Mapping[str, Row]
    """Fingerprint → its row of queries/advise/logged.sql."""
    fingerprints: Mapping[str, str]
    """Statement → fingerprint."""

    @property
    def transactions(self) -> int:
        """Of the scope."""
        return sum(each.transactions for each in self.kinds.values())

    @property
    def one_in(self) -> int:
        """The sums are of one transaction in so many."""
        return _summed(self.scope, self.sampled).one_in

    def statement_id(self, text: str) -> str:
        """The id of a statement's page."""
        return f"{fingerprint_id(self.fingerprints.get(text, text)):016X}"

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
    params = _summed(scope, one_by_one).divided()
    with ThreadPoolExecutor(3, "advise") as threads:
        logging = threads.submit(run, engine, "advise/logged", **of_log(scope), limit=_MOST_LOGGED)
        sending = threads.submit(run_sums, engine, "advise/statements", **params, limit=_MOST_STATEMENTS)
        calling = threads.submit(run_sums, engine, "advise/targets", **params, limit=_MOST_TARGETS)
        kinds = [from_row(KindSums, row) for row in run_sums(engine, "advise/kinds", **params, limit=_MOST_KINDS)]
        statements = [from_row(StatementSums, row) for row in sending.result()]
        targets = [from_row(TargetSums, row) for row in calling.result()]
        logged = {str(row["fingerprint_text"]): row for row in logging.result()}
    return Observed(
        engine,
        scope,
        one_by_one,
        {(each.service, each.name): each for each in kinds},
        statements,
        targets,
        logged,
        {text: of_template(text) for text in {each.text for each in statements}},
    )


def _summed(scope: Scope, one_by_one: Scope) -> Scope:
    """What the sums are read from."""
    return scope if scope.filters.are_in_minutes else one_by_one
