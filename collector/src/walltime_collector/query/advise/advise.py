"""Finds what to change, and what each change would save."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from ...clickhouse.dialect import QUERY_CONNECTIONS
from ...clickhouse.engine import Engine
from ...conversion import from_row
from ...format import iso_time
from ..names import shown
from ..queries import run, written
from ..scope import Scope
from .answer import (
    FEW,
    THRESHOLDS,
    Advice,
    Advised,
    Affected,
    Dismissal,
    Price,
)
from .caches import refused_values, repeated_gets, slow_cache
from .candidate import Bills, Candidate
from .connections import connections
from .dismissed import dismissals
from .locks import row_locks
from .new_statements import new_statements
from .observed import Key, Observed, observe
from .plans import changed_plans
from .sequence import sequential_calls
from .statements import n_plus_one, rows_examined
from .waiting import mostly_other, queue

Finder = Callable[[Observed], Iterator[Candidate]]
FINDERS: Sequence[Finder] = (
    n_plus_one,
    repeated_gets,
    sequential_calls,
    row_locks,
    rows_examined,
    connections,
    slow_cache,
    refused_values,
    mostly_other,
    queue,
    new_statements,
    changed_plans,
)
_THREADS = QUERY_CONNECTIONS - 1
_SPARE = 5
"""Some are not worth what the sums promise."""
_MOST_KINDS = 50
"""An advice that only shows in the transactions of one kind alone is looked for in so many."""
_HOUR_NS = 3_600_000_000_000
_CERTAIN = 1.96
"""Standard deviations, for 95 %."""


def advise(engine: Engine, scope: Scope, now_ns: int, *, limit: int = 20, with_dismissed: bool = False) -> Advised:
    """
    All advice about a scope, the most expensive first; nothing below THRESHOLDS.

    Args:
        limit: At most so many.
        with_dismissed: Also those that are dismissed.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    observed = observe(engine, scope)
    candidates = sorted(_candidates(observed), key=lambda each: (-sum(each.saved_ns.values()), each.id))
    hidden = dismissals(engine) if candidates else {}
    rest = [each for each in candidates if with_dismissed or each.id not in hidden]
    dismissed = len(candidates) - len(rest)
    (first,) = run(engine, "digest/first")
    first_ns = max(scope.window.start_ns, int(first["first_us"]) * 1_000)
    window_ns = max(min(scope.window.end_ns, now_ns) - first_ns, 10**9)
    advice: list[Advice] = []
    with ThreadPoolExecutor(_THREADS, "advise") as threads:
        while rest and len(advice) < limit + _SPARE:
            most = limit + _SPARE - len(advice)
            priced = threads.map(lambda each: _priced(observed, each, window_ns, hidden), rest[:most])
            advice += filter(None, priced)
            rest = rest[most:]
    advice.sort(key=lambda each: (-each.price.per_hour_ns, each.id))
    return Advised(
        since=iso_time(scope.window.start_ns),
        until=iso_time(scope.window.end_ns),
        service=scope.filters.service,
        kind=scope.filters.kind,
        transactions=observed.transactions,
        one_in=observed.one_in,
        thresholds=THRESHOLDS,
        advice=tuple(advice[:limit]),
        left_out=len(advice[limit:]) + len(rest),
        hidden=dismissed,
    )


def change_of(engine: Engine, scope: Scope, advice_id: str) -> str:
    """
    What an advice about a scope, or about one of its kinds, would change; empty when there is none with this id.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    observed = observe(engine, scope)
    found = _candidates(observed)
    alone = () if scope.filters.kind else observed.kinds
    for service, kind in (*alone,)[:_MOST_KINDS]:
        if any(each.id == advice_id for each in found):
            break
        of_kind = replace(scope, filters=replace(scope.filters, service=service, kind=kind))
        found = _candidates(observe(engine, of_kind))
    return next((each.change for each in found if each.id == advice_id), "")


def _candidates(observed: Observed) -> list[Candidate]:
    with ThreadPoolExecutor(_THREADS, "advise") as threads:
        return [each for found in threads.map(lambda find: list(find(observed)), FINDERS) for each in found]


def _priced(observed: Observed, candidate: Candidate, window_ns: int, hidden: Mapping[str, Dismissal]) -> Advice | None:
    """The advice; None when the bills do not show what the sums promise: too few have the fault, or lose too little."""
    scope = observed.of_kinds(candidate.saved_ns)
    params = {**scope.parameters(), **candidate.params}
    rows = run(observed.engine, "advise/saved", **params)
    if not (bills := {(row["service"], row["name"]): from_row(Bills, row) for row in rows}):
        return None
    of = {key: max(observed.kinds[key].transactions, each.transactions) for key, each in bills.items()}
    affected = sorted(
        (Affected(*key, round(each.mean_ns * of[key] * _HOUR_NS / window_ns)) for key, each in bills.items()),
        key=lambda each: (-each.per_hour_ns, each.service, each.name),
    )
    key = affected[0].service, affected[0].name
    most = bills[key]
    is_sample = scope.sample_level > 0 or observed.one_in > 1
    return Advice(
        id=candidate.id,
        category=candidate.category,
        service=key[0],
        name=key[1],
        change=candidate.change,
        finding=_finding(candidate, key, most),
        certainty=candidate.certainty,
        price=from_row(
            Price,
            vars(most),
            uncertainty_ns=round(_CERTAIN * most.deviation_ns / math.sqrt(most.transactions)) if is_sample else 0,
            per_hour_ns=sum(each.per_hour_ns for each in affected),
            of=of[key],
        ),
        affected=tuple(affected),
        evidence=tuple(dict.fromkeys([*most.traces[: 3 - len(candidate.evidence)], *candidate.evidence])),
        sql=written("advise/saved", **params),
        statement_id=candidate.statement_id,
        component=candidate.component,
        address=candidate.address,
        dismissed=hidden.get(candidate.id),
    )


def _finding(candidate: Candidate, key: Key, bills: Bills) -> str:
    finding = candidate.finding
    few = "A few requests only: " if bills.helped < FEW * bills.transactions else ""
    return few + (finding if isinstance(finding, str) else finding(shown(key[1]), bills))
