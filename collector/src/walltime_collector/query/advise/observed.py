"""What `advise` looks at: sums of each kind, its statements and its servers, and the slow log."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from ...clickhouse.engine import Engine
from ...statements.fingerprint import fingerprint_id, of_template
from ..answers import from_row
from ..digest.rank import of_log
from ..queries import Row, run
from ..scope import MINUTE_S, Filters, Scope

_MOST_KINDS = 1_000
_MOST_STATEMENTS = 5_000
_MOST_TARGETS = 5_000
_MOST_LOGGED = 2_000
_ENOUGH = 100_000
"""Transactions that are read one by one where there are no sums per minute."""
_ENOUGH_OF_KIND = 20_000
_LEAST_MINUTES = 5


@dataclass(frozen=True)
class KindSums:
    """All transactions of a kind."""

    service: str
    name: str
    transactions: int
    duration_ns: int
    other_ns: int
    cpu_ns: int
    cpu_known: int
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

    @property
    def key(self) -> str:
        """As in queries/advise/saved.sql."""
        return f"{self.component}\t{self.address}"


Key = tuple[str, str]
"""Service and name."""


@dataclass(frozen=True)
class Observed:
    """The sums of a scope. Where `one_in` is not 1, they are of about one transaction in so many, in some minutes."""

    engine: Engine = field(repr=False)
    scope: Scope
    one_in: float
    kinds: Mapping[Key, KindSums]
    statements: Sequence[StatementSums]
    targets: Sequence[TargetSums]
    logged: Mapping[str, Row]
    """Fingerprint → its row of queries/digest/server.sql."""
    fingerprints: Mapping[str, str]
    """Statement → fingerprint."""

    @property
    def transactions(self) -> int:
        """About how many the scope has."""
        return round(sum(each.transactions for each in self.kinds.values()) * self.one_in)

    def statement_id(self, text: str) -> str:
        """The id of a statement's page."""
        return f"{fingerprint_id(self.fingerprints.get(text, text)):016X}"

    def some_minutes(self, transactions: int) -> Sequence[int]:
        """Minutes of the scope with about _ENOUGH_OF_KIND of so many transactions, Unix seconds; none means all."""
        if transactions < 2 * _ENOUGH_OF_KIND:
            return ()
        window = self.scope.in_whole_minutes().window
        minutes = range(window.start_ns // 10**9, window.end_ns // 10**9, MINUTE_S)
        wanted = max(_LEAST_MINUTES, len(minutes) * _ENOUGH_OF_KIND // transactions)
        return sorted(random.Random(minutes[0]).sample(minutes, min(wanted, len(minutes))))  # the same ones each time


def observe(engine: Engine, scope: Scope) -> Observed:
    """
    Read the sums.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    minutes, one_in = _sample(engine, scope)
    params = {**scope.divided(), "minutes": minutes}
    with ThreadPoolExecutor(3, "advise") as threads:
        logging = threads.submit(run, engine, "digest/server", **of_log(scope), limit=_MOST_LOGGED)
        sending = threads.submit(run, engine, "advise/statements", **params, limit=_MOST_STATEMENTS)
        calling = threads.submit(run, engine, "advise/targets", **params, limit=_MOST_TARGETS)
        kinds = [from_row(KindSums, row) for row in run(engine, "advise/kinds", **params, limit=_MOST_KINDS)]
        statements = [from_row(StatementSums, row) for row in sending.result()]
        targets = [from_row(TargetSums, row) for row in calling.result()]
        logged = {str(row["fingerprint_text"]): row for row in logging.result()}
    return Observed(
        engine,
        scope,
        one_in,
        {(each.service, each.name): each for each in kinds},
        statements,
        targets,
        logged,
        {text: of_template(text) for text in {each.text for each in statements}},
    )


def _sample(engine: Engine, scope: Scope) -> tuple[Sequence[int], float]:
    """Which minutes are read where there are no sums per minute, and one in how many transactions they have."""
    if scope.filters.are_in_minutes:
        return (), 1.0
    known = Scope(scope.window, Filters(scope.filters.service, scope.filters.kind))
    rows = run(engine, "advise/minutes", **known.divided())
    counts = {int(row["minute_s"]): int(row["transactions"]) for row in rows}
    transactions = sum(counts.values())
    if transactions < 2 * _ENOUGH:
        return (), 1.0
    wanted = max(_LEAST_MINUTES, len(counts) * _ENOUGH // transactions)
    minutes = sorted(random.Random(min(counts)).sample(sorted(counts), min(wanted, len(counts))))
    return minutes, transactions / max(sum(counts[each] for each in minutes), 1)
