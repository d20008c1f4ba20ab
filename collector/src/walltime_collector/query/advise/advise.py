"""Finds what to change, and what each change would save."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from ...clickhouse.dialect import QUERY_CONNECTIONS
from ...clickhouse.engine import Engine
from ...format import count, iso_time, plural
from ..names import shown
from ..queries import Row, run
from ..scope import Scope
from .answer import LEAST_MEAN_NS, LEAST_SHARE, THRESHOLDS, Advice, Advised, Affected, Dismissal, Price
from .caches import repeated_gets, slow_cache
from .candidate import Candidate
from .connections import connections
from .dismissed import dismissals
from .locks import row_locks
from .observed import Observed, observe
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
    mostly_other,
    queue,
)
_SPARE = 5
"""Some are not worth what the sums promise."""
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
    with ThreadPoolExecutor(QUERY_CONNECTIONS - 1, "advise") as threads:
        candidates = _candidates(observed, threads)
        candidates.sort(key=lambda each: (-sum(each.saved_ns.values()), each.id))
        hidden = dismissals(engine) if candidates else {}
        shown = [each for each in candidates if with_dismissed or each.id not in hidden]
        (first,) = run(engine, "digest/first")
        first_ns = max(scope.window.start_ns, int(first["first_us"]) * 1_000)
        window_ns = max(min(scope.window.end_ns, now_ns) - first_ns, 10**9)
        most = limit + _SPARE
        priced = threads.map(lambda each: _priced(observed, each, window_ns, hidden), shown[:most])
        advice = sorted((each for each in priced if each), key=lambda each: (-each.price.per_hour_ns, each.id))
    return Advised(
        since=iso_time(scope.window.start_ns),
        until=iso_time(scope.window.end_ns),
        service=scope.filters.service,
        kind=scope.filters.kind,
        transactions=observed.transactions,
        one_in=observed.one_in,
        thresholds=THRESHOLDS,
        advice=tuple(advice[:limit]),
        left_out=max(0, len(advice) - limit) + max(0, len(shown) - most),
        hidden=len(candidates) - len(shown),
    )


def change_of(engine: Engine, scope: Scope, advice_id: str) -> str:
    """
    What an advice about a scope would change; empty when there is none with this id.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    with ThreadPoolExecutor(QUERY_CONNECTIONS - 1, "advise") as threads:
        candidates = _candidates(observe(engine, scope), threads)
    return next((each.change for each in candidates if each.id == advice_id), "")


def _candidates(observed: Observed, threads: ThreadPoolExecutor) -> list[Candidate]:
    return [each for found in threads.map(lambda find: list(find(observed)), FINDERS) for each in found]


def _priced(observed: Observed, candidate: Candidate, window_ns: int, hidden: Mapping[str, Dismissal]) -> Advice | None:
    """The advice; None when the transactions that were read do not save what the sums promise."""
    service, name = candidate.most
    kind, scope = observed.kinds[service, name], observed.of_kind(candidate.most)
    (row,) = run(
        observed.engine,
        "advise/saved",
        **scope.parameters(),
        **{name: list(each) if isinstance(each, tuple) else each for name, each in vars(candidate.removed).items()},
    )
    read = int(row["transactions"])
    if not read or row["mean_ns"] < max(LEAST_MEAN_NS, LEAST_SHARE * kind.duration_ns / kind.transactions):
        return None
    p50_ns, p95_ns = (round(now - then) for now, then in zip(row["now_ns"], row["then_ns"], strict=True))
    if p50_ns < candidate.least_p50_ns:
        return None
    saved_ns = {**candidate.saved_ns, candidate.most: row["mean_ns"] * kind.transactions}
    per_hour = {key: round(saved * _HOUR_NS / window_ns) for key, saved in saved_ns.items()}
    is_sample = scope.sample_level > 0 or observed.one_in > 1
    return Advice(
        id=candidate.id,
        category=candidate.category,
        service=service,
        name=name,
        change=candidate.change,
        finding=_finding(candidate, row),
        certainty=candidate.certainty,
        price=Price(
            p50_ns=p50_ns,
            p95_ns=p95_ns,
            mean_ns=round(row["mean_ns"]),
            uncertainty_ns=round(_CERTAIN * row["deviation_ns"] / math.sqrt(read)) if is_sample else 0,
            per_hour_ns=sum(per_hour.values()),
            helped=int(row["helped"]),
            transactions=read,
            of=max(kind.transactions, read),
        ),
        affected=tuple(
            Affected(*key, per_hour_ns)
            for key, per_hour_ns in sorted(per_hour.items(), key=lambda each: (-each[1], each[0]))
        ),
        evidence=tuple(dict.fromkeys([*row["traces"][: 3 - len(candidate.evidence)], *candidate.evidence])),
        statement_id=candidate.statement_id,
        component=candidate.component,
        address=candidate.address,
        dismissed=hidden.get(candidate.id),
    )


def _finding(candidate: Candidate, row: Row) -> str:
    """Of a repeated statement, in how many transactions it is repeated, and how often there."""
    if not candidate.removed.is_repeated:
        return candidate.finding
    times, helped, read = (int(row[name]) for name in ("helped_calls", "helped", "transactions"))
    where = f"times in {count(helped)} of {plural(read, 'transaction')}" if helped < read else "times a transaction"
    return f"{shown(candidate.most[1])} sends it {count(round(times / max(helped, 1), 1))} {where}, {candidate.finding}"
